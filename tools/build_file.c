/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What tenon build --kind makes of the archive with the image. */

#include <stdlib.h>
#include <string.h>

#include "build_image.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(path, "-") == 0 ? NULL : slash ? slash + 1 : path;
}

static bool link_file(struct job *job, enum tn_image_file kind)
{
    struct tn_buffer *archive = &job->out[TN_IMAGE_OBJECTS], file;
    const struct tn_image_link_options options = {
        .size = sizeof options, .name = base_name(job->settings->output), .kind = kind};
    struct tn_error err;
    job->objects[0] = (struct tn_input){
        .size = sizeof *job->objects, .name = "image", .bytes = archive->data, .length = archive->size};
    if (tn_image_link(job->objects, job->object_count, &options, &file, &err))
        return tool_fail(STATUS_FAILURE, "%s", err.text), false;
    tn_buffer_free(archive);
    *archive = file;
    return true;
}

bool tool_make_file(struct job *job)
{
    switch (job->settings->kind) {
    case KIND_SHARED:
        return link_file(job, TN_IMAGE_SHARED);
    case KIND_IMAGE:
        return link_file(job, TN_IMAGE_LOADABLE);
    default:
        return true;
    }
}

bool tool_check_kind(const struct job *job)
{
    if (job->settings->kind == KIND_ARCHIVE || job->options.outputs >> TN_IMAGE_OBJECTS & 1)
        return true;
    tool_fail(STATUS_USAGE, "a file is made of objects: with --kind, --emit has to have obj among others");
    return false;
}

bool tool_take_object(struct job *job, const struct file *file)
{
    if (job->settings->kind == KIND_ARCHIVE)
        return tool_fail(STATUS_FAILURE, "'%s' is %s, not LLVM IR; give it to the linker together with the image",
                         file->name, tool_kind_name(file)),
               false;
    job->objects[job->object_count++] =
        (struct tn_input){.size = sizeof *job->objects, .name = file->name, .bytes = file->bytes, .length = file->size};
    return true;
}
