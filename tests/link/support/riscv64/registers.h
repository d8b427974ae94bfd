/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* See x86_64/registers.h. */

#ifndef TENON_TESTS_LINK_REGISTERS_H
#define TENON_TESTS_LINK_REGISTERS_H

#include <setjmp.h>
#include <signal.h>

#include "link/redirect/cell.h"
#include "registers_common.h"

enum {
    GENERAL_REGISTERS = 16, /* a0-7 t2 t0 t4-6 s2-4 */
    SP_AT_ENTRY = 0,
    FIRST_IN_MEMORY = 8,
};

static sigjmp_buf no_vectors;

static inline void on_no_vectors(int signal)
{
    siglongjmp(no_vectors, signal);
}

/* By level: f0-31; v0-31 too. qemu 7.2 has vectors that AT_HWCAP does not tell of: then they are saved as well. */
static inline int vector_level(void)
{
    struct sigaction action = {.sa_handler = on_no_vectors}, before;
    uint64_t bytes = 0;
    sigaction(SIGILL, &action, &before);
    if (!sigsetjmp(no_vectors, 1)) {
        __asm__ volatile(".option push\n.option arch, +v\n"
                         "    vsetvli t0, zero, e8, m1, ta, ma\n    csrr %0, 0xc22\n.option pop"
                         : "=r"(bytes)::"t0");
        tn__lazy_machine.ways[1].size = 32 * bytes;
    }
    sigaction(SIGILL, &before, NULL);
    return bytes != 0;
}

static inline size_t vector_registers(int level, struct run out[2])
{
    size_t bytes = 0;
    if (level)
        __asm__("csrr %0, 0xc22" : "=r"(bytes));
    out[0] = (struct run){0, 256, 8, 32};
    out[1] = (struct run){32 * 256, 256, bytes, 32};
    return level ? 2 : 1;
}

static const struct way ways[] = {{"floats", 0, 0}, {"vectors", 1, 1}};

/* Destroys every register that a function may. */
static inline void spoil_registers(int level)
{
    if (level)
        __asm__ volatile(
            ".option push\n.option arch, +v\n"
            "    vsetvli t0, zero, e8, m1, ta, ma\n"
            ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
            "    vmv.v.i v\\n, -1\n"
            ".endr\n"
            ".option pop\n" ::
                : "t0", "memory");
    __asm__ volatile(".irp n, 0,1,2,3,4,5,6,7,10,11,12,13,14,15,16,17,28,29,30,31\n"
                     "    fmv.d.x f\\n, zero\n"
                     ".endr\n" ::
                         : "memory");
    __asm__ volatile(".irp n, 5,6,7,10,11,12,13,14,15,16,17,28,29,30,31\n"
                     "    li x\\n, -1\n"
                     ".endr\n" ::
                         : "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7");
}

#endif
