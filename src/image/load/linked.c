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

static const struct tn__image_phase phases[] = {
    {tn__image_choose},      {tn__image_check_dependencies}, {tn__image_open_heap},
    {tn__image_fill_values}, {tn__image_fill_slots},         {tn__image_settle},
    {tn__image_restore},
};

int tn_image_open_linked(const void *header, const struct tn_image_load_options *given, struct tn_image **out,
                         struct tn_error *err)
{
    struct tn_image_load_options options;
    struct tn_image *image;
    if (!header || !out)
        return tn__no_argument(err);
    *out = NULL;
    int code = tn__image_new("image", given, &options, &image, err);
    if (code)
        return code;
    image->users = 2;
    image->leave = leave;
    code = tn__image_read("image", header, INT32_MAX, &image->arena, &image->view, err);
    if (!code)
        code = tn__image_run(phases, TN_COUNT(phases), &(struct tn__image_opening){image, &options, err});
    if (!code) {
        image->unload = image->heap ? leave : NULL;
        *out = image;
        return 0;
    }
    if (!image->heap || options.heaps->close(image))
        leave(image);
    leave(image);
    return code;
}
