/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The stub that a program begins with (tools/stub), as its writer sees it (stub.c). */

#ifndef TENON_CODEGEN_IMAGE_STUB_H
#define TENON_CODEGEN_IMAGE_STUB_H

#include "codegen/image/elf.h"
#include "image/program.h"

#pragma GCC visibility push(hidden)

enum { TN__STUB_SEGMENTS = 24 };

struct tn__stub {
    uint8_t *bytes; /* a copy, which is changed */
    Elf64_Ehdr header;
    Elf64_Phdr segments[TN__STUB_SEGMENTS], tls;
    size_t segment_count, room;       /* how many more there may be */
    struct tn__elf_section *sections; /* those that are loaded: number i + 1 */
    size_t section_count;
    uint32_t tls_section;              /* the first that is thread-local: its number */
    struct tn_definition *definitions; /* what it offers, */
    Elf64_Sym *symbols;                /* and the same again */
    size_t symbol_count;
    uint8_t *program;                 /* where its struct tn__program is */
    uint64_t end_address, end_offset; /* of its segments, in memory and in the file */
};

/* Thread-local data begins so many bytes before the thread pointer: with the room for the image's. */
static inline uint64_t tn__stub_tls_size(const struct tn__stub *stub)
{
    return tn__align_up(stub->tls.p_memsz, stub->tls.p_align);
}

/* Reads a stub; it is copied. TN_EFORMAT, TN_ENOMEM. */
int tn__stub_read(const char *name, const void *bytes, size_t size, struct tn__arena *arena, struct tn__stub *stub,
                  struct tn_error *err);

#pragma GCC visibility pop
#endif
