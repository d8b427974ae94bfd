/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What an image offers to others, and what it uses of the images that it depends on (doc/PACKAGES.md). An edge says
 * what the other image has when this one is built; what the input was compiled with has to agree with that. */

#include <stdio.h>
#include <stdlib.h>

#include "base/types.h"
#include "codegen/image/build.h"

/* The input as errors name it. */
static const char *input_name(const struct tn__image_build *b)
{
    return *b->input_names ? b->input_names : b->options.name;
}

static struct tn__image_item *add_item(struct tn__image_items *items)
{
    if (!tn__grow(NULL, &items->rows, &items->capacity, items->count + 1, sizeof *items->rows))
        return NULL;
    return &items->rows[items->count++];
}

/* The texts are copied. */
int tn__image_offer(struct tn__image_build *b, struct tn__image_item item)
{
    item.name = tn__arena_text(&b->arena, item.name, strlen(item.name));
    item.text = tn__arena_text(&b->arena, item.text, strlen(item.text));
    struct tn__image_item *row = item.name && item.text ? add_item(&b->offers) : NULL;
    if (row)
        *row = item;
    return row ? 0 : tn__image_no_memory(b);
}

/* ---- dependencies ---- */

static bool is_reached(const struct tn__image_build *b, const char *name)
{
    for (size_t i = 0; i < b->reached_count; i++)
        if (strcmp(b->reached[i], name) == 0)
            return true;
    for (size_t i = 0; i < b->options.dependency_count; i++)
        if (strcmp(b->options.dependencies[i].name, name) == 0)
            return true;
    return false;
}

/* Adds what a dependency depends on, itself or through others. An image without a name of its own is no part of a
 * circle: another one may have the same. */
static int reach(struct tn__image_build *b, const struct tn__image_view *view, enum tn__image_table table)
{
    const struct tn__image_rows *rows = &view->tables[table];
    for (uint32_t i = 0; i < rows->count; i++) {
        const char *name = tn__image_text(view, tn__image_row(rows, i));
        if (strcmp(name, "tn_image") != 0 && strcmp(name, b->options.name) == 0)
            return tn__fail(b->err, TN_ECYCLE, "the image '%s' would depend on itself: '%s' depends on it%s", name,
                            tn__image_name(view), table == TN__IMAGE_REACHED_TABLE ? ", through others" : "");
        if (is_reached(b, name))
            continue;
        if (!tn__grow(NULL, &b->reached, &b->reached_capacity, b->reached_count + 1, sizeof *b->reached))
            return tn__image_no_memory(b);
        b->reached[b->reached_count++] = name;
    }
    return 0;
}

static int read_dependencies(struct tn__image_build *b)
{
    size_t count = b->options.dependency_count;
    int code = 0;
    b->used = count ? tn__arena_array(&b->arena, count, sizeof *b->used) : NULL;
    if (count && !b->used)
        return tn__image_no_memory(b);
    for (size_t i = 0; i < count && !code; i++) {
        const struct tn_image_dependency *row = &b->options.dependencies[i];
        if (!row->header)
            continue;
        code = tn__image_read(row->name, row->header, row->header_size, &b->arena, &b->used[i], b->err);
        if (!code)
            code = reach(b, &b->used[i], TN__IMAGE_DEPENDENCY_TABLE);
        if (!code)
            code = reach(b, &b->used[i], TN__IMAGE_REACHED_TABLE);
    }
    return code;
}

const struct tn__image_view *tn__image_find_used(const struct tn__image_build *b, enum tn__image_item_kind kind,
                                                 enum tn__image_item_kind last, const char *name,
                                                 struct tn__image_item *item)
{
    uint32_t index = TN__IMAGE_ANYWHERE;
    for (size_t i = 0; i < b->options.dependency_count; i++)
        for (enum tn__image_item_kind k = kind; b->used[i].header && k <= last; k++)
            if (tn__image_find_item(&b->used[i], TN__IMAGE_OFFER_TABLE, k, name, &index, item)) {
                item->dependency = (uint32_t)i;
                item->size = k == TN__ITEM_FUNCTION ? index : item->size;
                return &b->used[i];
            }
    return NULL;
}

int tn__image_add_edge(struct tn__image_build *b, const struct tn__image_item *found)
{
    struct tn__image_item *row = add_item(&b->edges);
    if (row)
        *row = *found;
    return row ? 0 : tn__image_no_memory(b);
}

/* `wanted`: as the input has it. */
static int add_edge(struct tn__image_build *b, const struct tn__image_item *wanted, const struct tn__image_item *found,
                    const struct tn__image_view *view)
{
    int code = tn__image_compare_item(input_name(b), wanted, view, b->err);
    return code ? code : tn__image_add_edge(b, found);
}

/* ---- symbols ---- */

/* Calls load the address, where they would else call a stub that does. */
static void call_without_stub(LLVMModuleRef module, const char *name)
{
    static const char attribute[] = "nonlazybind";
    LLVMValueRef function = LLVMGetNamedFunction(module, name);
    unsigned kind = LLVMGetEnumAttributeKindForName(attribute, sizeof attribute - 1);
    if (function)
        LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(LLVMGetModuleContext(module), kind, 0));
}

/* What the declaration does not tell is taken from what is found. */
static int use_symbol(struct tn__image_build *b, const struct tn__mv_symbol *symbol, enum tn__image_item_kind kind)
{
    struct tn__image_item found;
    const struct tn__image_view *view =
        tn__image_find_used(b, TN__ITEM_FUNCTION, TN__ITEM_THREAD_VARIABLE, symbol->name, &found);
    if (!view)
        return 0;
    if (kind == TN__ITEM_FUNCTION)
        call_without_stub(b->unit.module, symbol->name);
    struct tn__image_item wanted = found;
    if (kind != found.kind || (kind == TN__ITEM_FUNCTION && !symbol->is_open)) {
        wanted.kind = kind;
        wanted.text = symbol->text;
    }
    if (symbol->size)
        wanted.size = symbol->size;
    if (kind != found.kind || symbol->alignment > found.alignment)
        wanted.alignment = symbol->alignment;
    return add_edge(b, &wanted, &found, view);
}

static enum tn__image_item_kind kind_of(const struct tn__mv_symbol *symbol)
{
    return symbol->is_function       ? TN__ITEM_FUNCTION
           : symbol->is_thread_local ? TN__ITEM_THREAD_VARIABLE
                                     : TN__ITEM_VARIABLE;
}

static bool take_use(void *context, const struct tn__mv_symbol *symbol)
{
    struct tn__image_build *b = context;
    b->code = symbol->is_defined ? 0 : use_symbol(b, symbol, kind_of(symbol));
    return !b->code;
}

static bool take_symbol(void *context, const struct tn__mv_symbol *symbol)
{
    struct tn__image_build *b = context;
    enum tn__image_item_kind kind = kind_of(symbol);
    if (!symbol->is_defined)
        return take_use(b, symbol);
    return !(b->code = tn__image_offer(b, (struct tn__image_item){.kind = kind,
                                                                  .name = symbol->name,
                                                                  .text = symbol->text,
                                                                  .alignment = symbol->alignment,
                                                                  .size = symbol->size}));
}

/* ---- types ---- */

enum { DIGEST = 17 };

/* Digests everything that the descriptor says. False: no memory. */
static bool digest_type(const struct tn_type *type, char text[DIGEST])
{
    struct tn_buffer bytes = {0};
    if (!tn__types_write(type, 1, &bytes))
        return false;
    snprintf(text, DIGEST, "%016llx", (unsigned long long)tn__image_checksum(bytes.data, bytes.size, 0));
    tn_buffer_free(&bytes);
    return true;
}

/* The offer of the variable tells it, too. */
static int tell_variable(struct tn__image_build *b, LLVMValueRef global, const char *digest)
{
    const char *name = LLVMGetValueName2(global, &(size_t){0});
    for (size_t i = 0; i < b->offers.count; i++)
        if (b->offers.rows[i].kind == TN__ITEM_VARIABLE && strcmp(b->offers.rows[i].name, name) == 0) {
            b->offers.rows[i].text = tn__arena_text(&b->arena, digest, strlen(digest));
            return b->offers.rows[i].text ? 0 : tn__image_no_memory(b);
        }
    return 0;
}

static int take_type(struct tn__image_build *b, LLVMValueRef global)
{
    struct tn__descriptor d;
    struct tn__image_item found;
    struct tn_type type;
    char digest[DIGEST];
    bool out_of_memory = false;
    if (!tn__read_descriptor(b->unit.module, global, &d))
        return 0;
    if (!tn__descriptor_type(b->unit.module, &d, &b->arena, &type, &out_of_memory))
        return out_of_memory ? tn__image_no_memory(b) : 0;
    if (!digest_type(&type, digest))
        return tn__image_no_memory(b);
    struct tn__image_item item = {.kind = TN__ITEM_TYPE,
                                  .name = type.name,
                                  .text = digest,
                                  .alignment = (uint32_t)type.alignment,
                                  .size = type.size};
    const struct tn__image_view *view = tn__image_find_used(b, TN__ITEM_TYPE, TN__ITEM_TYPE, type.name, &found);
    int code = view ? add_edge(b, &item, &found, view) : 0;
    if (!code)
        code = tn__image_offer(b, item);
    return code ? code : tell_variable(b, global, digest);
}

/* ---- facts ---- */

static bool take_fact(void *context, const char *key, const char *digest)
{
    struct tn__image_build *b = context;
    struct tn__image_item found, item = {.kind = TN__ITEM_FACT, .name = key, .text = digest};
    if (!key) {
        b->code = tn__fail(b->err, TN_EINVAL, "%s: a node of !tenon.facts is not two strings", input_name(b));
        return false;
    }
    const struct tn__image_view *view = tn__image_find_used(b, TN__ITEM_FACT, TN__ITEM_FACT, key, &found);
    b->code = view ? add_edge(b, &item, &found, view) : 0;
    if (!b->code)
        b->code = tn__image_offer(b, item);
    return !b->code;
}

/* ---- the whole ---- */

static int in_order(const void *a, const void *b)
{
    const struct tn__image_item *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->text, y->text);
}

/* Sorts, and leaves each item once. Two inputs may not tell different things. */
static int settle(struct tn__image_build *b, struct tn__image_items *items)
{
    size_t kept = 0;
    if (items->count)
        qsort(items->rows, items->count, sizeof *items->rows, in_order);
    for (size_t i = 0; i < items->count; i++) {
        const struct tn__image_item *last = kept ? &items->rows[kept - 1] : NULL, *item = &items->rows[i];
        if (!last || last->kind != item->kind || strcmp(last->name, item->name) != 0)
            items->rows[kept++] = *item;
        else if (strcmp(last->text, item->text) != 0)
            return tn__fail(b->err, TN_ESTALE, "%s: the %s '%s' is both %s and %s", input_name(b),
                            item->kind == TN__ITEM_FACT ? "fact" : "type", item->name, last->text, item->text);
    }
    items->count = kept;
    return 0;
}

int tn__image_take_items(struct tn__image_build *b)
{
    LLVMModuleRef module = b->unit.module;
    b->code = read_dependencies(b);
    if (!b->code)
        tn__mv_each_symbol(module, take_symbol, b);
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g && !b->code; g = LLVMGetNextGlobal(g))
        b->code = take_type(b, g);
    if (!b->code)
        tn__mv_each_fact(module, take_fact, b);
    if (!b->code)
        b->code = tn__image_take_copies(b);
    if (!b->code) /* copies have brought more */
        tn__mv_each_symbol(module, take_use, b);
    if (!b->code)
        b->code = settle(b, &b->offers);
    int code = b->code ? b->code : settle(b, &b->edges);
    b->code = 0;
    return code;
}

int tn__image_keep_offers(struct tn__image_build *b)
{
    size_t kept = 0;
    for (size_t i = 0; i < b->offers.count; i++)
        if (b->offers.rows[i].kind == TN__ITEM_TYPE || b->offers.rows[i].kind == TN__ITEM_FACT ||
            tn__mv_has_public(b->unit.module, b->offers.rows[i].name))
            b->offers.rows[kept++] = b->offers.rows[i];
    b->offers.count = kept;
    return 0;
}

void tn__image_free_items(struct tn__image_build *b)
{
    tn__free(NULL, b->offers.rows);
    tn__free(NULL, b->edges.rows);
    tn__free(NULL, b->reached);
    tn__free(NULL, b->reliances);
}
