/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* RISC-V with 64 bits: RISC-V ELF psABI Specification. */

#include "link/arch/riscv64/riscv64.h"

/* auipc t3, %pcrel_hi(slot); ld t3, %pcrel_lo(t3); jr t3; unimp. As in a PLT, t3 is free between caller
 * and callee. */
static void write_stub(uint8_t *out, uint64_t address, uint64_t slot)
{
    uint32_t distance = (uint32_t)(slot - address);
    tn__put32(out, 0x00000e17 | ((distance + 0x800) & 0xfffff000));
    tn__put32(out + 4, 0x000e3e03 | distance << 20);
    tn__put32(out + 8, 0x000e0067);
    tn__put32(out + 12, 0);
}

/* Compressed instructions and total store order are no matter of the caller. */
static const struct tn__convention conventions[] = {
    {TN__RISCV64_QUAD, "floating-point ABI", {"soft", "single", "double", "quad"}},
    {TN__RISCV64_RVE, "register file", {"RVI", "RVE"}},
    {0},
};

const struct tn__arch tn__arch_riscv64 = {
    .name = "RISC-V 64",
    .triple = "riscv64-unknown-linux-gnu",
    .elf_machine = 243,
    .encoders = tn__riscv64_encoders,
    .dynamic_types = {[TN__DYNAMIC_RELATIVE] = 3,
                      [TN__DYNAMIC_SLOT] = 2,
                      [TN__DYNAMIC_IMPORT] = 2,
                      [TN__DYNAMIC_TLS_MODULE] = 7,
                      [TN__DYNAMIC_TLS_OFFSET] = 11,
                      [TN__DYNAMIC_TLS_IMPORT] = 11,
                      [TN__DYNAMIC_TLS_DESC] = 12,
                      [TN__DYNAMIC_TLS_DESC_IMPORT] = 12,
                      [TN__DYNAMIC_INDIRECT] = 58},
    .branch_reach = INT32_MAX - 4096,
    .tls_above = true,
    .tls_index_bias = TN__RISCV64_DTP_BIAS,
    .relax = tn__riscv64_relax,
    .shortener = &tn__riscv64_shortener,
    .conventions = conventions,
    .stub_size = 16,
    .write_stub = write_stub,
};
