/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Names that an executable needs and cannot have. Executables begin with a stub around musl, while front ends read
 * glibc's headers, whose macros and inline functions call functions of glibc alone. That is known as soon as the input
 * is read, seconds before the linker can say it. It is a warning only, because optimisation removes some of these
 * calls. */

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/build_image.h"
#include "lib/elf_file.h"

struct offer {
    struct tn_buffer bytes;
    Elf *elf;
    const Elf64_Sym *symbols;
    size_t count, strings; /* strings: the section with their names */
    FILE *missing;
    char *text;
    size_t length;
};

static bool has_symbol(const struct offer *offer, const char *wanted)
{
    for (size_t i = 0; i < offer->count; i++) {
        const Elf64_Sym *symbol = &offer->symbols[i];
        const char *name = elf_strptr(offer->elf, offer->strings, symbol->st_name);
        if (symbol->st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL && name &&
            !strcmp(name, wanted))
            return true;
    }
    return false;
}

static void note_undefined(void *context, const char *name)
{
    struct offer *offer = ((struct job *)context)->offer;
    if (!has_symbol(offer, name))
        fprintf(offer->missing, "%s %s", ftell(offer->missing) ? "," : "", name);
}

static bool read_symbols(struct offer *offer)
{
    const struct file file = {
        .name = "the stub", .bytes = offer->bytes.data, .size = offer->bytes.size, .kind = FILE_OBJECT};
    offer->elf = tool_elf_open(&file);
    Elf_Scn *section = offer->elf ? tool_elf_next(offer->elf, NULL, SHT_SYMTAB) : NULL;
    const Elf64_Shdr *header = section ? elf64_getshdr(section) : NULL;
    Elf_Data *data = header ? elf_getdata(section, NULL) : NULL;
    if (!data)
        return false;
    offer->symbols = data->d_buf;
    offer->count = data->d_size / sizeof *offer->symbols;
    offer->strings = header->sh_link;
    return true;
}

/* The last stub has all that the others have. Other objects among the inputs may define anything. */
bool tool_expect_stub(struct job *job)
{
    size_t last = 0;
    if (job->settings->kind != KIND_EXE || job->object_count > 1 || !tool_has_stub(job->settings, 0))
        return true;
    while (tool_has_stub(job->settings, last + 1))
        last++;
    struct offer *offer = job->offer = calloc(1, sizeof *offer);
    if (!offer || !(offer->missing = open_memstream(&offer->text, &offer->length)))
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    if (!tool_unfold_stub(job->settings, last, &offer->bytes))
        return false;
    if (read_symbols(offer))
        job->options.undefined = note_undefined;
    return job->options.undefined;
}

void tool_warn_undefined(const struct job *job)
{
    struct offer *offer = job->offer;
    if (!offer || fflush(offer->missing) != 0 || !offer->length)
        return;
    tool_fail(STATUS_OK, "warning: unless optimisation removes them, an executable lacks:%s", offer->text);
    if (strstr(offer->text, " __"))
        tool_fail(STATUS_OK,
                  "warning: it contains musl; names that begin with __ come from glibc's headers: compile with "
                  "-U_FORTIFY_SOURCE, or against musl's headers (-nostdlibinc -isystem "
                  "/usr/include/x86_64-linux-musl)");
}

void tool_free_offer(struct job *job)
{
    struct offer *offer = job->offer;
    if (!offer)
        return;
    if (offer->missing)
        fclose(offer->missing);
    elf_end(offer->elf);
    free(offer->text);
    free(offer->bytes.data);
    free(offer);
}
