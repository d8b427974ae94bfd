/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Writing ELF shared libraries and executables from links laid out as files (link/output.h):
 *     link.c        tn_image_link
 *     elf_tables.c  what dynamic linkers read: symbols, hash table, relocations, dynamic section (gABI, chapter 5)
 *     elf_write.c   segments, sections and symbols (link/format/elf/writer.h)
 *     stub.c        the stub that an executable begins with (tools/stub)
 *     program.c     what an executable is told of its image
 *     startup.c     an object with what a compiler's driver adds to each library
 *     saved.c       saved objects that become part of an image with code (saved.h) */

#ifndef TENON_IMAGE_ELF_H
#define TENON_IMAGE_ELF_H

#include <elf.h>

#include "image/format/program.h"
#include "link/arch/reloc.h"
#include "link/file/output.h"
#include "link/format/elf/writer.h"
#include "tenon_image.h"

#pragma GCC visibility push(hidden)

/* Sections that are made for the file, in the order in which they lie at its beginning, after the headers. */
enum tn__elf_table {
    TN__ELF_HASH,
    TN__ELF_SYMBOLS,
    TN__ELF_STRINGS,
    TN__ELF_RELA,
    TN__ELF_RELR,
    TN__ELF_DYNAMIC,
    TN__ELF_BUILD_ID,
    TN__ELF_TABLES
};

enum { TN__ELF_DYNAMIC_MOST = 24, TN__ELF_SEGMENTS_MOST = 32, TN__ELF_ID = 16, TN__ELF_PAGE = 4096 };

#define TN__ELF_DYNAMIC_SIZE (TN__ELF_DYNAMIC_MOST * sizeof(Elf64_Dyn))

/* ---- stub.c ---- */

enum { TN__STUB_SEGMENTS = 24 };

struct tn__stub {
    uint8_t *bytes; /* a copy, which is changed */
    Elf64_Ehdr header;
    const struct tn__arch *arch;
    Elf64_Phdr segments[TN__STUB_SEGMENTS], tls;
    size_t segment_count, space;      /* space: spare program headers */
    struct tn__elf_section *sections; /* those that are loaded; [i] has number i + 1 */
    size_t section_count;
    struct tn_definition *definitions; /* the symbols that it offers, */
    Elf64_Sym *symbols;                /* and the same as ELF symbols */
    size_t symbol_count;
    uint8_t *program;                 /* where its struct tn__program is */
    uint64_t end_address, end_offset; /* of its segments, in memory and in the file */
};

/* How much its thread-local data takes. */
static inline uint64_t tn__stub_tls_size(const struct tn__stub *stub)
{
    return tn__align_up(stub->tls.p_memsz, stub->tls.p_align);
}

/* Reads a copy of a stub. TN_EFORMAT, TN_ENOMEM. */
int tn__stub_read(const char *name, const void *bytes, size_t size, struct tn__arena *arena, struct tn__stub *stub,
                  struct tn_error *err);

/* Makes its thread-local data a part of the program's, which begins at `address`: initial values are copied, their
 * relocations apply to the copy, and symbols belong to the section with this number. The data begins at `offset` in the
 * program's; `values` is that place among the bytes of the file (NULL: all are zeros). */
void tn__stub_move_tls(struct tn__stub *stub, uint64_t address, uint64_t offset, uint8_t *values, uint32_t section);

/* ---- the file ---- */

/* What an input says about its managed code, while it is examined. */
struct tn__elf_managed {
    bool any;
    const uint8_t *abi;
    uint64_t abi_size;
};

struct tn__elf_file {
    const struct tn_image_link_options *options;
    struct tn__stub *stub; /* of an executable, which has no tables but RELR; else NULL */
    const struct tn__output *output;
    struct tn__elf_section tables[TN__ELF_TABLES]; /* size 0: there is none */
    uint32_t table_numbers[TN__ELF_TABLES];        /* of their section headers, */
    uint32_t *section_numbers;                     /* and of those of the output's sections */
    Elf64_Phdr segments[TN__ELF_SEGMENTS_MOST];
    size_t segment_count;
    size_t rela_count, export_count;
    const struct tn__output_symbol **exports; /* in the order of the hash table */
    uint32_t buckets, bloom_words;
    struct tn__elf_managed managed;
    struct tn__arena arena;
    struct tn_error *err;
};

/* ---- elf_tables.c ---- */

/* The size of headers and tables at the beginning of the file, for tn__output_options.head. The context is the
 * struct. */
uint64_t tn__elf_head(void *context, const struct tn__output *output);
/* Fills the tables, when the link is done. TN_ENOMEM. */
int tn__elf_fill_tables(struct tn__elf_file *file);
/* The number of a symbol's section header. */
uint16_t tn__elf_section_number(const struct tn__elf_file *file, const struct tn__output_symbol *symbol);
Elf64_Sym tn__elf_symbol(const struct tn__elf_file *file, const struct tn__output_symbol *symbol);

/* ---- startup.c ---- */

/* The object that a library of these inputs has besides, in memory of the arena, to be linked last; without bytes:
 * none. TN_ENOMEM. */
int tn__startup_object(const struct tn_input *inputs, size_t count, struct tn__arena *arena, struct tn_input *input,
                       struct tn_error *err);

/* ---- program.c ---- */

/* Checks what was linked for a stub, and fills in the stub's struct tn__program. TN_EUNDEF. */
int tn__program_settle(struct tn__elf_file *file);

/* ---- elf_write.c ---- */

/* Lists the segments; their number is final even before addresses are known. */
void tn__elf_list_segments(struct tn__elf_file *file);
/* Makes the bytes of the file. TN_ENOMEM, TN_ENOTSUP; TN_EIO: it may not be as large as that. */
int tn__elf_write_file(struct tn__elf_file *file, struct tn_buffer *out);

#pragma GCC visibility pop
#endif
