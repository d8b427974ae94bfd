/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The stub that a program begins with (tools/stub), as its writer sees it (stub.c). */

#ifndef TENON_IMAGE_STUB_H
#define TENON_IMAGE_STUB_H

#include "image/write/elf.h"
#include "image/format/program.h"

#pragma GCC visibility push(hidden)

enum { TN__STUB_SEGMENTS = 24 };

struct tn__stub {
    uint8_t *bytes; /* a copy, which is changed */
    Elf64_Ehdr header;
    Elf64_Phdr segments[TN__STUB_SEGMENTS], tls;
    size_t segment_count, room;       /* room: spare program headers */
    struct tn__elf_section *sections; /* those that are loaded; [i] has number i + 1 */
    size_t section_count;
    struct tn_definition *definitions; /* the symbols that it offers, */
    Elf64_Sym *symbols;                /* and the same as ELF symbols */
    size_t symbol_count;
    uint8_t *program;                 /* where its struct tn__program is */
    uint64_t end_address, end_offset; /* of its segments, in memory and in the file */
};

/* The distance of its thread-local data from the thread pointer, which comes after it. */
static inline uint64_t tn__stub_tls_size(const struct tn__stub *stub)
{
    return tn__align_up(stub->tls.p_memsz, stub->tls.p_align);
}

/* Reads a copy of a stub. TN_EFORMAT, TN_ENOMEM. */
int tn__stub_read(const char *name, const void *bytes, size_t size, struct tn__arena *arena, struct tn__stub *stub,
                  struct tn_error *err);

/* Makes its thread-local data the end of the program's, which begins at `address`: initial values are copied, their
 * relocations apply to the copy, and symbols belong to the section with this number. The data begins at `offset` in the
 * program's; `values` is that place among the bytes of the file (NULL: all are zeros). */
void tn__stub_move_tls(struct tn__stub *stub, uint64_t address, uint64_t offset, uint8_t *values, uint32_t section);

#pragma GCC visibility pop
#endif
