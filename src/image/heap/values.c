/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Types and saved objects that code of images uses: their addresses, in an array of the image that its code reads. They
 * are those of the image's own heap, or else of the first image that it depends on and that has the name. */

#include "image/heap/heap.h"

#include "gc/collect/collect.h"

/* The address of the type, or of the root's object; NULL: the image has none. */
static const void *find(const struct tn_image *image, const char *name, uint32_t of)
{
    if (of == TN_IMAGE_VALUE_TYPE)
        return tn_image_type(image, name);
    void *const *root = tn__image_find_root(image, name);
    return root ? __atomic_load_n(root, __ATOMIC_ACQUIRE) : NULL;
}

static const void *find_anywhere(const struct tn_image *image, const char *name, uint32_t of,
                                 const struct tn_image_load_options *options)
{
    const void *found = tn__image_heap_of(image, options->heap) ? find(image, name, of) : NULL;
    for (uint32_t i = 0; i < image->view.tables[TN__IMAGE_DEPENDENCY_TABLE].count && !found; i++) {
        const struct tn_image *other = image->dependencies[i];
        if (tn__image_heap_of(other, options->heap))
            found = find(other, name, of);
    }
    return found;
}

int tn__image_heap_fill(const struct tn_image *image, const char *file, uint64_t *values,
                        const struct tn_image_load_options *options, struct tn_error *err)
{
    static const char *const kinds[] = {[TN_IMAGE_VALUE_TYPE] = "type", [TN_IMAGE_VALUE_ROOT] = "root"};
    const struct tn__image_rows *rows = &image->view.tables[TN__IMAGE_VALUE_TABLE];
    const struct tn__heap_parts *parts = options->heaps->parts;
    bool undefined = false;
    int code = parts ? parts->check_layouts(image, file, options, err) : 0;
    if (code)
        return code;
    for (uint32_t i = 0; i < rows->count; i++) {
        const uint8_t *row = tn__image_row(rows, i);
        const char *name = image->view.text + tn__get32(row + TN__IMAGE_VALUE_NAME);
        uint32_t of = tn__get32(row + TN__IMAGE_VALUE_OF);
        if (of >= TN_COUNT(kinds))
            return tn__fail(err, TN_EFORMAT, "%s: value %u: of kind %u", file, i, of);
        const void *found = find_anywhere(image, name, of, options);
        if (found && tn__is_in_heap(options->heap, found))
            return tn__fail(err, TN_ENOTSUP,
                            "%s: its code uses the root '%s', which has given way to an object that moves", file, name);
        if (!found && undefined)
            tn__append(err, ", %s '%s'", kinds[of], name);
        else if (!found)
            tn__fail(err, TN_EUNDEF, "%s: no image that it depends on has: %s '%s'", file, kinds[of], name);
        undefined |= !found;
        __atomic_store_n(&values[i], (uintptr_t)found, __ATOMIC_RELEASE);
    }
    return undefined ? TN_EUNDEF : 0;
}
