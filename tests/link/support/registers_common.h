/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The registers that a call may pass arguments in, for MACHINE/registers.h. */

#ifndef TENON_TESTS_LINK_REGISTERS_COMMON_H
#define TENON_TESTS_LINK_REGISTERS_COMMON_H

#include <stddef.h>
#include <stdint.h>

enum { WORDS_IN_MEMORY = 29, STACK_POINTER = 31 }; /* indexes of `general` */

/* Assembly counts on these places. */
struct registers {
    uint64_t general[32]; /* those of the machine; from 29 on two words in memory, and the stack pointer */
    uint8_t vectors[64][256];
};

/* `count` registers with `bytes` each, `stride` bytes apart, from `at` on in `vectors`. */
struct run {
    size_t at, stride, bytes, count;
};

/* A way in which vector registers are saved: its number, and the highest level of registers that it saves. */
struct way {
    const char *name;
    int way, most;
};

#endif
