/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What tenon build --kind makes of the archive with the image. */

#include <stdlib.h>
#include <string.h>

#include "cmd/build_image.h"
#include "link/arch/reloc.h"
#include "link/model/object.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(path, "-") == 0 ? NULL : slash ? slash + 1 : path;
}

/* The largest that Linux has on the machine; 0: the usual one. */
static uint64_t page_size_for(const struct tn_format *const *formats)
{
    const struct tn__arch *arch = formats ? (*formats)->arch : tn__arch_host;
    return arch == &tn__arch_aarch64 ? 64 << 10 : 0;
}

/* Returns a code of enum tn_code. */
static int link_file(struct job *job, enum tn_image_file kind, const struct tn_buffer *stub, struct tn_error *err)
{
    struct tn_buffer *archive = &job->out[TN_IMAGE_OBJECTS], file;
    const struct tn_format *const *formats = tool_formats_in(archive->data, archive->size);
    const struct tn_image_link_options options = {.size = sizeof options,
                                                  .name = base_name(job->settings->output),
                                                  .kind = kind,
                                                  .stub = stub ? stub->data : NULL,
                                                  .stub_length = stub ? stub->size : 0,
                                                  .image = job->settings->image_name,
                                                  .page_size = page_size_for(formats),
                                                  .formats = formats};
    job->objects[0] = (struct tn_input){
        .size = sizeof *job->objects, .name = "image", .bytes = archive->data, .length = archive->size};
    tool_outlive_limit(true); /* a file in memory is one as well */
    int code = tn_image_link(job->objects, job->object_count, &options, &file, err);
    tool_outlive_limit(false);
    if (code)
        return code;
    tn_buffer_free(archive);
    *archive = file;
    return 0;
}

static bool link_library(struct job *job, enum tn_image_file kind)
{
    struct tn_error err;
    int code = link_file(job, kind, NULL, &err);
    if (code)
        tool_fail(STATUS_FAILURE, "%s", err.text);
    if (code == TN_EUNDEF)
        tool_fail(STATUS_FAILURE, "hidden symbols are not looked for when a file is loaded; managed code that is "
                                  "compiled with -fPIC has none");
    return !code;
}

/* With the smallest stub that has what the program needs. */
static bool link_program(struct job *job)
{
    struct tn_error err = {.text = "this tenon was built without stubs of executables"};
    int code = TN_EUNDEF;
    bool there = true;
    for (size_t i = 0; code == TN_EUNDEF && there && tool_has_stub(job->settings, i); i++) {
        struct tn_buffer stub;
        there = tool_unfold_stub(job->settings, i, &stub);
        code = there ? link_file(job, TN_IMAGE_PROGRAM, &stub, &err) : code;
        free(stub.data);
    }
    if (!there)
        return false;
    if (code)
        tool_fail(STATUS_FAILURE, "%s", err.text);
    if (code == TN_EUNDEF)
        tool_fail(STATUS_FAILURE, "what an executable cannot have, the system's linker may: build --kind=archive, and "
                                  "link that");
    return !code;
}

bool tool_make_file(struct job *job)
{
    switch (job->settings->kind) {
    case KIND_SHARED:
        return link_library(job, TN_IMAGE_SHARED);
    case KIND_IMAGE:
        return link_library(job, TN_IMAGE_LOADABLE);
    case KIND_EXE:
        return link_program(job);
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
