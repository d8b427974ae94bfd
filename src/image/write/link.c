/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tn_image_link: objects to a shared library or an executable, without a linker of the system. */

#include "base/managed_file.h"
#include "image/write/elf.h"

static int check_options(const struct tn_image_link_options *options, struct tn_error *err)
{
    uint64_t page = options->page_size;
    if (options->kind > TN_IMAGE_PROGRAM)
        return tn__fail(err, TN_EINVAL, "unknown kind of file %d", (int)options->kind);
    if (page && (page < 4096 || page > 1 << 20 || page & (page - 1)))
        return tn__fail(err, TN_EINVAL, "pages of %llu bytes; they may have 4096 to 1 MiB, powers of two",
                        (unsigned long long)page);
    if (options->kind == TN_IMAGE_PROGRAM && !options->stub)
        return tn__fail(err, TN_EINVAL, "a program needs a stub");
    return 0;
}

/* ---- the whole ---- */

/* Objects with managed code are all for the same runtime. */
static int inspect(void *context, const char *object, const char *section, const uint8_t *bytes, uint64_t size,
                   struct tn_error *err)
{
    struct tn__elf_managed *managed = &((struct tn__elf_file *)context)->managed;
    if (!section) {
        struct tn__elf_managed seen = *managed;
        *managed = (struct tn__elf_managed){0};
        return seen.any ? tn__managed_check_abi(object, seen.abi, seen.abi_size, err) : 0;
    }
    managed->any |= strncmp(section, "tenon_", 6) == 0;
    if (strcmp(section, "tenon_abi") == 0) {
        managed->abi = bytes;
        managed->abi_size = size;
    }
    return 0;
}

/* A program's image lies behind the stub. */
static int make(struct tn__elf_file *file, const struct tn_input *inputs, size_t count, struct tn__output **output)
{
    const struct tn_image_link_options *options = file->options;
    struct tn__output_options how = {
        .name = options->name ? options->name : "image",
        .page_size = (size_t)options->page_size,
        .head = tn__elf_head,
        .inspect = inspect,
        .formats = options->formats,
        .context = file,
    };
    how.indirect = options->kind == TN_IMAGE_SHARED && !file->stub;
    if (file->stub) {
        how.program = true;
        how.tls_space.size = tn__stub_tls_size(file->stub);
        how.tls_space.alignment = file->stub->tls.p_align;
        how.tls_space.has_values = file->stub->tls.p_filesz;
        how.address = file->stub->end_address;
        how.file_offset = tn__align_up(file->stub->end_offset, TN__ELF_PAGE);
        how.definitions = file->stub->definitions;
        how.definition_count = file->stub->symbol_count;
    }
    int code = tn__output_link(&how, inputs, count, output, file->err);
    file->output = *output;
    if (!code)
        code = tn__elf_fill_tables(file);
    return !code && file->stub ? tn__program_settle(file) : code;
}

static int link_all(struct tn_input *all, size_t count, const struct tn_image_link_options *options,
                    struct tn_buffer *out, struct tn_error *err)
{
    struct tn__elf_file file = {.options = options, .err = err};
    struct tn__output *output = NULL;
    struct tn__stub stub;
    int code = 0;
    if (options->kind == TN_IMAGE_PROGRAM) { /* where the C library sees to destructors */
        code = tn__stub_read("the stub", options->stub, options->stub_length, &file.arena, &stub, err);
        file.stub = &stub;
    } else {
        code = tn__startup_object(all, count, &file.arena, &all[count], err);
        count += all[count].bytes != NULL;
    }
    if (!code)
        code = make(&file, all, count, &output);
    if (!code)
        code = tn__elf_write_file(&file, out);
    tn__arena_free(&file.arena);
    tn__output_free(output);
    return code;
}

int tn_image_link(const struct tn_input *inputs, size_t count, const struct tn_image_link_options *given,
                  struct tn_buffer *out, struct tn_error *err)
{
    if (!out || (count && !inputs))
        return tn__fail(err, TN_EINVAL, "nothing to link, or nowhere to write it");
    struct tn_image_link_options options;
    *out = (struct tn_buffer){0};
    int code = tn__take_options(&options, sizeof options, given, "struct tn_image_link_options", err);
    if (!code)
        code = check_options(&options, err);
    for (size_t i = 0; i < count && !code; i++)
        if (inputs[i].size != sizeof *inputs || !inputs[i].bytes || !inputs[i].name)
            code = tn__fail(err, TN_EINVAL, "input %zu has no name or no bytes", i);
    if (code)
        return code;
    struct tn_input *all = tn__alloc_zeroed(NULL, count + 1, sizeof *all);
    if (!all)
        return tn__fail(err, TN_ENOMEM, "out of memory");
    if (count)
        memcpy(all, inputs, count * sizeof *all);
    code = link_all(all, count, &options, out, err);
    tn__free(NULL, all);
    return code;
}
