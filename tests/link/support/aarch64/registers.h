/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* See x86_64/registers.h. */

#ifndef TENON_TESTS_LINK_REGISTERS_H
#define TENON_TESTS_LINK_REGISTERS_H

#include <sys/auxv.h>

#include "registers_common.h"

enum {
    GENERAL_REGISTERS = 20, /* x0-15 x18 x20-22 */
    SP_AT_ENTRY = 0,
    FIRST_IN_MEMORY = 8,
};

/* By level: q0-31; z0-31 and p0-15. */
static inline int vector_level(void)
{
    return (getauxval(AT_HWCAP) & HWCAP_SVE) != 0;
}

static inline size_t vector_registers(int level, struct run out[2])
{
    size_t bytes = 16;
    if (level)
        __asm__(".arch_extension sve\n    rdvl %0, #1" : "=r"(bytes));
    out[0] = (struct run){0, 256, bytes, 32};
    out[1] = (struct run){32 * 256, 32, bytes / 8, 16};
    return level ? 2 : 1;
}

static const struct way ways[] = {{"vectors", 0, 0}, {"scalable vectors", 1, 1}};

/* Destroys every register that a function may. */
static inline void spoil_registers(int level)
{
    if (level)
        __asm__ volatile(
            ".arch_extension sve\n"
            ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
            "    dup z\\n\\().b, #-1\n"
            ".endr\n"
            ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
            "    ptrue p\\n\\().b\n"
            ".endr\n" ::
                : "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "memory");
    else
        __asm__ volatile(
            ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
            "    movi v\\n\\().16b, #255\n"
            ".endr\n" ::
                : "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "memory");
    __asm__ volatile(".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18\n"
                     "    mov x\\n, #-1\n"
                     ".endr\n" ::
                         : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13",
                           "x14", "x15", "x16", "x17", "x18");
}

#endif
