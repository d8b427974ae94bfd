/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* x86-64, for the tables of its relocations in src/link/format. */

#ifndef TENON_X86_64_H
#define TENON_X86_64_H

#include "link/arch/reloc.h"

#pragma GCC visibility push(hidden)

/* Forms of instructions that relax.c may rewrite, by the prefix that the relocation promises. */
enum tn__x86_64_form {
    TN__X86_64_GOT = 1, /* none: a load from the GOT, or a branch through it */
    TN__X86_64_GOT_REX,
    TN__X86_64_GOT_REX2,
    TN__X86_64_TPOFF_REX, /* a distance from the thread pointer, loaded from the GOT */
    TN__X86_64_TPOFF_REX2,
};

/* See struct tn__arch. */
uint64_t tn__x86_64_relax(const struct tn__sequence *code);

#pragma GCC visibility pop
#endif
