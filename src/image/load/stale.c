/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions that may contain copies of what other images had when this one was built (doc/PACKAGES.md). Each of them is
 * reached through a cell, so those that are stale lead elsewhere, and nothing else is affected. */

#include <string.h>

#include "image/load/image.h"

struct reliance {
    uint32_t cell;
    struct tn__image_item item; /* that the function may have a copy of */
};

/* False: the row is wrong. */
static bool read_reliance(const struct tn__image_view *view, uint32_t index, struct reliance *reliance)
{
    const uint8_t *row = tn__image_row(&view->tables[TN__IMAGE_RELIANCE_TABLE], index);
    reliance->cell = tn__get32(row + TN__IMAGE_RELIANCE_CELL);
    return tn__image_item(view, TN__IMAGE_EDGE_TABLE, tn__get32(row + TN__IMAGE_RELIANCE_EDGE), &reliance->item) &&
           reliance->item.kind >= TN__ITEM_BODY;
}

const uint8_t *tn__image_kept(const struct tn__image_view *view, uint32_t cell)
{
    const struct tn__image_rows *kept = &view->tables[TN__IMAGE_KEPT_TABLE];
    uint32_t at = (uint32_t)TN_BISECT(0, kept->count, i,
                                      tn__get32(tn__image_row(kept, (uint32_t)i) + TN__IMAGE_KEPT_CELL) < cell);
    const uint8_t *row = at < kept->count ? tn__image_row(kept, at) : NULL;
    return row && tn__get32(row + TN__IMAGE_KEPT_CELL) == cell ? row : NULL;
}

/* TN__FRESH: nothing can be done. */
__attribute__((cold)) static enum tn__image_stale remedy(const struct tn__image_opening *o, uint32_t cell)
{
    if (o->options->recompiler && o->image->file && tn__image_kept(&o->image->view, cell))
        return TN__STALE_AGAIN;
    return o->options->on_stale ? TN__STALE : TN__FRESH;
}

/* Marks the function of a cell. */
__attribute__((cold)) static int mark(const struct tn__image_opening *o, uint32_t cell)
{
    struct tn_image *image = o->image;
    uint32_t cells = image->view.tables[TN__IMAGE_CELL_TABLE].count;
    if (!image->stale)
        image->stale = tn__arena_array(&image->arena, cells, sizeof *image->stale);
    if (!image->stale)
        return tn__no_memory(o->err, tn__image_label(image));
    image->stale[cell] = (uint8_t)remedy(o, cell);
    image->on_stale = o->options->on_stale;
    return 0;
}

/* Without marks, the first function that is stale is an error, or with `is_tolerant` the first for which nothing can be
 * done. */
__attribute__((cold)) static int find_stale(const struct tn__image_opening *o, uint32_t dependency,
                                            const struct tn_image *other, bool is_tolerant, bool marks)
{
    const struct tn__image_view *view = &o->image->view;
    const char *name = tn__image_label(o->image);
    int code = 0;
    for (uint32_t i = 0; i < view->tables[TN__IMAGE_RELIANCE_TABLE].count && !code; i++) {
        struct reliance reliance;
        if (!read_reliance(view, i, &reliance))
            return tn__fail(o->err, TN_EFORMAT, "%s: reliance %u is wrong", name, i);
        bool fails = reliance.item.dependency == dependency &&
                     tn__image_compare_item(name, &reliance.item, &other->view, NULL) != 0;
        if (fails && marks) {
            code = mark(o, reliance.cell);
        } else if (fails && (!is_tolerant || remedy(o, reliance.cell) == TN__FRESH)) {
            code = tn__image_compare_item(name, &reliance.item, &other->view, o->err);
            tn__append(o->err, "; '%s' is stale",
                       tn__image_function_name(view, tn__image_cell_function(view, reliance.cell)));
        }
    }
    return code;
}

int tn__image_find_stale(const struct tn__image_opening *o, uint32_t dependency, const struct tn_image *other,
                         bool is_tolerant)
{
    int code = find_stale(o, dependency, other, is_tolerant, false);
    return code || !is_tolerant ? code : find_stale(o, dependency, other, true, true);
}

void *tn__image_own_target(const struct tn_image *image, uint32_t function)
{
    const struct tn__image_view *view = &image->view;
    uint32_t cell = image->stale ? tn__image_cell(view, function) : TN__IMAGE_NO_CELL;
    void *address = tn__image_place(view, tn__image_version(view, function, image->chosen));
    if (cell != TN__IMAGE_NO_CELL && image->stale[cell] == TN__STALE)
        memcpy(&address, &image->on_stale, sizeof address);
    return cell != TN__IMAGE_NO_CELL && image->stale[cell] == TN__STALE_AGAIN ? image->again[cell] : address;
}

/* Cells of a file are zero. An image that is linked in may have been open before, with other images. A word that was
 * stored to never becomes zero again (redirect.c). */
__attribute__((cold)) void tn__image_lead_stale(const struct tn_image *image)
{
    const struct tn__image_view *view = &image->view;
    uint32_t last = UINT32_MAX;
    if (image->file && !image->stale)
        return;
    for (uint32_t i = 0; i < view->tables[TN__IMAGE_RELIANCE_TABLE].count; i++) {
        uint32_t cell = tn__get32(tn__image_row(&view->tables[TN__IMAGE_RELIANCE_TABLE], i) + TN__IMAGE_RELIANCE_CELL);
        uint8_t *cells = tn__image_place(view, view->cells_at);
        uintptr_t *word = (uintptr_t *)(void *)(cells + TN__IMAGE_CELL * (size_t)cell);
        bool is_stale = image->stale && image->stale[cell];
        if (cell != last && (is_stale || __atomic_load_n(word, __ATOMIC_RELAXED)))
            __atomic_store_n(word, (uintptr_t)tn__image_own_target(image, tn__image_cell_function(view, cell)),
                             __ATOMIC_RELEASE);
        last = cell;
    }
}
