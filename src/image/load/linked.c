/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Images that are part of the program. Their places come from the linker and are trusted like the program itself;
 * header and tables are checked as in a file. */

#include "image/load/image.h"

/* With a heap, it is freed when it was closed and the heap has ended. */
static void leave(struct tn_image *image)
{
    if (!__atomic_sub_fetch(&image->users, 1, __ATOMIC_ACQ_REL))
        tn__image_free(image);
}

static int open_image(struct tn_image *image, const void *header, const struct tn_image_load_options *options,
                      struct tn_error *err)
{
    const char *name = "image";
    int code = tn__image_read(name, header, INT32_MAX, &image->arena, &image->view, err);
    if (code != TN_OK)
        return code;
    name = tn__image_name(&image->view);
    code = tn__image_choose(image, name, options, err);
    if (code == TN_OK)
        code = tn__image_check_dependencies(image, name, options, err);
    if (code == TN_OK)
        code = tn__image_open_heap(image, options, err);
    if (code == TN_OK)
        code = tn__image_fill_values(image, name, options, err);
    if (code != TN_OK)
        return code;
    tn__image_fill_slots(image);
    if (image->heap && options->heaps->settle)
        code = options->heaps->settle(image, options, err);
    return code == TN_OK && image->heap ? options->heaps->restore(image, options, err) : code;
}

int tn_image_open_linked(const void *header, const struct tn_image_load_options *given, struct tn_image **out,
                         struct tn_error *err)
{
    struct tn_image_load_options options;
    struct tn_image *image;
    if (!header || !out)
        return tn__no_argument(err);
    *out = NULL;
    int code = tn__image_new("image", given, &options, &image, err);
    if (code != TN_OK)
        return code;
    image->users = 2;
    image->leave = leave;
    code = open_image(image, header, &options, err);
    if (code == TN_OK) {
        image->unload = image->heap ? leave : NULL;
        *out = image;
        return TN_OK;
    }
    if (!image->heap || options.heaps->close(image))
        leave(image);
    leave(image);
    return code;
}
