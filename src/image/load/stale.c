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

int tn__image_find_stale(const struct tn__image_opening *o, uint32_t dependency, const struct tn_image *other,
                         bool is_tolerant)
{
    struct tn_image *image = o->image;
    const struct tn__image_view *view = &image->view;
    const char *name = tn__image_label(image);
    struct tn_error *err = is_tolerant ? NULL : o->err;
    for (uint32_t i = 0; i < view->tables[TN__IMAGE_RELIANCE_TABLE].count; i++) {
        struct reliance reliance;
        if (!read_reliance(view, i, &reliance))
            return tn__fail(o->err, TN_EFORMAT, "%s: reliance %u is wrong", name, i);
        if (reliance.item.dependency != dependency ||
            tn__image_compare_item(name, &reliance.item, &other->view, err) == 0)
            continue;
        if (!is_tolerant) {
            uint32_t function = tn__image_cell_function(view, reliance.cell);
            tn__append(err, "; '%s' is stale", tn__image_function_name(view, function));
            return TN_ESTALE;
        }
        if (!image->stale)
            image->stale =
                tn__arena_array(&image->arena, view->tables[TN__IMAGE_CELL_TABLE].count, sizeof *image->stale);
        if (!image->stale)
            return tn__no_memory(o->err, name);
        image->stale[reliance.cell] = true;
        image->on_stale = o->options->on_stale;
    }
    return 0;
}

void *tn__image_own_target(const struct tn_image *image, uint32_t function)
{
    const struct tn__image_view *view = &image->view;
    uint32_t cell = image->stale ? tn__image_cell(view, function) : TN__IMAGE_NO_CELL;
    void *address = tn__image_place(view, tn__image_version(view, function, image->chosen));
    if (cell != TN__IMAGE_NO_CELL && image->stale[cell])
        memcpy(&address, &image->on_stale, sizeof address);
    return address;
}

/* An image that is linked in may have been open before, with other images. A word that was stored to never becomes zero
 * again (redirect.c). */
void tn__image_lead_stale(const struct tn_image *image)
{
    const struct tn__image_view *view = &image->view;
    uint32_t last = UINT32_MAX;
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
