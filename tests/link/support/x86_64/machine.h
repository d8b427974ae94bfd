/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What tests that write objects themselves have to know of the machine that they run on: its numbers in ELF files,
 * and how a function is written that returns a number. Each machine has such a file. */

#ifndef TENON_TESTS_LINK_MACHINE_H
#define TENON_TESTS_LINK_MACHINE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    MACHINE = EM_X86_64,
    MACHINE_FLAGS = 0,                /* e_flags of code that may run here */
    MACHINE_ADDRESS = R_X86_64_64,    /* a relocation that stores an address of 64 bits */
    MACHINE_TPOFF = R_X86_64_TPOFF64, /* one that stores a distance from the thread pointer */
    MACHINE_WINDOW = 0,               /* bytes for sessions of tests that do not say: the default */
    ANSWER_SIZE = 6,
    FUNCTION_SIZE = 21,
    JUMP_SIZE = 5,
};

/* A relocation of a branch, at a distance from the beginning of the code. */
struct machine_branch {
    uint64_t offset;
    uint32_t type;
    int64_t addend;
};

/* mov $number, %eax; ret */
static inline void put_answer(uint8_t *out, uint32_t number)
{
    out[0] = 0xb8;
    memcpy(out + 1, &number, 4);
    out[5] = 0xc3;
}

/* jmp */
static const uint8_t jump_code[JUMP_SIZE] = {0xe9};
static const struct machine_branch machine_jump = {1, R_X86_64_PLT32, -4};

/* A function that returns the number or, if it calls another one, the sum of both. */
static const struct machine_branch machine_call = {7, R_X86_64_PLT32, -4};

static inline void put_function(uint8_t *out, uint32_t number, bool calls)
{
    static const uint8_t template[FUNCTION_SIZE] = {
        0x48, 0x83, 0xec, 0x08,       /* sub $8, %rsp */
        0x31, 0xc0,                   /* xor %eax, %eax */
        0x0f, 0x1f, 0x44, 0x00, 0x00, /* nop, or call */
        0x05, 0,    0,    0,    0,    /* add $number, %eax */
        0x48, 0x83, 0xc4, 0x08,       /* add $8, %rsp */
        0xc3,
    };
    memcpy(out, template, sizeof template);
    memcpy(out + 12, &number, sizeof number);
    if (calls)
        memcpy(out + 6, "\xe8\0\0\0\0", 5);
}

#endif
