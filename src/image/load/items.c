/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What images offer to others and use of others (doc/PACKAGES.md): reading and comparing items. */

#include <string.h>

#include "image/load/image.h"

static const uint8_t *item_row(const struct tn__image_view *view, enum tn__image_table table, uint32_t index)
{
    return tn__image_row(&view->tables[table], index);
}

bool tn__image_item(const struct tn__image_view *view, enum tn__image_table table, uint32_t index,
                    struct tn__image_item *item)
{
    const uint8_t *row = item_row(view, table, index);
    uint32_t first = tn__get32(row + TN__IMAGE_ITEM_KIND);
    *item = (struct tn__image_item){.kind = (enum tn__image_item_kind)(first & 0xff),
                                    .dependency = first >> 8,
                                    .name = tn__image_text(view, row + TN__IMAGE_ITEM_NAME),
                                    .text = tn__image_text(view, row + TN__IMAGE_ITEM_TEXT),
                                    .alignment = tn__get32(row + TN__IMAGE_ITEM_ALIGNMENT),
                                    .size = tn__get64(row + TN__IMAGE_ITEM_SIZE)};
    uint32_t dependencies =
        table == TN__IMAGE_EDGE_TABLE ? view->tables[TN__IMAGE_DEPENDENCY_TABLE].count : UINT32_C(1);
    return item->kind < TN__ITEMS && item->dependency < dependencies && item->name && item->text;
}

/* Rows are sorted by kind, then by name in strcmp's order. */
static bool is_before(const struct tn__image_view *view, enum tn__image_table table, uint32_t index, const char *name)
{
    const char *text = tn__image_text(view, item_row(view, table, index) + TN__IMAGE_ITEM_NAME);
    return text && strcmp(text, name) < 0;
}

void tn__image_find_kinds(struct tn__image_view *view)
{
    for (enum tn__image_table table = TN__IMAGE_OFFER_TABLE; table <= TN__IMAGE_EDGE_TABLE; table++) {
        uint32_t *firsts = view->firsts[table - TN__IMAGE_OFFER_TABLE], count = view->tables[table].count;
        for (uint8_t kind = 1; kind < TN__ITEMS; kind++)
            firsts[kind] = (uint32_t)TN_BISECT(firsts[kind - 1], count, i,
                                               item_row(view, table, (uint32_t)i)[TN__IMAGE_ITEM_KIND] < kind);
        firsts[TN__ITEMS] = count;
    }
}

static bool is_item(const struct tn__image_view *view, enum tn__image_table table, uint32_t index,
                    enum tn__image_item_kind kind, const char *name, struct tn__image_item *item)
{
    return index < view->tables[table].count && tn__image_item(view, table, index, item) && item->kind == kind &&
           strcmp(item->name, name) == 0;
}

bool tn__image_find_item(const struct tn__image_view *view, enum tn__image_table table, enum tn__image_item_kind kind,
                         const char *name, uint32_t *index, struct tn__image_item *item)
{
    const uint32_t *firsts = view->firsts[table - TN__IMAGE_OFFER_TABLE];
    if (is_item(view, table, *index, kind, name, item))
        return true;
    *index = (uint32_t)TN_BISECT(firsts[kind], firsts[kind + 1], i, is_before(view, table, (uint32_t)i, name));
    return is_item(view, table, *index, kind, name, item);
}

/* ---- comparing ---- */

__attribute__((cold)) static void append_item(struct tn_error *err, const struct tn__image_item *item)
{
    static const char *const names[TN__ITEMS] = {
        "the function", "a variable", "a thread-local variable", "a type", "the fact", "the body", "the value"};
    tn__append(err, "%s", names[item->kind]);
    if (item->kind >= TN__ITEM_BODY)
        tn__append(err, " %016llx", (unsigned long long)item->size);
    if (item->kind == TN__ITEM_VARIABLE || item->kind == TN__ITEM_THREAD_VARIABLE || item->kind == TN__ITEM_TYPE)
        tn__append(err, " of %llu bytes, aligned to %u", (unsigned long long)item->size, item->alignment);
    if (*item->text)
        tn__append(err, "%s %s", item->kind == TN__ITEM_FUNCTION || item->kind == TN__ITEM_FACT ? "" : ",", item->text);
}

/* What has the name of an item that is not there; NULL: nothing. */
__attribute__((cold)) static const struct tn__image_item *
find_other(const struct tn__image_view *view, const struct tn__image_item *wanted, struct tn__image_item *item)
{
    uint32_t index = TN__IMAGE_ANYWHERE;
    bool is_symbol = wanted->kind <= TN__ITEM_THREAD_VARIABLE;
    for (enum tn__image_item_kind kind = TN__ITEM_FUNCTION; is_symbol && kind <= TN__ITEM_THREAD_VARIABLE; kind++)
        if (tn__image_find_item(view, TN__IMAGE_OFFER_TABLE, kind, wanted->name, &index, item))
            return item;
    return NULL;
}

__attribute__((cold)) static int fail_item(const char *name, const struct tn__image_item *wanted,
                                           const struct tn__image_item *found, const struct tn__image_view *other,
                                           struct tn_error *err)
{
    tn__fail(err, TN_ESTALE, "%s: it uses '%s' of the image '%s': wanted ", name, wanted->name, tn__image_name(other));
    append_item(err, wanted);
    tn__append(err, "; found ");
    if (found)
        append_item(err, found);
    else
        tn__append(err, "nothing of this name");
    return TN_ESTALE;
}

int tn__image_compare_item(const char *name, const struct tn__image_item *wanted, const struct tn__image_view *other,
                           struct tn_error *err)
{
    struct tn__image_item item;
    const struct tn__image_item *found = &item;
    uint32_t index = TN__IMAGE_ANYWHERE;
    bool sized = wanted->kind != TN__ITEM_FUNCTION;
    if (!tn__image_find_item(other, TN__IMAGE_OFFER_TABLE, wanted->kind, wanted->name, &index, &item))
        found = find_other(other, wanted, &item);
    else if (strcmp(item.text, wanted->text) == 0 &&
             (!sized || (item.alignment == wanted->alignment && item.size == wanted->size)))
        return 0;
    return fail_item(name, wanted, found, other, err);
}

int tn__image_compare_edges(const char *name, const struct tn__image_view *view, uint32_t dependency,
                            const struct tn__image_view *other, struct tn_error *err)
{
    int code = 0;
    for (uint32_t i = 0; i < view->tables[TN__IMAGE_EDGE_TABLE].count && !code; i++) {
        struct tn__image_item wanted;
        if (!tn__image_item(view, TN__IMAGE_EDGE_TABLE, i, &wanted))
            code = tn__fail(err, TN_EFORMAT, "%s: edge %u is wrong", name, i);
        else if (wanted.dependency == dependency && wanted.kind < TN__ITEM_BODY)
            code = tn__image_compare_item(name, &wanted, other, err);
    }
    return code;
}
