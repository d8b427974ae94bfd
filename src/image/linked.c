/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Images that are part of the program. Their places are the linker's work and trusted like the program itself; header and
 * tables are checked like any other's. */

#include "image/image.h"

int tn_image_open_linked(const void *header, const struct tn_image_load_options *given, struct tn_image **out,
                         struct tn_error *err)
{
    static const char name[] = "image";
    struct tn_image_load_options options;
    *out = NULL;
    int code = tn__take_options(&options, sizeof options, given, "struct tn_image_load_options", err);
    if (code != TN_OK)
        return code;
    struct tn_image *image = tn__alloc_zeroed(NULL, sizeof *image, 1);
    if (!image)
        return tn__fail(err, TN_ENOMEM, "%s: out of memory", name);
    code = tn__image_read(name, header, INT32_MAX, &image->arena, &image->view, err);
    if (code == TN_OK)
        code = tn__image_choose(image, name, &options, err);
    if (code != TN_OK) {
        tn__arena_free(&image->arena);
        tn__free(NULL, image);
        return code;
    }
    tn__image_fill_slots(image);
    *out = image;
    return TN_OK;
}
