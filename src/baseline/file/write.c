/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "baseline/file/file.h"

static uint8_t *add(struct tn__flat_writer *w, struct tn__flat_bytes *to, size_t size)
{
    if (w->no_memory || !tn__grow(NULL, &to->bytes, &to->room, to->size + size, 1)) {
        w->no_memory = true;
        return NULL;
    }
    to->size += size;
    return to->bytes + to->size - size;
}

static void add_bytes(struct tn__flat_writer *w, struct tn__flat_bytes *to, const void *bytes, size_t size)
{
    uint8_t *at = add(w, to, size);
    if (at && size)
        memcpy(at, bytes, size);
}

static void add32(struct tn__flat_writer *w, struct tn__flat_bytes *to, uint32_t value)
{
    add_bytes(w, to, &value, sizeof value);
}

static void add4x8(struct tn__flat_writer *w, struct tn__flat_bytes *to, uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
    const uint8_t all[] = {a, b, c, d};
    add_bytes(w, to, all, sizeof all);
}

static void add_name(struct tn__flat_writer *w, struct tn__flat_bytes *to, const char *name)
{
    add32(w, to, (uint32_t)w->names.size);
    add_bytes(w, &w->names, name, strlen(name) + 1);
}

/* ---- pieces ---- */

void tn__flat_write_symbol(struct tn__flat_writer *w, const struct tn__flat_symbol *symbol)
{
    add_name(w, &w->symbols, symbol->name);
    add4x8(w, &w->symbols, symbol->binding, symbol->visibility, symbol->flags, 0);
}

static uint8_t number_of(struct tn__flat_writer *w, unsigned op)
{
    if (!w->numbers[op]) {
        add_name(w, &w->operations, tn__flat_rows[op].text);
        w->numbers[op] = (uint16_t)(w->operations.size / 4);
    }
    return (uint8_t)(w->numbers[op] - 1);
}

static uint32_t write_instructions(struct tn__flat_writer *w, const struct tn__flat *flat)
{
    uint32_t operands = 0;
    for (const struct tn__flat_inst *inst = flat->insts; inst < flat->insts + flat->inst_count; inst++) {
        add4x8(w, &w->bodies, number_of(w, inst->op), inst->type, inst->sub, inst->flags);
        add32(w, &w->bodies, inst->count);
        add32(w, &w->bodies, inst->aux);
    }
    for (const struct tn__flat_inst *inst = flat->insts; inst < flat->insts + flat->inst_count; inst++) {
        add_bytes(w, &w->bodies, flat->operands + inst->first, inst->count * sizeof *flat->operands);
        operands += inst->count;
    }
    return operands;
}

static uint32_t write_blocks(struct tn__flat_writer *w, const struct tn__flat *flat)
{
    uint32_t successors = 0;
    for (const struct tn__flat_block *block = flat->blocks; block < flat->blocks + flat->block_count; block++) {
        add32(w, &w->bodies, block->end - block->first);
        add32(w, &w->bodies, block->successors);
    }
    for (const struct tn__flat_block *block = flat->blocks; block < flat->blocks + flat->block_count; block++) {
        add_bytes(w, &w->bodies, flat->successors + block->first_successor,
                  block->successors * sizeof *flat->successors);
        successors += block->successors;
    }
    return successors;
}

void tn__flat_write_function(struct tn__flat_writer *w, uint32_t symbol, const struct tn__flat *flat)
{
    add32(w, &w->functions, symbol);
    add32(w, &w->functions, (uint32_t)w->bodies.size);
    for (size_t i = 0; i < flat->argument_count; i++) {
        add32(w, &w->bodies, flat->arguments[i].kind);
        add32(w, &w->bodies, flat->arguments[i].bytes);
    }
    uint32_t operands = write_instructions(w, flat), successors = write_blocks(w, flat);
    add_bytes(w, &w->bodies, flat->constants, flat->constant_count * sizeof *flat->constants);
    for (size_t i = 0; i < flat->address_count; i++) {
        add32(w, &w->bodies, flat->addresses[i].symbol);
        add32(w, &w->bodies, (uint32_t)flat->addresses[i].addend);
    }
    const uint32_t counts[] = {(uint32_t)flat->argument_count,
                               (uint32_t)flat->inst_count,
                               operands,
                               (uint32_t)flat->block_count,
                               successors,
                               (uint32_t)flat->constant_count,
                               (uint32_t)flat->address_count,
                               flat->personality,
                               flat->is_variadic ? TN__FLAT_ANY_NUMBER : 0};
    for (size_t i = 0; i < TN_COUNT(counts); i++)
        add32(w, &w->functions, counts[i]);
}

void tn__flat_write_data(struct tn__flat_writer *w, const struct tn__flat_data *data,
                         const struct tn__flat_pointer *pointers)
{
    bool has_bytes = data->byte_count || data->place == TN__FLAT_READ_ONLY;
    uint32_t bytes = has_bytes ? (uint32_t)data->size : 0;
    w->is_too_large |= !tn__flat_extend(&w->extent, data);
    if (w->is_too_large)
        return;
    add32(w, &w->data, data->symbol);
    add4x8(w, &w->data, data->place, data->alignment, 0, 0);
    add_bytes(w, &w->data, &data->size, sizeof data->size);
    add32(w, &w->data, bytes);
    add32(w, &w->data, data->pointer_count);
    add_bytes(w, &w->contents, data->bytes, data->byte_count);
    uint8_t *zeros = add(w, &w->contents, bytes - data->byte_count);
    if (zeros)
        memset(zeros, 0, bytes - data->byte_count);
    for (uint32_t i = 0; i < data->pointer_count; i++) {
        add32(w, &w->pointers, pointers[i].offset);
        add32(w, &w->pointers, pointers[i].symbol);
        add_bytes(w, &w->pointers, &pointers[i].addend, sizeof pointers[i].addend);
    }
}

/* ---- the whole ---- */

/* In the order of the file. */
#define ALL(w)                                                                                                         \
    {                                                                                                                  \
        &(w)->operations, &(w)->symbols, &(w)->functions, &(w)->data, &(w)->pointers, &(w)->names, &(w)->bodies,       \
            &(w)->contents                                                                                             \
    }

int tn__flat_write_end(struct tn__flat_writer *w, struct tn_buffer *out, struct tn_error *err)
{
    const struct tn__flat_bytes *const tables[TN__FLAT_TABLES] = ALL(w);
    size_t size = TN__FLAT_FILE_WORDS * 4;
    for (size_t i = 0; i < TN_COUNT(tables); i++)
        size += tables[i]->size;
    if (w->is_too_large)
        return tn__fail(err, TN_ENOTSUP, "the variables of a flat file have at most 2 GB, and little between them");
    if (size > UINT32_MAX)
        return tn__fail(err, TN_ENOTSUP, "a flat file has at most 4 GB");
    uint8_t *at = w->no_memory ? NULL : tn__alloc(NULL, size);
    if (!at)
        return tn__no_memory(err, NULL);
    *out = (struct tn_buffer){.data = (void *)at, .size = size};
    tn__put32(at, TN__FLAT_MAGIC);
    at += 4;
    for (size_t i = 0; i < TN_COUNT(tables); i++, at += 4)
        tn__put32(at, (uint32_t)(tables[i]->size / tn__flat_row_sizes[i]));
    for (size_t i = 0; i < TN_COUNT(tables); at += tables[i++]->size)
        if (tables[i]->size)
            memcpy(at, tables[i]->bytes, tables[i]->size);
    return 0;
}

void tn__flat_writer_free(struct tn__flat_writer *w)
{
    const struct tn__flat_bytes *const tables[TN__FLAT_TABLES] = ALL(w);
    for (size_t i = 0; i < TN__FLAT_TABLES; i++)
        tn__free(NULL, tables[i]->bytes);
    *w = (struct tn__flat_writer){0};
}
