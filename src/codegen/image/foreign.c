/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Bodies and constants across images (doc/PACKAGES.md): those that this one offers, those that it takes copies of,
 * which of its functions may contain which, and the IR of these functions. */

#include <stdlib.h>

#include "codegen/image/build.h"
#include "codegen/llvm/llvm.h"

static enum tn__image_item_kind kind_of(bool is_constant)
{
    return is_constant ? TN__ITEM_CONSTANT : TN__ITEM_BODY;
}

/* ---- offers ---- */

static bool take_body(void *context, const char *name, bool is_constant, uint64_t digest)
{
    struct tn__image_build *b = context;
    b->code = tn__image_offer(
        b, (struct tn__image_item){.kind = kind_of(is_constant), .name = name, .text = "", .size = digest});
    return !b->code;
}

/* Managed code is changed before it is optimised, so there is nothing to copy. */
int tn__image_take_bodies(struct tn__image_build *b)
{
    if (!b->unit.managed)
        tn__mv_each_body(b->unit.module, tn_codegen_llvm_version(), take_body, b);
    int code = b->code;
    b->code = 0;
    return code;
}

/* ---- copies ---- */

struct used {
    struct tn__image_build *b;
    const struct tn_image_input *input;
};

static bool has_symbol(void *context, const char *name)
{
    const struct used *used = context;
    struct tn__image_item item;
    return tn__image_find_used(used->b, TN__ITEM_FUNCTION, TN__ITEM_VARIABLE, name, &item);
}

/* Inputs may have several weak bodies of one name, of which an image has one. */
static int has_body(void *context, const char *name, bool is_constant, bool is_weak, uint64_t digest)
{
    const struct used *used = context;
    struct tn__image_item item;
    const struct tn__image_view *view =
        tn__image_find_used(used->b, kind_of(is_constant), kind_of(is_constant), name, &item);
    if (!view || item.size == digest)
        return view != NULL;
    return is_weak ? 0
                   : tn__fail(used->b->err, TN_ESTALE, "%s: it has another '%s' than the image '%s' was built from",
                              used->input->name, name, tn__image_name(view));
}

static int offer_copies(struct used *used, const struct tn__unit *unit, struct tn_buffer *out)
{
    static const struct tn__mv_offered offered = {has_symbol, has_body};
    struct tn__image_build *b = used->b;
    if (strcmp(unit->target->triple, b->unit.target->triple) != 0)
        return tn__fail(b->err, TN_EINVAL, "%s is for %s, %s for %s", used->input->name, unit->target->triple,
                        b->unit.name, b->unit.target->triple);
    int code = unit->managed
                   ? 0
                   : tn__mv_offer_copies(unit->module, b->unit.module, tn_codegen_llvm_version(), &offered, used);
    if (code || unit->managed)
        return code;
    return tn__llvm_write_bitcode(unit->module, out) ? 0 : tn__image_no_memory(b);
}

static int read_copies(struct tn__image_build *b, const struct tn_image_input *input, struct tn_buffer *out)
{
    struct tn__unit unit = {.name = input->name, .file = b->options.name, .options = &b->compile, .is_written = true};
    int code = tn__unit_read(&unit, input->ir, input->length, TN__READ, b->err);
    if (!code)
        code = offer_copies(&(struct used){b, input}, &unit, out);
    tn__unit_dispose(&unit);
    return code;
}

/* A copy from one input may name what another one has. */
static int take_copies(struct tn__image_build *b, const struct tn_buffer *copies)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (size_t i = 0; i < b->options.used_count; i++)
            if (copies[i].size && !tn__mv_take_copies(b->unit.module, &copies[i], &changed))
                return TN_ECOMPILE; /* the diagnostics have said why */
        changed &= b->options.used_count > 1;
    }
    return 0;
}

/* ---- what depends on them ---- */

static bool take_reliance(void *context, size_t function, const char *name, bool is_constant)
{
    struct tn__image_build *b = context;
    struct tn__image_item found;
    if (!tn__image_find_used(b, kind_of(is_constant), kind_of(is_constant), name, &found))
        return true;
    found.text = "";
    char *copy = tn__arena_text(&b->arena, name, strlen(name));
    if (!copy || !tn__grow(NULL, &b->reliances, &b->reliance_capacity, b->reliance_count + 1, sizeof *b->reliances)) {
        b->code = tn__image_no_memory(b);
        return false;
    }
    b->reliances[b->reliance_count++] = (struct tn__image_reliance){function, found.kind, copy};
    b->code = tn__image_add_edge(b, &found);
    return !b->code;
}

/* As the edges are sorted. */
static int in_order(const void *a, const void *b)
{
    const struct tn__image_reliance *x = a, *y = b;
    if (x->opaque != y->opaque)
        return x->opaque < y->opaque ? -1 : 1;
    return x->kind != y->kind ? (x->kind < y->kind ? -1 : 1) : strcmp(x->name, y->name);
}

static int find_opaque(struct tn__image_build *b)
{
    tn__mv_mark_opaque(b->unit.module, take_reliance, b);
    int code = b->code;
    b->code = 0;
    if (b->reliance_count)
        qsort(b->reliances, b->reliance_count, sizeof *b->reliances, in_order);
    return code;
}

int tn__image_take_copies(struct tn__image_build *b)
{
    size_t count = b->options.used_count;
    struct tn_buffer *copies = count ? tn__arena_array(&b->arena, count, sizeof *copies) : NULL;
    int code = 0;
    if (!count)
        return 0;
    if (!copies)
        return tn__image_no_memory(b);
    for (size_t i = 0; i < count && !code && !b->unit.managed; i++)
        code = read_copies(b, &b->options.used[i], &copies[i]);
    if (!code)
        code = take_copies(b, copies);
    for (size_t i = 0; i < count; i++)
        tn_buffer_free(&copies[i]);
    return code ? code : find_opaque(b);
}

/* ---- their IR ---- */

int tn__image_mark_kept(struct tn__image_build *b)
{
    if (b->options.keep_ir)
        tn__mv_mark_kept(b->unit.module, b->options.name);
    return 0;
}

static bool take_function(void *context, const struct tn__mv_kept *kept)
{
    struct tn__image_build *b = context;
    if (!tn__grow(NULL, &b->kept, &b->kept_capacity, b->kept_count + 1, sizeof *b->kept)) {
        tn_buffer_free(&(struct tn_buffer){kept->bitcode.data, kept->bitcode.size});
        return false;
    }
    b->kept[b->kept_count++] = (struct tn__image_kept){.cell = (uint32_t)kept->cell,
                                                       .registers = kept->registers,
                                                       .stack = kept->stack,
                                                       .is_common = kept->is_common,
                                                       .ir = kept->bitcode};
    return true;
}

static bool take_name(void *context, const char *name, bool is_own, bool is_hidden)
{
    struct tn__image_build *b = context;
    char *copy = tn__arena_text(&b->arena, name, strlen(name));
    if (!copy || !tn__grow(NULL, &b->shared, &b->shared_capacity, b->shared_count + 1, sizeof *b->shared))
        return false;
    b->shared[b->shared_count++] = (struct tn__image_shared){copy, is_own, is_hidden};
    return true;
}

static int by_cell(const void *a, const void *b)
{
    const struct tn__image_kept *x = a, *y = b;
    return x->cell < y->cell ? -1 : x->cell > y->cell;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct tn__image_shared *)a)->name, ((const struct tn__image_shared *)b)->name);
}

int tn__image_take_kept(struct tn__image_build *b)
{
    static const struct tn__mv_visit_kept visit = {take_function, take_name};
    size_t count = 0;
    if (!b->options.keep_ir || !b->is_whole)
        return 0;
    if (!tn__mv_each_kept(b->unit.module, b->split, &visit, b))
        return tn__image_no_memory(b);
    if (b->kept_count)
        qsort(b->kept, b->kept_count, sizeof *b->kept, by_cell);
    if (b->shared_count)
        qsort(b->shared, b->shared_count, sizeof *b->shared, by_name);
    for (size_t i = 0; i < b->shared_count; i++)
        if (!count || by_name(&b->shared[count - 1], &b->shared[i]) != 0)
            b->shared[count++] = b->shared[i];
    b->shared_count = count;
    return 0;
}

void tn__image_free_kept(struct tn__image_build *b)
{
    for (size_t i = 0; i < b->kept_count; i++)
        tn_buffer_free(&b->kept[i].ir);
    tn__free(NULL, b->kept);
    tn__free(NULL, b->shared);
}
