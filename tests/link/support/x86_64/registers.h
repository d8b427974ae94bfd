/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the tests of lazy stubs have to know of the machine's registers. Each machine has such a file, with
 * lazy_registers.s and lazy_dump.s beside it. */

#ifndef TENON_TESTS_LINK_REGISTERS_H
#define TENON_TESTS_LINK_REGISTERS_H

#include "registers_common.h"

enum {
    GENERAL_REGISTERS = 12, /* rdi rsi rdx rcx r8 r9 r10 rax r12 r13 r14 r15 */
    SP_AT_ENTRY = 8,        /* the stack pointer modulo 16 */
    FIRST_IN_MEMORY = 6,    /* how many integer arguments are in registers */
};

/* By level: xmm0-15, ymm0-15, zmm0-31 and k0-7. */
static inline int vector_level(void)
{
    return __builtin_cpu_supports("avx512bw") ? 2 : __builtin_cpu_supports("avx") ? 1 : 0;
}

static inline size_t vector_registers(int level, struct run out[2])
{
    static const struct run vectors[] = {{0, 256, 16, 16}, {0, 256, 32, 16}, {0, 256, 64, 32}};
    out[0] = vectors[level];
    out[1] = (struct run){32 * 256, 32, 8, 8};
    return level == 2 ? 2 : 1;
}

static const struct way ways[] = {{"fxsave", 0, 0}, {"xsave", 1, 2}, {"xsavec", 2, 2}};

#define EACH16(X)       X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define EACH_UPPER16(X) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)
#define SPOIL_XMM(n)    "pcmpeqd %%xmm" #n ", %%xmm" #n "\n"
#define SPOIL_YMM(n)    "vcmpps $15, %%ymm" #n ", %%ymm" #n ", %%ymm" #n "\n"
#define SPOIL_ZMM(n)    "vpternlogd $255, %%zmm" #n ", %%zmm" #n ", %%zmm" #n "\n"
#define XMM(n)          "xmm" #n,

/* Destroys every register that a function may. */
static inline void spoil_registers(int level)
{
    if (level == 2)
        __asm__ volatile(EACH16(SPOIL_ZMM) EACH_UPPER16(
                             SPOIL_ZMM) "kxnorq %%k0, %%k0, %%k0\n"
                                        "kmovq %%k0, %%k1\nkmovq %%k0, %%k2\nkmovq %%k0, %%k3\nkmovq %%k0, %%k4\n"
                                        "kmovq %%k0, %%k5\nkmovq %%k0, %%k6\nkmovq %%k0, %%k7\n" ::
                                            : EACH16(XMM) "memory");
    else if (level == 1)
        __asm__ volatile(EACH16(SPOIL_YMM)::: EACH16(XMM) "memory");
    else
        __asm__ volatile(EACH16(SPOIL_XMM)::: EACH16(XMM) "memory");
    __asm__ volatile("" ::: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
}

#endif
