/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* x86-64: System V psABI 1.0. */

#include "link/arch/x86_64/x86_64.h"

/* jmp *slot(%rip), padded with int3. */
static void write_stub(uint8_t *out, uint64_t address, uint64_t slot)
{
    static const uint8_t jump[8] = {0xff, 0x25, 0, 0, 0, 0, 0xcc, 0xcc};
    memcpy(out, jump, sizeof jump);
    tn__put32(out + 2, (uint32_t)(slot - (address + 6)));
}

const struct tn__arch tn__arch_x86_64 = {
    .name = "x86-64",
    .triple = "x86_64-unknown-linux-gnu",
    .elf_machine = 62,
    .dynamic_types = {[TN__DYNAMIC_RELATIVE] = 8,
                      [TN__DYNAMIC_SLOT] = 6,
                      [TN__DYNAMIC_IMPORT] = 1,
                      [TN__DYNAMIC_TLS_MODULE] = 16,
                      [TN__DYNAMIC_TLS_OFFSET] = 18,
                      [TN__DYNAMIC_TLS_IMPORT] = 18,
                      [TN__DYNAMIC_TLS_DESC] = 36,
                      [TN__DYNAMIC_TLS_DESC_IMPORT] = 36,
                      [TN__DYNAMIC_INDIRECT] = 37},
    .branch_reach = INT32_MAX - 64,
    .relax = tn__x86_64_relax,
    .stub_size = 8,
    .write_stub = write_stub,
};
