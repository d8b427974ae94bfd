/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tn_image_link: objects to a shared library, without a linker of the system. */

#include "codegen/codegen.h"
#include "codegen/image/elf.h"

static int check(const struct tn_image_link_options *options, struct tn_error *err)
{
    uint64_t page = options->page_size;
    if (options->kind != TN_IMAGE_SHARED && options->kind != TN_IMAGE_LOADABLE)
        return tn__fail(err, TN_EINVAL, "unknown kind of file %d", (int)options->kind);
    if (page && (page < 4096 || page > 1 << 20 || page & (page - 1)))
        return tn__fail(err, TN_EINVAL, "pages of %llu bytes; they may have 4096 to 1 MiB, powers of two",
                        (unsigned long long)page);
    return TN_OK;
}

int tn_image_link(const struct tn_input *inputs, size_t count, const struct tn_image_link_options *given,
                  struct tn_buffer *out, struct tn_error *err)
{
    if (!out || (count && !inputs))
        return tn__fail(err, TN_EINVAL, "nothing to link, or nowhere to write it");
    struct tn_image_link_options options;
    *out = (struct tn_buffer){0};
    int code = tn__take_options(&options, sizeof options, given, "struct tn_image_link_options", err);
    if (code == TN_OK)
        code = check(&options, err);
    if (code != TN_OK)
        return code;
    struct tn__elf_file file = {.options = &options, .err = err};
    struct tn__output *output = NULL;
    const struct tn__output_options how = {
        .name = options.name ? options.name : "image",
        .page_size = (size_t)options.page_size,
        .head = tn__elf_head,
        .context = &file,
        .relro_room = options.kind == TN_IMAGE_SHARED ? TN__ELF_DYNAMIC_SIZE : 0,
    };
    code = tn__output_link(&how, inputs, count, &output, err);
    file.output = output;
    if (code == TN_OK)
        code = tn__elf_fill_tables(&file);
    if (code == TN_OK)
        code = tn__elf_write(&file, out);
    tn__arena_free(&file.arena);
    tn__output_free(output);
    return code;
}
