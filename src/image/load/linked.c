/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Images that are part of the program. Their places come from the linker and are trusted like the program itself;
 * header and tables are checked as in a file. */

#include "image/load/image.h"

int tn_image_open_linked(const void *header, const struct tn_image_load_options *given, struct tn_image **out,
                         struct tn_error *err)
{
    const char *name = "image";
    struct tn_image_load_options options;
    struct tn_image *image;
    if (!header || !out)
        return tn__no_argument(err);
    *out = NULL;
    int code = tn__image_new(name, given, &options, &image, err);
    if (code != TN_OK)
        return code;
    code = tn__image_read(name, header, INT32_MAX, &image->arena, &image->view, err);
    if (code == TN_OK) {
        name = tn__image_name(&image->view);
        code = tn__image_choose(image, name, &options, err);
    }
    if (code == TN_OK && image->view.tables[TN__IMAGE_ZONE_TABLE].rows)
        code = tn__fail(err, TN_ENOTSUP, "%s: it has saved objects, and is no file", name);
    if (code == TN_OK)
        code = tn__image_check_dependencies(image, name, &options, err);
    if (code == TN_OK)
        code = tn__image_fill_values(image, name, &options, err);
    if (code != TN_OK) {
        tn_image_close(image);
        return code;
    }
    tn__image_fill_slots(image);
    *out = image;
    return TN_OK;
}
