/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Programs: a stub and an image that was laid out behind it become one file, which the kernel maps as a whole. What the
 * stub has to do when it starts, it learns from a struct of its own (image/format/program.h). */

#include "image/write/elf.h"

#define FAIL(f, code, ...) tn__fail((f)->err, code, __VA_ARGS__)

/* Whether the image has words for the addresses of saved objects. */
static bool uses_objects(const struct tn__elf_file *f)
{
    const char *image = f->options->image ? f->options->image : "tn_image";
    size_t length = strlen(image);
    for (size_t i = 0; i < f->output->symbol_count; i++) {
        const char *name = f->output->symbols[i].name;
        if (strncmp(name, image, length) == 0 && strcmp(name + length, ".values") == 0)
            return true;
    }
    return false;
}

static bool offers(const struct tn__stub *stub, const char *name)
{
    for (size_t i = 0; i < stub->symbol_count; i++)
        if (strcmp(stub->definitions[i].name, name) == 0)
            return true;
    return false;
}

/* What the image needs and the stub does not have, all of it. */
static int check_imports(const struct tn__elf_file *f)
{
    bool missing = false;
    for (size_t i = 0; i < f->output->import_count; i++) {
        const struct tn__output_import *import = &f->output->imports[i];
        if (import->weak)
            continue;
        if (missing)
            tn__append(f->err, ", %s", import->name);
        else
            FAIL(f, TN_EUNDEF, "nothing that a program comes with has %s", import->name);
        missing = true;
    }
    return missing ? TN_EUNDEF : 0;
}

static const struct tn__output_symbol *find_symbol(const struct tn__elf_file *f, const char *name)
{
    for (size_t i = f->output->local_count; i < f->output->symbol_count; i++)
        if (strcmp(f->output->symbols[i].name, name) == 0)
            return &f->output->symbols[i];
    return NULL;
}

/* Programs have one block of thread-local data: if the image has some, it lies in the image, with the stub's at the end
 * that is next to the thread pointer. There, the distance of a beginning from the thread pointer depends on its
 * alignment, and the stub's code has this distance in it. */
static int join_tls(const struct tn__elf_file *f)
{
    const struct tn__output *output = f->output;
    bool above = f->stub->arch->tls_above;
    uint64_t size = tn__stub_tls_size(f->stub);
    size_t found = output->section_count;
    for (size_t i = 0; i < output->section_count; i++)
        if (output->sections[i].tls && (!above || found == output->section_count))
            found = i;
    if (found == output->section_count || !size)
        return 0;
    if (above && output->tls_alignment > f->stub->tls.p_align)
        return FAIL(f, TN_ENOTSUP, "a program has thread-local data aligned to %llu bytes; at most %llu are supported",
                    (unsigned long long)output->tls_alignment, (unsigned long long)f->stub->tls.p_align);
    const struct tn__output_section *section = &output->sections[found];
    uint64_t at = above ? 0 : output->tls_size - size, in_section = above ? 0 : section->size - size;
    tn__stub_move_tls(f->stub, output->tls_address, at, section->bytes ? section->bytes + in_section : NULL,
                      f->section_numbers[found]);
    return 0;
}

/* ---- what the stub learns ---- */

static struct tn__program_part section_part(const struct tn__elf_file *f, const char *name)
{
    const struct tn__output_section *section = tn__output_find(f->output, name);
    return section ? (struct tn__program_part){section->address, section->size} : (struct tn__program_part){0, 0};
}

static struct tn__program_part calls_part(const struct tn__elf_file *f, enum tn__output_kind kind)
{
    for (size_t i = 0; i < f->output->section_count; i++)
        if (f->output->sections[i].kind == kind)
            return (struct tn__program_part){f->output->sections[i].address, f->output->sections[i].size};
    return (struct tn__program_part){0, 0};
}

static void fill_program(const struct tn__elf_file *f, const struct tn__output_symbol *image,
                         const struct tn__output_symbol *main)
{
    const struct tn__output *output = f->output;
    const struct tn__output_segment *segments = output->segments, *data = &segments[TN__OUTPUT_DATA];
    const struct tn__output_segment *code = &segments[TN__OUTPUT_CODE], *relro = &segments[TN__OUTPUT_RELRO];
    const struct tn__elf_section *relr = &f->tables[TN__ELF_RELR];
    const struct tn__program program = {
        .image = image->value,
        .main = main->value,
        .relr = {relr->address, relr->size},
        .relro = {relro->address, relro->size},
        .init = calls_part(f, TN__OUTPUT_INIT),
        .fini = calls_part(f, TN__OUTPUT_FINI),
        .code = {code->address, code->size},
        .data = {relro->address, data->address + data->size - relro->address},
        .maps = section_part(f, "tenon_maps"),
        .roots = section_part(f, "tenon_roots"),
        .restore = section_part(f, "tenon_restore"),
        .uses_objects = uses_objects(f),
    };
    memcpy(f->stub->program, &program, sizeof program);
}

int tn__program_settle(struct tn__elf_file *f)
{
    const char *name = f->options->image ? f->options->image : "tn_image";
    const struct tn__output_symbol *image = find_symbol(f, name), *main = find_symbol(f, "main");
    if (f->stub->arch != f->output->arch)
        return FAIL(f, TN_EINVAL, "the stub is for %s, the image for %s", f->stub->arch->name, f->output->arch->name);
    int code = check_imports(f);
    if (code)
        return code;
    if (uses_objects(f) && !offers(f->stub, "tn_image_root"))
        return FAIL(f, TN_EUNDEF, "nothing that a program comes with opens saved objects");
    if (!image)
        return FAIL(f, TN_EUNDEF, "there is no image with the symbol %s to make a program of", name);
    if (!main || main->local) /* hidden, with -fvisibility=hidden */
        return FAIL(f, TN_EUNDEF, "a program needs a function 'main' that is not static");
    fill_program(f, image, main);
    return join_tls(f);
}
