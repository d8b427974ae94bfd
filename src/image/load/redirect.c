/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions of open images that lead elsewhere (doc/REDIRECT.md). The entry of a replaceable function jumps through the
 * word of its cell unless that is zero. A word that was stored to never becomes zero again: on x86-64, entries read it
 * twice. Nothing but words is written, and no lock is held: threads may call the functions all the time. */

#include "image/load/image.h"

static uint64_t *word_of(const struct tn_image *image, uint32_t cell)
{
    uint8_t *cells = tn__image_place(&image->view, image->view.cells_at);
    return (uint64_t *)(void *)(cells + TN__IMAGE_CELL * (size_t)cell);
}

/* The cell whose entry has this address, or TN__IMAGE_NO_CELL. */
static uint32_t cell_at(const struct tn_image *image, uint64_t address)
{
    const struct tn__image_view *view = &image->view;
    uint32_t count = view->tables[TN__IMAGE_CELL_TABLE].count;
    for (uint32_t cell = 0; cell < count; cell++)
        if ((uintptr_t)tn__image_place(view, view->cells_at + 1 + cell) == address)
            return cell;
    return TN__IMAGE_NO_CELL;
}

/* Whether a call that goes on at the address comes to the cell, perhaps through others of the image. Other threads may
 * lead these elsewhere meanwhile, even in a circle for a moment, so the steps are bounded. */
static bool leads_to(const struct tn_image *image, uint64_t address, uint32_t cell)
{
    for (uint32_t left = image->view.tables[TN__IMAGE_CELL_TABLE].count + 1; left && address; left--) {
        uint32_t next = cell_at(image, address);
        if (next == cell || next == TN__IMAGE_NO_CELL)
            return next == cell;
        address = __atomic_load_n(word_of(image, next), __ATOMIC_SEQ_CST);
    }
    return address;
}

/* Of two threads that close a circle together, at least one sees it after its store, and takes that back. */
static bool lead(const struct tn_image *image, uint32_t cell, uint64_t address)
{
    uint64_t *word = word_of(image, cell), stored = address;
    if (leads_to(image, address, cell))
        return false;
    uint64_t before = __atomic_exchange_n(word, address, __ATOMIC_SEQ_CST);
    return !leads_to(image, address, cell) ||
           !__atomic_compare_exchange_n(word, &stored, before, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

int tn_image_redirect(struct tn_image *image, const char *name, const void *address, struct tn_error *err)
{
    if (!image || !name)
        return tn__no_argument(err);
    const struct tn__image_view *view = &image->view;
    uint32_t function = tn__image_find_function(image, name);
    if (function == UINT32_MAX)
        return tn__fail(err, TN_EUNDEF, "'%s' is not a public function of image %s", name, tn__image_name(view));
    uint32_t cell = tn__image_cell(view, function);
    if (cell == TN__IMAGE_NO_CELL)
        return tn__fail(err, TN_ENOTSUP, "'%s' of image %s was built with direct calls; --replaceable", name,
                        tn__image_name(view));
    const void *to = address ? address : tn__image_place(view, tn__image_version(view, function, image->chosen));
    return lead(image, cell, (uintptr_t)to) ? 0 : tn__fail(err, TN_EINVAL, "'%s' would lead to itself", name);
}
