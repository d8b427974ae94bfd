/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* RISC-V with 64 bits, for the tables of its relocations in src/link/format: the fields of its instructions, and those
 * that may become shorter. */

#ifndef TENON_RISCV64_H
#define TENON_RISCV64_H

#include "link/arch/reloc.h"

#pragma GCC visibility push(hidden)

/* Fields of instructions (riscv64.c), by the formats of the ISA manual. Each takes the whole value and keeps the bits
 * that it has space for. The bits in comments are those of the value; a high part is rounded, because the 12 bits that
 * complete it are signed. */
enum tn__riscv64_field {
    TN__RISCV64_BRANCH = TN__FIELDS, /* B: 12..1 */
    TN__RISCV64_JAL,                 /* J: 20..1 */
    TN__RISCV64_HI20,                /* U: 31..12 */
    TN__RISCV64_LO12_I,              /* I: 11..0 */
    TN__RISCV64_LO12_S,              /* S: 11..0 */
    TN__RISCV64_CALL,                /* U, and I in the next instruction: 31..0 */
    TN__RISCV64_RVC_BRANCH,          /* CB: 8..1 */
    TN__RISCV64_RVC_JUMP,            /* CJ: 11..1 */
    TN__RISCV64_LOW6,                /* the low bits of a byte: 5..0 */
    TN__RISCV64_DTPREL32,            /* whole bytes: 31..0 and 63..0 of what __tls_get_addr adds its bias to */
    TN__RISCV64_DTPREL64,
    TN__RISCV64_FIELDS,
};

/* What __tls_get_addr adds to the second word of its argument (psABI, "Global Dynamic"): 12 signed bits reach 4 KiB. */
enum { TN__RISCV64_DTP_BIAS = 0x800 };

/* Forms of instructions that may become shorter (riscv64.c), or absolute (relax.c). */
enum tn__riscv64_form {
    TN__RISCV64_NEAR_CALL = TN__FORM_TRAILS, /* auipc and jalr */
    TN__RISCV64_HIGH,                        /* lui of an absolute address, */
    TN__RISCV64_LOW,                         /* the instruction that completes it */
    TN__RISCV64_TLS_HIGH,                    /* lui and add of a distance from the thread pointer, */
    TN__RISCV64_TLS_LOW,                     /* the instruction that completes it */
    TN__RISCV64_PADDING,                     /* as many bytes as the addend says */
    TN__RISCV64_PAIR = TN__FORM_FAR,         /* auipc: it may become lui */
};

/* Bits of e_flags (psABI, "File Header"). */
enum {
    TN__RISCV64_COMPRESSED = 1, /* there may be compressed instructions */
    TN__RISCV64_SOFT = 0,       /* where floating-point numbers are passed, */
    TN__RISCV64_SINGLE = 2,
    TN__RISCV64_DOUBLE = 4,
    TN__RISCV64_QUAD = 6,
    TN__RISCV64_RVE = 8, /* and the others: in 16 registers, of which fewer are for arguments */
};

#pragma GCC visibility pop
#endif
