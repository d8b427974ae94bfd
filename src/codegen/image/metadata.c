/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The tables of an image (src/image/format/format.h, doc/IMAGE.md), as a module that is compiled into the image's last
 * object: what is known now is bytes, covered by the checksum; the places of functions are distances that the linker
 * fills in. */

#include <stdio.h>
#include <stdlib.h>

#include <llvm-c/Core.h>

#include "codegen/image/image.h"
#include "codegen/llvm/fatal.h"
#include "codegen/llvm/llvm.h"
#include "image/format/writer.h"
#include "tenon_gc.h"
#include "tenon_heap.h"

/* ---- tables ---- */

struct writer {
    const struct tn__image_contents *contents;
    struct tn__image_text text;
    uint64_t *sets; /* of targets, each once */
    size_t set_count, set_capacity;
    uint32_t name; /* of the image, in the text */
    uint8_t *bytes;
    size_t size;   /* of header and tables */
    size_t places; /* how many */
    size_t tables, begun;
    size_t offers;             /* where their table begins */
    struct tn_buffer ir;       /* the image's part of the section with that of functions */
    struct interned *interned; /* a hash table of texts: names and descriptions occur often */
    size_t interned_size;
};

struct interned {
    const char *string; /* NULL: free */
    uint32_t offset;
};

/* At least twice as many places as there may be texts. False: no memory. */
static bool make_interned(struct writer *w)
{
    const struct tn__image_contents *c = w->contents;
    size_t most = c->function_count + c->need_count + c->reached_count + c->shared_count +
                  2 * (c->offers.count + c->edges.count) + 1;
    for (w->interned_size = 16; w->interned_size < 2 * most;)
        w->interned_size *= 2;
    w->interned = tn__alloc_zeroed(NULL, w->interned_size, sizeof *w->interned);
    return w->interned;
}

/* The string, which stays where it is, once. */
static uint32_t add_once(struct writer *w, const char *string)
{
    size_t at = tn__image_checksum(string, strlen(string), 0) & (w->interned_size - 1);
    while (w->interned[at].string && strcmp(w->interned[at].string, string) != 0)
        at = (at + 1) & (w->interned_size - 1);
    if (!w->interned[at].string)
        w->interned[at] = (struct interned){string, tn__image_add_text(&w->text, string)};
    return w->interned[at].offset;
}

static size_t saved_rows(const struct writer *w, enum tn__image_table kind)
{
    return w->contents->saved ? w->contents->saved->view.tables[kind].count : 0;
}

static bool has_words(const struct tn__image_contents *c)
{
    return c->value_count || c->saved;
}

static size_t cell_places(const struct tn__image_contents *c)
{
    return c->cells ? 1 + c->cells : 0;
}

/* Bytes of a row. Those of saved objects alone are short. */
static size_t dependency_size(const struct tn__image_contents *c)
{
    return c->dependency_count ? TN__IMAGE_DEPENDENCY_USED : TN__IMAGE_DEPENDENCY;
}

static size_t directory_end(const struct writer *w)
{
    return tn__align_up(TN__IMAGE_HEADER + w->tables * TN__IMAGE_ENTRY, 8);
}

/* Those with a slot first, then by name, in which order slots have their numbers. */
static int in_order(const void *a, const void *b)
{
    const struct tn__shard_function *x = a, *y = b;
    if ((x->slot < 0) != (y->slot < 0))
        return x->slot < 0 ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* The row that says which targets these are; there are few. */
static uint32_t add_set(struct writer *w, uint64_t targets)
{
    for (size_t i = 0; i < w->set_count; i++)
        if (w->sets[i] == targets)
            return (uint32_t)i;
    if (!tn__grow(NULL, &w->sets, &w->set_capacity, w->set_count + 1, sizeof *w->sets)) {
        w->text.full = true;
        return 0;
    }
    w->sets[w->set_count] = targets;
    return (uint32_t)w->set_count++;
}

static void write_header(const struct writer *w)
{
    const struct tn__image_numbers numbers = {
        .machine = tn__image_machine(tn_cpu_arch_name(tn_cpu_targets_arch(w->contents->targets))),
        .size = (uint32_t)w->size,
        .slots = (uint32_t)w->contents->slots,
        .places = (uint32_t)w->places,
        .tables = (uint32_t)w->tables,
        .name = w->name,
        .gc_abi = w->contents->is_managed || w->contents->saved ? TN_GC_ABI : 0,
    };
    tn__image_write_header(w->bytes, &numbers);
}

/* Returns where the table begins. */
static uint8_t *begin_table(struct writer *w, enum tn__image_table table, size_t count, size_t row)
{
    return tn__image_begin_table(w->bytes, w->begun++, table, count, row, &w->size);
}

/* The tables of saved objects, aligned for words of 8 bytes; the text begins with theirs. */
static void write_saved(struct writer *w)
{
    const struct tn__saved *saved = w->contents->saved;
    for (enum tn__image_table kind = TN__IMAGE_CODE_TABLES; saved && kind < TN__IMAGE_HEAP_TABLES; kind++) {
        const struct tn__image_rows *rows = &saved->view.tables[kind];
        w->size = tn__align_up(w->size, 8);
        tn__saved_copy_rows(saved, kind, begin_table(w, kind, rows->count, rows->size));
    }
}

static void write_dependencies(struct writer *w)
{
    const struct tn__image_contents *c = w->contents;
    size_t first = saved_rows(w, TN__IMAGE_DEPENDENCY_TABLE);
    size_t size = dependency_size(c);
    uint8_t *row = begin_table(w, TN__IMAGE_DEPENDENCY_TABLE, first + c->dependency_count, size);
    for (size_t i = 0; i < first; i++, row += size)
        memcpy(row, tn__image_row(&c->saved->view.tables[TN__IMAGE_DEPENDENCY_TABLE], (uint32_t)i),
               TN__IMAGE_DEPENDENCY);
    for (size_t i = 0; i < c->dependency_count; i++, row += size) {
        const uint8_t *header = c->used ? c->used[i].header : NULL;
        tn__put32(row + TN__IMAGE_DEPENDENCY_NAME, tn__image_add_text(&w->text, c->dependencies[i].name));
        memcpy(row + TN__IMAGE_DEPENDENCY_ID, c->dependencies[i].build_id, sizeof c->dependencies[i].build_id);
        if (!header)
            continue;
        tn__put32(row + TN__IMAGE_DEPENDENCY_FLAGS, TN__IMAGE_BY_USE);
        tn__put64(row + TN__IMAGE_DEPENDENCY_OFFERS, tn__get64(header + TN__IMAGE_AT_OFFERS));
    }
}

/* Dependencies of the saved objects come first. */
static void write_items(struct writer *w, enum tn__image_table kind, const struct tn__image_items *items)
{
    size_t first = kind == TN__IMAGE_EDGE_TABLE ? saved_rows(w, TN__IMAGE_DEPENDENCY_TABLE) : 0;
    uint8_t *row = items->count ? begin_table(w, kind, items->count, TN__IMAGE_ITEM) : NULL;
    for (size_t i = 0; i < items->count; i++, row += TN__IMAGE_ITEM) {
        const struct tn__image_item *item = &items->rows[i];
        tn__put32(row + TN__IMAGE_ITEM_KIND, item->kind | (uint32_t)(first + item->dependency) << 8);
        tn__put32(row + TN__IMAGE_ITEM_NAME, add_once(w, item->name));
        tn__put32(row + TN__IMAGE_ITEM_TEXT, add_once(w, item->text));
        tn__put32(row + TN__IMAGE_ITEM_ALIGNMENT, item->alignment);
        tn__put64(row + TN__IMAGE_ITEM_SIZE, item->size);
    }
}

/* As the table of offers has it (tn__image_digest). */
static uint64_t digest_offers(const struct writer *w)
{
    struct tn__image_view view = {.header = w->bytes, .text = w->text.bytes};
    const struct tn__image_items *offers = &w->contents->offers;
    view.tables[TN__IMAGE_TEXT_TABLE].count = (uint32_t)w->text.size;
    view.tables[TN__IMAGE_OFFER_TABLE] =
        (struct tn__image_rows){w->bytes + w->offers, (uint32_t)offers->count, TN__IMAGE_ITEM};
    return tn__image_digest(&view);
}

/* Lists of offsets are among the names, where something precedes them, so that no list is at 0. */
static void write_layouts(struct writer *w)
{
    const struct tn__image_contents *c = w->contents;
    uint8_t *row = c->layout_count ? begin_table(w, TN__IMAGE_LAYOUT_TABLE, c->layout_count, TN__IMAGE_LAYOUT) : NULL;
    for (size_t i = 0; i < c->layout_count; i++, row += TN__IMAGE_LAYOUT) {
        const struct tn_type *type = &c->layouts[i];
        tn__put32(row + TN__IMAGE_LAYOUT_NAME, tn__image_add_text(&w->text, type->name));
        tn__put32(row + TN__IMAGE_LAYOUT_KIND, type->kind);
        tn__put32(row + TN__IMAGE_LAYOUT_ALIGNMENT, type->alignment);
        tn__put64(row + TN__IMAGE_LAYOUT_SIZE, type->size);
        tn__put64(row + TN__IMAGE_LAYOUT_ELEMENT, type->element);
        tn__put64(row + TN__IMAGE_LAYOUT_LENGTH, type->length);
        tn__put64(row + TN__IMAGE_LAYOUT_REFERENCES, type->references);
        if (!type->offsets)
            continue;
        tn__put32(row + TN__IMAGE_LAYOUT_OFFSETS, tn__image_add_bytes(&w->text, "", 0));
        tn__put32(row + TN__IMAGE_LAYOUT_OFFSET_COUNT, (uint32_t)type->offset_count);
        for (uint64_t k = 0; k < type->offset_count; k++) {
            uint8_t offset[4];
            tn__put32(offset, type->offsets[k]);
            tn__image_add_bytes(&w->text, offset, sizeof offset);
        }
    }
}

static const struct tn__image_item *find_edge(const struct tn__image_items *edges, enum tn__image_item_kind kind,
                                              const char *name)
{
    size_t at =
        TN_BISECT(0, edges->count, i,
                  edges->rows[i].kind < kind || (edges->rows[i].kind == kind && strcmp(edges->rows[i].name, name) < 0));
    return &edges->rows[at];
}

/* In the order of cells. The functions' numbers have no other order than that of their reliances. */
static void write_reliances(struct writer *w)
{
    const struct tn__image_contents *c = w->contents;
    uint8_t *row =
        c->reliance_count ? begin_table(w, TN__IMAGE_RELIANCE_TABLE, c->reliance_count, TN__IMAGE_RELIANCE) : NULL;
    for (size_t i = 0; i < c->function_count; i++) {
        const struct tn__shard_function *f = &c->functions[i];
        uint64_t number = (uint64_t)f->opaque;
        size_t at = TN_BISECT(0, c->reliance_count, k, c->reliances[k].opaque < number);
        for (; f->opaque >= 0 && at < c->reliance_count && c->reliances[at].opaque == number; at++) {
            const struct tn__image_item *edge = find_edge(&c->edges, c->reliances[at].kind, c->reliances[at].name);
            tn__put32(row + TN__IMAGE_RELIANCE_CELL, (uint32_t)f->cell);
            tn__put32(row + TN__IMAGE_RELIANCE_EDGE, (uint32_t)(edge - c->edges.rows));
            row += TN__IMAGE_RELIANCE;
        }
    }
}

/* Each piece of IR begins at a multiple of 8, and so does the part. */
static void write_kept(struct writer *w)
{
    const struct tn__image_contents *c = w->contents;
    size_t targets = tn_cpu_target_count(c->targets), offset = 0;
    uint8_t *row = c->kept_count ? begin_table(w, TN__IMAGE_KEPT_TABLE, c->kept_count, TN__IMAGE_KEPT) : NULL;
    for (size_t i = 0; i < c->kept_count; i++, row += TN__IMAGE_KEPT) {
        const struct tn__image_kept *kept = &c->kept[i];
        tn__put32(row + TN__IMAGE_KEPT_CELL, kept->cell);
        tn__put32(row + TN__IMAGE_KEPT_FLAGS, kept->is_common ? TN__IMAGE_KEPT_COMMON : 0);
        tn__put32(row + TN__IMAGE_KEPT_REGISTERS, kept->registers);
        tn__put32(row + TN__IMAGE_KEPT_STACK, kept->stack);
        tn__put32(row + TN__IMAGE_KEPT_OFFSET, (uint32_t)offset);
        tn__put32(row + TN__IMAGE_KEPT_SIZE, (uint32_t)kept->ir.size);
        tn__put64(row + TN__IMAGE_KEPT_SUM, tn__image_checksum(kept->ir.data, kept->ir.size, 0));
        memcpy((uint8_t *)w->ir.data + TN__IMAGE_IR_HEADER + offset, kept->ir.data, kept->ir.size);
        offset = tn__align_up(offset + kept->ir.size, 8);
    }
    row = c->kept_count ? begin_table(w, TN__IMAGE_SETTING_TABLE, targets + 1, TN__IMAGE_SETTING) : NULL;
    for (size_t i = 0; c->kept_count && i <= targets; i++, row += TN__IMAGE_SETTING) {
        tn__put32(row + TN__IMAGE_SETTING_CPU, tn__image_add_text(&w->text, c->settings[i].cpu));
        tn__put32(row + TN__IMAGE_SETTING_FEATURES, tn__image_add_text(&w->text, c->settings[i].features));
        tn__put32(row + TN__IMAGE_SETTING_LEVEL, (uint32_t)c->opt_level);
    }
    row = c->shared_count ? begin_table(w, TN__IMAGE_SHARED_TABLE, c->shared_count, 4) : NULL;
    for (size_t i = 0; i < c->shared_count; i++, row += 4)
        tn__put32(row, add_once(w, c->shared[i].name));
}

/* Space for the IR of all functions. False: no memory, or too much IR (*too_large). */
static bool make_ir(struct writer *w, bool *too_large)
{
    const struct tn__image_contents *c = w->contents;
    uint64_t size = 0;
    for (size_t i = 0; i < c->kept_count; i++)
        size += tn__align_up(c->kept[i].ir.size, 8);
    *too_large = size > INT32_MAX;
    if (!size || *too_large)
        return !size;
    w->ir.size = TN__IMAGE_IR_HEADER + (size_t)size;
    w->ir.data = tn__alloc_zeroed(NULL, w->ir.size, 1);
    if (!w->ir.data)
        return false;
    memcpy(w->ir.data, TN__IMAGE_IR_MAGIC, 8);
    tn__put64((uint8_t *)w->ir.data + TN__IMAGE_IR_AT_SIZE, size);
    return true;
}

static void write_tables(struct writer *w)
{
    const struct tn__image_contents *c = w->contents;
    size_t targets = tn_cpu_target_count(c->targets);
    w->size = directory_end(w);
    if (c->saved)
        tn__image_add_bytes(&w->text, c->saved->view.text, c->saved->view.tables[TN__IMAGE_TEXT_TABLE].count);
    uint8_t *row = begin_table(w, TN__IMAGE_TARGET_TABLE, targets, TN__IMAGE_TARGET);
    for (size_t i = 0; i < targets; i++, row += TN__IMAGE_TARGET) {
        const struct tn_cpu_target *target = tn_cpu_target_at(c->targets, i);
        tn__put32(row + TN__IMAGE_TARGET_NAME, tn__image_add_text(&w->text, target->name));
        tn__put32(row + TN__IMAGE_TARGET_EXTRA, tn__image_add_text(&w->text, target->extra));
        tn__put32(row + TN__IMAGE_TARGET_FLAGS, (uint32_t)(target->flags & ~(uint64_t)TN_CPU_HELP));
        tn__put32(row + TN__IMAGE_TARGET_BASE, (uint32_t)target->base);
        for (size_t word = 0; word < TN_CPU_WORDS; word++)
            tn__put64(row + TN__IMAGE_TARGET_ENABLED + 8 * word, target->enabled.words[word]);
    }
    row = begin_table(w, TN__IMAGE_FUNCTION_TABLE, c->function_count, TN__IMAGE_FUNCTION);
    for (size_t i = 0; i < c->function_count; i++, row += TN__IMAGE_FUNCTION) {
        const struct tn__shard_function *function = &c->functions[i];
        tn__put32(row + TN__IMAGE_FUNCTION_NAME, add_once(w, function->name));
        tn__put32(row + TN__IMAGE_FUNCTION_VERSIONS,
                  add_set(w, function->clones) | (function->is_public ? TN__IMAGE_PUBLIC : 0));
    }
    row = begin_table(w, TN__IMAGE_SET_TABLE, w->set_count, 8);
    for (size_t i = 0; i < w->set_count; i++)
        tn__put64(row + 8 * i, w->sets[i]);
    row = begin_table(w, TN__IMAGE_NEED_TABLE, c->need_count, 4);
    for (size_t i = 0; i < c->need_count; i++, row += 4)
        tn__put32(row, add_once(w, c->needs[i]));
    write_dependencies(w);
    write_saved(w);
    if (c->value_count)
        row = begin_table(w, TN__IMAGE_VALUE_TABLE, c->value_count, TN__IMAGE_VALUE);
    for (size_t i = 0; i < c->value_count; i++, row += TN__IMAGE_VALUE) {
        tn__put32(row + TN__IMAGE_VALUE_NAME, tn__image_add_text(&w->text, c->values[i].name));
        tn__put32(row + TN__IMAGE_VALUE_OF, c->values[i].of);
    }
    write_layouts(w);
    row = c->cells ? begin_table(w, TN__IMAGE_CELL_TABLE, c->cells, TN__IMAGE_CELL_ROW) : NULL;
    for (size_t i = 0; i < c->function_count; i++)
        if (c->functions[i].cell >= 0) {
            tn__put32(row, (uint32_t)i);
            row += TN__IMAGE_CELL_ROW;
        }
    w->offers = w->size;
    write_items(w, TN__IMAGE_OFFER_TABLE, &c->offers);
    write_items(w, TN__IMAGE_EDGE_TABLE, &c->edges);
    write_reliances(w);
    write_kept(w);
    row = c->reached_count ? begin_table(w, TN__IMAGE_REACHED_TABLE, c->reached_count, 4) : NULL;
    for (size_t i = 0; i < c->reached_count; i++, row += 4)
        tn__put32(row, add_once(w, c->reached[i]));
    w->name = tn__image_add_text(&w->text, c->image);
}

/* Bytes of all rows but the text's; 0: there are too many. Collects the sets. */
static size_t count_rows(struct writer *w)
{
    const struct tn__image_contents *c = w->contents;
    size_t targets = tn_cpu_target_count(c->targets), limit = INT32_MAX / 8, saved = 0, heap_tables = 0;
    for (enum tn__image_table kind = TN__IMAGE_CODE_TABLES; c->saved && kind < TN__IMAGE_HEAP_TABLES; kind++)
        saved += 8 + saved_rows(w, kind) * (size_t)c->saved->view.tables[kind].size;
    saved += saved_rows(w, TN__IMAGE_DEPENDENCY_TABLE) * dependency_size(c);
    if (c->saved)
        heap_tables = TN__IMAGE_HEAP_TABLES - TN__IMAGE_CODE_TABLES;
    if (saved > limit || c->function_count > limit / TN__IMAGE_FUNCTION || c->need_count > limit / 4 ||
        c->dependency_count > limit / TN__IMAGE_DEPENDENCY_USED || c->dependency_count >= UINT32_C(1) << 20 ||
        c->offers.count > limit / TN__IMAGE_ITEM || c->edges.count > limit / TN__IMAGE_ITEM ||
        c->reliance_count > limit / TN__IMAGE_RELIANCE || c->kept_count > limit / TN__IMAGE_KEPT ||
        c->shared_count > limit / 8 || c->reached_count > limit / 4 || c->value_count > limit / TN__IMAGE_VALUE ||
        c->layout_count > limit / TN__IMAGE_LAYOUT)
        return 0;
    for (size_t i = 0; i < c->function_count; i++)
        add_set(w, c->functions[i].clones);
    w->places =
        TN__IMAGE_FIRST_VERSION + targets * c->slots + (c->function_count - c->slots) + c->offers.count + has_words(c);
    if (c->saved)
        w->places += saved_rows(w, TN__IMAGE_ZONE_TABLE) + 1;
    w->places += cell_places(c) + (c->shared_count > 0);
    w->tables = TN__IMAGE_CODE_TABLES + heap_tables + (c->value_count > 0) + (c->layout_count > 0) + (c->cells > 0) +
                (c->offers.count > 0) + (c->edges.count > 0) + (c->reliance_count > 0) + (c->reached_count > 0) +
                2 * (c->kept_count > 0) + (c->shared_count > 0);
    return w->places > limit
               ? 0
               : directory_end(w) + saved + c->value_count * TN__IMAGE_VALUE + c->layout_count * TN__IMAGE_LAYOUT +
                     targets * TN__IMAGE_TARGET + c->function_count * TN__IMAGE_FUNCTION + w->set_count * 8 +
                     (c->need_count + c->reached_count) * 4 + c->dependency_count * dependency_size(c) +
                     c->cells * TN__IMAGE_CELL_ROW + c->reliance_count * TN__IMAGE_RELIANCE +
                     c->kept_count * TN__IMAGE_KEPT + (c->kept_count ? (targets + 1) * TN__IMAGE_SETTING : 0) +
                     c->shared_count * 4 + (c->offers.count + c->edges.count) * TN__IMAGE_ITEM;
}

/* The rows are written first, because they tell how much text there is; it goes behind them. */
static int write_bytes(struct writer *w, struct tn_error *err)
{
    const struct tn__image_contents *c = w->contents;
    size_t rows = count_rows(w);
    if (!rows)
        return tn__fail(err, TN_ENOTSUP, "%zu functions for %zu targets are too many for one image", c->function_count,
                        tn_cpu_target_count(c->targets));
    bool too_large;
    w->bytes = tn__alloc_zeroed(NULL, rows, 1);
    if (!w->bytes || !make_interned(w) || !make_ir(w, &too_large))
        return w->bytes && w->interned && too_large
                   ? tn__fail(err, TN_ENOTSUP, "the IR of %zu functions is too large for one image", c->kept_count)
                   : TN_ENOMEM;
    write_tables(w);
    if (w->text.full)
        return TN_ENOMEM;
    size_t size = tn__align_up(rows + w->text.size, 8);
    if (w->text.size > INT32_MAX / 4)
        return tn__fail(err, TN_ENOTSUP, "%zu bytes of names are too many for one image", w->text.size);
    uint8_t *bytes = tn__realloc(NULL, w->bytes, size);
    if (!bytes)
        return TN_ENOMEM;
    w->bytes = bytes;
    memset(bytes + rows, 0, size - rows);
    memcpy(begin_table(w, TN__IMAGE_TEXT_TABLE, w->text.size, 1), w->text.bytes, w->text.size);
    w->size = size;
    write_header(w);
    tn__put64(bytes + TN__IMAGE_AT_OFFERS, digest_offers(w));
    tn__put64(bytes + TN__IMAGE_AT_BUILD_ID, c->build_id[0] ^ tn__image_checksum(bytes, size, 1));
    tn__put64(bytes + TN__IMAGE_AT_BUILD_ID + 8, c->build_id[1]);
    tn__put64(bytes + TN__IMAGE_AT_CHECKSUM, tn__image_header_checksum(bytes, size));
    return 0;
}

/* ---- the module ---- */

struct job {
    struct writer *w;
    struct tn_buffer *out;
};

struct module {
    const struct tn__image_contents *contents;
    char *name; /* space for each of the names */
    size_t name_size;
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMValueRef image;
    LLVMTypeRef i8, i32, i64, pointer;
};

static LLVMValueRef hide(LLVMValueRef global)
{
    LLVMSetVisibility(global, LLVMHiddenVisibility);
    return global;
}

/* How far `global` is from `from`. */
static LLVMValueRef distance(const struct module *m, LLVMValueRef global, LLVMValueRef from)
{
    LLVMValueRef difference = LLVMConstSub(LLVMConstPtrToInt(global, m->i64), LLVMConstPtrToInt(from, m->i64));
    return LLVMConstTrunc(difference, m->i32);
}

/* The version of a function for a target that has one. */
static LLVMValueRef declare_version(const struct module *m, const struct tn__shard_function *f, size_t target)
{
    bool plain = target == 0 && f->entry_is_body && !f->is_public && f->cell < 0;
    snprintf(m->name, m->name_size, plain ? "%s" : "%s.%s.%zu", f->name, m->contents->image, target);
    LLVMValueRef known = LLVMGetNamedFunction(m->module, m->name);
    return known ? known
                 : hide(LLVMAddFunction(m->module, m->name,
                                        LLVMFunctionType(LLVMVoidTypeInContext(m->context), NULL, 0, 0)));
}

/* With the versions for target 0: so an image works before it is opened, too. `values` has space for the slots. */
static LLVMValueRef define_slots(const struct module *m, LLVMValueRef *values)
{
    size_t count = m->contents->slots;
    LLVMTypeRef type = LLVMArrayType2(m->pointer, count ? count : 1);
    snprintf(m->name, m->name_size, "%s.slots", m->contents->image);
    LLVMValueRef slots = hide(LLVMAddGlobal(m->module, type, m->name));
    for (size_t i = 0; i < count; i++)
        values[i] = declare_version(m, &m->contents->functions[i], 0);
    LLVMSetInitializer(slots, count ? LLVMConstArray2(m->pointer, values, count) : LLVMConstNull(type));
    LLVMSetAlignment(slots, 64);
    return slots;
}

/* Null until the image is opened. With objects, one more word says whether it is. */
static LLVMValueRef define_values(const struct module *m)
{
    LLVMTypeRef type = LLVMArrayType2(m->pointer, m->contents->value_count + (m->contents->saved != NULL));
    snprintf(m->name, m->name_size, "%s.values", m->contents->image);
    LLVMValueRef values = hide(LLVMAddGlobal(m->module, type, m->name));
    LLVMSetInitializer(values, LLVMConstNull(type));
    LLVMSetAlignment(values, 8);
    return values;
}

/* Zero: each function leads to its version until it is redirected. */
static LLVMValueRef define_cells(const struct module *m)
{
    LLVMTypeRef type = LLVMArrayType2(m->i8, TN__IMAGE_CELL * m->contents->cells);
    snprintf(m->name, m->name_size, "%s.cells", m->contents->image);
    LLVMValueRef cells = hide(LLVMAddGlobal(m->module, type, m->name));
    LLVMSetInitializer(cells, LLVMConstNull(type));
    LLVMSetAlignment(cells, TN__IMAGE_CELL);
    return cells;
}

static LLVMValueRef declare_entry(const struct module *m, size_t cell)
{
    snprintf(m->name, m->name_size, "%s.entry.%zu", m->contents->image, cell);
    return hide(LLVMAddGlobal(m->module, m->i8, m->name));
}

/* What the object of saved objects defines. */
static LLVMValueRef declare_part(const struct module *m, uint32_t part)
{
    snprintf(m->name, m->name_size, "%s.%s", m->contents->image, tn__saved_symbols[part]);
    return hide(LLVMAddGlobal(m->module, m->i8, m->name));
}

/* The function of this name, in one of the two parts of the table. */
static const struct tn__shard_function *find_function(const struct tn__image_contents *c, size_t low, size_t high,
                                                      const char *name)
{
    size_t at = TN_BISECT(low, high, i, strcmp(c->functions[i].name, name) < 0);
    return at < high && strcmp(c->functions[at].name, name) == 0 ? &c->functions[at] : NULL;
}

/* A function with one version is its own entry; what else has an address has a name for it (multiversion.h). */
static LLVMValueRef place_offer(const struct module *m, const struct tn__image_item *item)
{
    const struct tn__image_contents *c = m->contents;
    if (item->kind > TN__ITEM_VARIABLE)
        return LLVMConstInt(m->i32, 0, 0);
    const struct tn__shard_function *single = find_function(c, c->slots, c->function_count, item->name);
    if (item->kind == TN__ITEM_FUNCTION && single && single->cell < 0)
        return distance(m, declare_version(m, single, 0), m->image);
    snprintf(m->name, m->name_size, "%s.%s.entry", item->name, c->image);
    return distance(m, hide(LLVMAddGlobal(m->module, m->i8, m->name)), m->image);
}

/* An edge of this name says where it is. */
static bool is_of_dependency(const struct tn__image_contents *c, const char *name)
{
    bool found = false;
    for (enum tn__image_item_kind kind = TN__ITEM_FUNCTION; kind <= TN__ITEM_VARIABLE && !found; kind++) {
        const struct tn__image_item *edge = find_edge(&c->edges, kind, name);
        found = edge < c->edges.rows + c->edges.count && edge->kind == kind && strcmp(edge->name, name) == 0;
    }
    return found;
}

/* The addresses of what IR names, as the code of the image knows them. What is elsewhere need not be there: optimised
 * code may not use it. */
static LLVMValueRef define_shared(const struct module *m)
{
    const struct tn__image_contents *c = m->contents;
    LLVMValueRef *addresses = tn__alloc(NULL, c->shared_count * sizeof *addresses);
    if (!addresses)
        return NULL;
    for (size_t i = 0; i < c->shared_count; i++) {
        const struct tn__image_shared *shared = &c->shared[i];
        if (is_of_dependency(c, shared->name)) {
            addresses[i] = LLVMConstNull(m->pointer);
            continue;
        }
        LLVMValueRef known = LLVMGetNamedGlobal(m->module, shared->name);
        known = known ? known : LLVMGetNamedFunction(m->module, shared->name);
        addresses[i] = known ? known : LLVMAddGlobal(m->module, m->i8, shared->name);
        if (shared->is_hidden)
            hide(addresses[i]);
        else if (!known && !shared->is_own)
            LLVMSetLinkage(addresses[i], LLVMExternalWeakLinkage);
    }
    snprintf(m->name, m->name_size, "%s.shared", c->image);
    LLVMValueRef array = hide(LLVMAddGlobal(m->module, LLVMArrayType2(m->pointer, c->shared_count), m->name));
    LLVMSetInitializer(array, LLVMConstArray2(m->pointer, addresses, c->shared_count));
    LLVMSetGlobalConstant(array, 1);
    LLVMSetAlignment(array, 8);
    tn__free(NULL, addresses);
    return array;
}

/* Fills places[] as format.h says; there are more of them than slots. False: no memory. */
static bool list_places(const struct module *m, LLVMValueRef *places)
{
    const struct tn__image_contents *c = m->contents;
    size_t at = 0;
    places[at++] = distance(m, define_slots(m, places), m->image);
    for (size_t target = 0; target < tn_cpu_target_count(c->targets); target++)
        for (size_t i = 0; i < c->slots; i++) {
            bool own = c->functions[i].clones >> target & 1;
            size_t version = own ? target : tn_cpu_target_at(c->targets, target)->base;
            places[at++] = distance(m, declare_version(m, &c->functions[i], version), m->image);
        }
    for (size_t i = c->slots; i < c->function_count; i++)
        places[at++] = distance(m, declare_version(m, &c->functions[i], 0), m->image);
    for (size_t i = 0; i < c->offers.count; i++)
        places[at++] = place_offer(m, &c->offers.rows[i]);
    if (has_words(c))
        places[at++] = distance(m, define_values(m), m->image);
    const struct tn__image_rows *zones = c->saved ? &c->saved->view.tables[TN__IMAGE_ZONE_TABLE] : NULL;
    for (uint32_t i = 0; zones && i < zones->count; i++)
        places[at++] = distance(m, declare_part(m, tn__get32(tn__image_row(zones, i) + TN__IMAGE_ZONE_KIND)), m->image);
    if (zones)
        places[at++] = distance(m, declare_part(m, TN__ZONES), m->image);
    if (c->cells)
        places[at++] = distance(m, define_cells(m), m->image);
    for (size_t i = 0; i < c->cells; i++)
        places[at++] = distance(m, declare_entry(m, i), m->image);
    LLVMValueRef shared = c->shared_count ? define_shared(m) : NULL;
    if (shared)
        places[at++] = distance(m, shared, m->image);
    return shared || !c->shared_count;
}

/* Keeps a variable that no code refers to. */
static void keep(const struct module *m, const char *list, LLVMValueRef *variable)
{
    LLVMValueRef used = LLVMAddGlobal(m->module, LLVMArrayType2(m->pointer, 1), list);
    LLVMSetLinkage(used, LLVMAppendingLinkage);
    LLVMSetSection(used, "llvm.metadata");
    LLVMSetInitializer(used, LLVMConstArray2(m->pointer, variable, 1));
}

static void define_ir(const struct module *m, const struct tn_buffer *ir)
{
    LLVMValueRef bytes = LLVMAddGlobal(m->module, LLVMArrayType2(m->i8, ir->size), "tenon.ir");
    LLVMSetLinkage(bytes, LLVMInternalLinkage);
    LLVMSetInitializer(bytes, LLVMConstStringInContext2(m->context, (const char *)ir->data, ir->size, 1));
    LLVMSetSection(bytes, TN__IMAGE_IR_SECTION); /* LLVM knows that it is not loaded */
    LLVMSetGlobalConstant(bytes, 1);
    LLVMSetAlignment(bytes, 8);
    keep(m, "llvm.compiler.used", &bytes);
}

/* The note by which a file is searched for its image (format.h). */
static void define_note(const struct module *m)
{
    LLVMTypeRef types[] = {m->i32, m->i32, m->i32, LLVMArrayType2(m->i8, 8), m->i32, m->i32, m->i64};
    LLVMTypeRef type = LLVMStructTypeInContext(m->context, types, TN_COUNT(types), 1);
    LLVMValueRef note = LLVMAddGlobal(m->module, type, "tenon.note");
    char name[8] = TN__IMAGE_NOTE_NAME;
    LLVMValueRef fields[] = {LLVMConstInt(m->i32, sizeof TN__IMAGE_NOTE_NAME, 0),
                             LLVMConstInt(m->i32, TN__IMAGE_NOTE_SIZE, 0),
                             LLVMConstInt(m->i32, TN__IMAGE_NOTE_TYPE, 0),
                             LLVMConstStringInContext2(m->context, name, sizeof name, 1),
                             distance(m, m->image, note),
                             LLVMConstInt(m->i32, 0, 0),
                             LLVMConstInt(m->i64, 0, 0)};
    LLVMSetLinkage(note, LLVMInternalLinkage);
    LLVMSetInitializer(note, LLVMConstStructInContext(m->context, fields, TN_COUNT(fields), 1));
    LLVMSetSection(note, ".note.tenon");
    LLVMSetAlignment(note, 4);
    LLVMSetGlobalConstant(note, 1);
    keep(m, "llvm.used", &note);
}

/* False: no memory. */
static bool define_image(struct module *m, const struct writer *w, LLVMValueRef *places)
{
    LLVMTypeRef parts[] = {LLVMArrayType2(m->i8, w->size), LLVMArrayType2(m->i32, w->places)};
    LLVMTypeRef type = LLVMStructTypeInContext(m->context, parts, 2, 1);
    m->image = LLVMAddGlobal(m->module, type, m->contents->image);
    LLVMSetVisibility(m->image, LLVMProtectedVisibility); /* seen from outside, and always itself */
    LLVMSetGlobalConstant(m->image, 1);
    LLVMSetAlignment(m->image, 64);
    if (!list_places(m, places))
        return false;
    LLVMValueRef values[] = {LLVMConstStringInContext2(m->context, (const char *)w->bytes, w->size, 1),
                             LLVMConstArray2(m->i32, places, w->places)};
    LLVMSetInitializer(m->image, LLVMConstStructInContext(m->context, values, 2, 1));
    define_note(m);
    if (w->ir.size)
        define_ir(m, &w->ir);
    return true;
}

static int make_module(void *user)
{
    struct job *job = user;
    struct module m = {.contents = job->w->contents, .context = LLVMContextCreate()};
    m.module = LLVMModuleCreateWithNameInContext(m.contents->image, m.context);
    m.i8 = LLVMInt8TypeInContext(m.context);
    m.i32 = LLVMInt32TypeInContext(m.context);
    m.i64 = LLVMInt64TypeInContext(m.context);
    m.pointer = LLVMPointerTypeInContext(m.context, 0);
    LLVMSetTarget(m.module, m.contents->triple);
    LLVMSetDataLayout(m.module, m.contents->layout);
    size_t longest = 0;
    for (size_t i = 0; i < m.contents->function_count; i++)
        longest = (size_t)tn__max64(longest, strlen(m.contents->functions[i].name));
    for (size_t i = 0; i < m.contents->offers.count; i++)
        longest = (size_t)tn__max64(longest, strlen(m.contents->offers.rows[i].name));
    m.name_size = longest + strlen(m.contents->image) + 32;
    m.name = tn__alloc(NULL, m.name_size);
    LLVMValueRef *places = tn__alloc(NULL, job->w->places * sizeof *places);
    bool good = m.name && places && define_image(&m, job->w, places);
    tn__free(NULL, m.name);
    tn__free(NULL, places);
    good = good && tn__llvm_write_bitcode(m.module, job->out);
    LLVMDisposeModule(m.module);
    LLVMContextDispose(m.context);
    return good ? 0 : TN_ENOMEM;
}

int tn__image_metadata(const struct tn__image_contents *contents, struct tn_buffer *out, struct tn_error *err)
{
    struct writer w = {.contents = contents};
    qsort(contents->functions, contents->function_count, sizeof *contents->functions, in_order);
    int code = write_bytes(&w, err);
    if (!code)
        code = tn__contain(make_module, &(struct job){&w, out}, err);
    tn__free(NULL, w.bytes);
    tn__free(NULL, w.text.bytes);
    tn__free(NULL, w.sets);
    tn__free(NULL, w.interned);
    tn_buffer_free(&w.ir);
    return code == TN_ENOMEM ? tn__fail(err, code, "out of memory while writing the image's tables") : code;
}
