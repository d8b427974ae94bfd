/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the two files of x86-64 share. */

#ifndef TENON_X86_64_H
#define TENON_X86_64_H

#include "link/arch/reloc.h"

#pragma GCC visibility push(hidden)

/* Rows that code looks at; the numbers are those of the psABI. */
enum {
    TN__X86_64_GOTTPOFF = 22,
    TN__X86_64_GOTPCRELX = 41,
    TN__X86_64_REX_GOTPCRELX = 42,
    TN__X86_64_CODE_4_GOTPCRELX = 43,
    TN__X86_64_CODE_4_GOTTPOFF = 44,
};

/* relax.c; see struct tn__arch. */
bool tn__x86_64_relax(uint32_t type, uint8_t *field, uint64_t before, uint64_t S, int64_t A, uint64_t P);

#pragma GCC visibility pop
#endif
