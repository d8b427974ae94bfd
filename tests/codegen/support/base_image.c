/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "base_image.h"
#include "image/load/image.h"
#include "support.h"

struct tn_buffer link_archive(const struct tn_buffer *archive)
{
    struct tn_image_link_options how = {.size = sizeof how, .kind = TN_IMAGE_LOADABLE};
    struct tn_input input = {.size = sizeof input, .name = "image", .bytes = archive->data, .length = archive->size};
    struct tn_buffer file;
    struct tn_error err;
    if (tn_image_link(&input, 1, &how, &file, &err))
        fail_msg("%s", err.text);
    return file;
}

struct tn_buffer build_file(const struct tn_image_input *input, const struct tn_image_options *how)
{
    struct tn_buffer out[TN_IMAGE_OUTPUTS];
    struct tn_error err;
    if (tn_image_build(input, 1, how, out, NULL, &err))
        fail_msg("%s", err.text);
    struct tn_buffer file = link_archive(out);
    tn_buffer_free(out);
    return file;
}

struct tn_image *open_base(const char *ir, size_t length)
{
    struct tn_image_options how = {.size = sizeof how, .name = "base"};
    struct tn_buffer file = build_file(&(struct tn_image_input){"base.ll", ir, length}, &how);
    struct tn_image *image;
    struct tn_error err;
    if (tn_image_open_memory("base", file.data, file.size, NULL, &image, &err))
        fail_msg("%s", err.text);
    tn_buffer_free(&file);
    return image;
}

void depend_on(struct tn_image_dependency *dependency, const struct tn_image *image)
{
    dependency->header = image->view.header;
    dependency->header_size = image->view.size;
    memcpy(dependency->build_id, tn_image_build_id(image), sizeof dependency->build_id);
}
