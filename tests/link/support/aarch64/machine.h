/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* See x86_64/machine.h. */

#ifndef TENON_TESTS_LINK_MACHINE_H
#define TENON_TESTS_LINK_MACHINE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    MACHINE = EM_AARCH64,
    MACHINE_FLAGS = 0,
    MACHINE_ADDRESS = R_AARCH64_ABS64,
    MACHINE_TPOFF = R_AARCH64_TLSLE_ADD_TPREL_LO12_NC,
    MACHINE_WINDOW = 64 << 20, /* qemu-user takes its time for each page of a mapping */
    ANSWER_SIZE = 12,
    FUNCTION_SIZE = 32,
    JUMP_SIZE = 4,
};

/* A relocation of a branch, at a distance from the beginning of the code. */
struct machine_branch {
    uint64_t offset;
    uint32_t type;
    int64_t addend;
};

/* mov w0, #low; movk w0, #high, lsl #16; ret */
static inline void put_answer(uint8_t *out, uint32_t number)
{
    const uint32_t words[] = {0x52800000 | (number & 0xffff) << 5, 0x72a00000 | number >> 16 << 5, 0xd65f03c0};
    memcpy(out, words, sizeof words);
}

/* b */
static const uint8_t jump_code[JUMP_SIZE] = {0, 0, 0, 0x14};
static const struct machine_branch machine_jump = {0, R_AARCH64_JUMP26, 0};

/* stp x29, x30, [sp, #-16]!; mov w0, #0; nop, or bl; mov w1, #low; movk w1, #high, lsl #16; add w0, w0, w1;
 * ldp x29, x30, [sp], #16; ret */
static const struct machine_branch machine_call = {8, R_AARCH64_CALL26, 0};

static inline void put_function(uint8_t *out, uint32_t number, bool calls)
{
    const uint32_t words[] = {0xa9bf7bfd,
                              0x52800000,
                              calls ? 0x94000000 : 0xd503201f,
                              0x52800001 | (number & 0xffff) << 5,
                              0x72a00001 | number >> 16 << 5,
                              0x0b010000,
                              0xa8c17bfd,
                              0xd65f03c0};
    memcpy(out, words, sizeof words);
}

#endif
