/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* See x86_64/machine.h. */

#ifndef TENON_TESTS_LINK_MACHINE_H
#define TENON_TESTS_LINK_MACHINE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    MACHINE = EM_RISCV,
    MACHINE_FLAGS = EF_RISCV_FLOAT_ABI_DOUBLE,
    MACHINE_ADDRESS = R_RISCV_64,
    MACHINE_TPOFF = R_RISCV_TPREL_LO12_I,
    MACHINE_WINDOW = 64 << 20, /* qemu-user takes its time for each page of a mapping */
    ANSWER_SIZE = 12,
    FUNCTION_SIZE = 44,
    JUMP_SIZE = 8,
};

/* A relocation of a branch, at a distance from the beginning of the code. */
struct machine_branch {
    uint64_t offset;
    uint32_t type;
    int64_t addend;
};

/* lui a0, high; addiw a0, a0, low; ret */
static inline void put_answer(uint8_t *out, uint32_t number)
{
    const uint32_t words[] = {0x00000537 | ((number + 0x800) & 0xfffff000), 0x0005051b | number << 20, 0x00008067};
    memcpy(out, words, sizeof words);
}

/* auipc t1, 0; jr t1 */
static const uint8_t jump_code[JUMP_SIZE] = {0x17, 3, 0, 0, 0x67, 0, 3, 0};
static const struct machine_branch machine_jump = {0, R_RISCV_CALL_PLT, 0};

/* addi sp, sp, -16; sd ra, 8(sp); li a0, 0; two nops, or auipc ra, 0 and jalr ra; lui a1, high; addiw a1, a1, low;
 * addw a0, a0, a1; ld ra, 8(sp); addi sp, sp, 16; ret */
static const struct machine_branch machine_call = {12, R_RISCV_CALL_PLT, 0};

static inline void put_function(uint8_t *out, uint32_t number, bool calls)
{
    const uint32_t words[] = {0xff010113,
                              0x00113423,
                              0x00000513,
                              calls ? 0x00000097 : 0x00000013,
                              calls ? 0x000080e7 : 0x00000013,
                              0x000005b7 | ((number + 0x800) & 0xfffff000),
                              0x0005859b | number << 20,
                              0x00b5053b,
                              0x00813083,
                              0x01010113,
                              0x00008067};
    memcpy(out, words, sizeof words);
}

#endif
