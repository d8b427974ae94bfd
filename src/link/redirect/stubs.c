/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Stubs are allocated in blocks: a range of code that is written once, and a range of data with their cells and an
 * unwind table. The distance from a stub to its cell is the same throughout a block. Blocks grow with the pool, because
 * each costs some strategies a mapping, and are kept until the session ends. */

#include <stdatomic.h>

#include "link/redirect/cell.h"

enum { FIRST_BLOCK = 256, LARGEST_BLOCK = 4096, WRITE_STEP = 4096, UNWIND_TABLE = 64 };

struct block {
    struct tn__tree by_address;
    struct tn__cell *cells;
    size_t count;
    struct tn__mem_range *code, *data;
    struct tn__backing code_backing, data_backing;
    struct tn__unwind_table *unwind;
    struct tn__kept kept[2];
};

static uint64_t stub_at(const struct block *block, size_t index)
{
    return block->code->address + index * tn__lazy_machine.stub_size;
}

/* ---- stubs ---- */

struct tn__cell *tn__cell_at(const struct tn__lazy_pool *pool, uint64_t address)
{
    struct tn__tree *node = tn__tree_below(pool->blocks, address);
    if (!node)
        return NULL;
    const struct block *block = tn__container_of(node, struct block, by_address);
    uint64_t offset = address - node->key, index = offset / tn__lazy_machine.stub_size;
    return index < block->count && offset % tn__lazy_machine.stub_size == 0 ? &block->cells[index] : NULL;
}

uint64_t tn__lazy_take(struct tn__lazy_pool *pool, struct tn__cell_facts *facts, uint64_t target)
{
    uint64_t stub = pool->free;
    struct tn__cell *cell = tn__cell_at(pool, stub);
    pool->free = cell->next;
    pool->free_count--;
    cell->facts = facts;
    atomic_store_explicit(&cell->word, target, memory_order_release);
    return stub;
}

void tn__lazy_give(struct tn__lazy_pool *pool, uint64_t stub)
{
    struct tn__cell *cell = tn__cell_at(pool, stub);
    atomic_store_explicit(&cell->word, (uintptr_t)tn__lazy_machine.removed, memory_order_release);
    cell->next = pool->free;
    pool->free = stub;
    pool->free_count++;
}

/* ---- unwinding ---- */

static uint8_t *put_length(uint8_t *at, uint32_t size)
{
    tn__put32(at, size);
    return at + 4;
}

/* One CIE, and one FDE for the whole block (LSB Core, "The .eh_frame section"). Bytes that are not written stay zero:
 * DW_CFA_nop, and the terminator. */
static void write_unwind_table(const struct block *block, uint8_t *table)
{
    const struct tn__lazy_machine *machine = &tn__lazy_machine;
    uint32_t common = (uint32_t)tn__align_up(4 + machine->unwind_size, 8) + 4;
    memset(table, 0, UNWIND_TABLE);
    uint8_t *at = put_length(table, common);
    memcpy(at + 4, machine->unwind, machine->unwind_size); /* behind its number, 0 */
    at = put_length(at + common, 4 + 8 + 8);
    tn__put32(at, (uint32_t)(at - table)); /* from here back to the common entry */
    tn__put64(at + 4, block->code->address);
    tn__put64(at + 12, block->count * machine->stub_size);
}

/* ---- blocks ---- */

static void write_stubs(struct block *block)
{
    uint8_t bytes[WRITE_STEP];
    size_t size = tn__lazy_machine.stub_size, total = block->count * size;
    for (size_t done = 0; done < total; done += sizeof bytes) {
        size_t part = tn__min64(sizeof bytes, total - done);
        for (size_t at = 0; at < part; at += size) {
            size_t index = (done + at) / size;
            tn__lazy_machine.write_stub(bytes + at, stub_at(block, index), (uintptr_t)&block->cells[index]);
        }
        tn__codemem_fill(block->code, &block->code_backing, done, &(struct tn__piece){bytes, part}, 1);
    }
}

static int make_block(struct tn_session *session, struct block *block, struct tn_error *err) TN__LOCKED
{
    struct tn__window *window = &session->memory.windows[TN__WINDOW_NEAR];
    size_t cells = block->count * sizeof *block->cells, data = cells + UNWIND_TABLE;
    size_t stubs = block->count * tn__lazy_machine.stub_size;
    int code = tn__codemem_take(window, TN_ZONE_CODE, stubs, tn__lazy_machine.stub_size, stubs, &block->code,
                                &block->code_backing, err);
    if (!code)
        code = tn__codemem_take(window, TN_ZONE_DATA, data, sizeof *block->cells, data, &block->data,
                                &block->data_backing, err);
    if (code)
        return code;
    block->cells = (struct tn__cell *)(uintptr_t)block->data->address;
    write_stubs(block);
    code = tn__codemem_publish(window, block->data, err);
    if (!code)
        code = tn__codemem_publish(window, block->code, err);
    if (!code)
        code = tn__codemem_settle(block->code, err);
    if (!code && !tn__unwind_prepare(&session->unwind, 1, UNWIND_TABLE, &block->unwind))
        code = tn__no_memory(err, NULL);
    if (code)
        return code;
    write_unwind_table(block, (uint8_t *)block->cells + cells);
    struct tn__unwind_table as = {
        .address = block->data->address + cells,
        .code = block->code->address,
        .size = UNWIND_TABLE,
        .window = TN__WINDOW_NEAR,
    };
    tn__unwind_register(&session->unwind, block->unwind, as);
    return 0;
}

static void give_block(struct tn_session *session, struct block *block) TN__LOCKED
{
    struct tn__window *window = &session->memory.windows[TN__WINDOW_NEAR];
    tn__unwind_remove(&session->unwind, block->unwind);
    if (block->data)
        tn__codemem_give(window, block->data);
    if (block->code)
        tn__codemem_give(window, block->code);
}

static int add_block(struct tn_session *session, size_t count, struct tn_error *err) TN__LOCKED
{
    struct tn__lazy_pool *pool = tn__lazy_pool_of(session);
    struct block made = {.count = count}, *block = NULL;
    int code = make_block(session, &made, err);
    if (!code && !(block = tn__arena_alloc(&session->arena, sizeof *block)))
        code = tn__no_memory(err, NULL);
    if (code) {
        give_block(session, &made);
        return code;
    }
    *block = made;
    block->unwind->next = session->tables;
    session->tables = block->unwind;
    block->kept[0] = (struct tn__kept){session->kept, block->code};
    block->kept[1] = (struct tn__kept){&block->kept[0], block->data};
    session->kept = &block->kept[1];
    block->by_address.key = block->code->address;
    tn__tree_insert(&pool->blocks, &block->by_address);
    pool->count += count;
    for (size_t i = count; i--;)
        tn__lazy_give(pool, stub_at(block, i));
    return 0;
}

/* Where ranges do not share pages, a block fills its pages. */
static size_t block_size(const struct tn__lazy_pool *pool)
{
    size_t page = tn__os_page_size() / tn__lazy_machine.stub_size;
    return tn__max64(page, tn__min64(tn__max64(pool->count, FIRST_BLOCK), LARGEST_BLOCK));
}

int tn__lazy_reserve(struct tn_session *session, size_t count, struct tn_error *err)
{
    struct tn__lazy_pool *pool = tn__lazy_pool_of(session);
    int code = 0;
    while (!code && pool->free_count < count)
        code = add_block(session, block_size(pool), err);
    return code;
}

static bool visit_blocks(const struct tn__lazy_pool *pool, const struct tn__tree *node, tn__cell_visit *visit,
                         const void *context)
{
    if (!node)
        return false;
    const struct block *block = tn__container_of(node, struct block, by_address);
    bool any = visit_blocks(pool, node->left, visit, context);
    for (size_t i = 0; i < block->count; i++)
        any |= visit(pool, &block->cells[i], context);
    return visit_blocks(pool, node->right, visit, context) || any;
}

bool tn__cells_each(const struct tn__lazy_pool *pool, tn__cell_visit *visit, const void *context)
{
    return visit_blocks(pool, pool->blocks, visit, context);
}
