/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What compiling gives: machine code of functions, one after the other, and what refers to symbols in it. */

#ifndef TENON_BASELINE_CODE_H
#define TENON_BASELINE_CODE_H

#include "baseline/analyse.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

struct tn__code_symbol {
    const char *name;
    bool direct; /* it is defined where 32 bits reach it, in the same object or file; others go through the GOT */
    bool weak;   /* if nothing defines it, it is null */
    uint8_t visibility; /* of a symbol that is defined elsewhere, as in ELF */
};

struct tn__code_reloc {
    uint32_t offset, type; /* the type is that of ELF */
    uint32_t symbol;       /* an index into the module's symbols */
    int64_t addend;
};

struct tn__code_function {
    uint32_t offset, size;      /* of its code */
    uint32_t frame, frame_size; /* its entry in `frames` */
};

/* A zeroed struct is empty. `frames` has the frame descriptions for .eh_frame, without their common head, each with 4
 * bytes at TN__CODE_FRAME_START for the distance from there to the function. */
struct tn__code {
    uint8_t *bytes, *frames;
    struct tn__code_reloc *relocs;
    struct tn__code_function *functions;
    size_t size, frames_size, reloc_count, function_count;
    size_t room, frames_room, reloc_room, function_room;
};

enum { TN__CODE_FRAME_START = 8 };

/* Compiles for x86-64 a function that is well-formed, behind those that are there; `symbols` are the module's.
 * TN_ENOTSUP: it cannot, and err says why; TN_ENOMEM. In both cases the code is as it was. The analysis is of the
 * function, and `scratch` is kept from one call to the next. */
struct tn__x64_scratch;
int tn__x64_compile(const struct tn__flat *flat, const struct tn__flat_analysis *analysis,
                    const struct tn__code_symbol *symbols, struct tn__x64_scratch **scratch, struct tn__code *code,
                    struct tn_error *err);
void tn__x64_scratch_free(struct tn__x64_scratch *scratch);

void tn__code_free(struct tn__code *code);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
