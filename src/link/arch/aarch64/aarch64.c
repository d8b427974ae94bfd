/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* AArch64: Arm Architecture Reference Manual for A-profile; ELF for the Arm 64-bit Architecture (AAELF64). */

#include "link/arch/aarch64/aarch64.h"

/* adrp x16, slot; ldr x16, [x16, :lo12:slot]; br x16; udf #0 (Arm ARM, C6.2). Linkers may use x16, and a branch through
 * it may lead to "bti c" (AAPCS64, "General-purpose registers"). */
static void write_stub(uint8_t *out, uint64_t address, uint64_t slot)
{
    uint32_t pages = (uint32_t)((slot >> 12) - (address >> 12));
    tn__put32(out, 0x90000010 | (pages & 3) << 29 | (pages >> 2 & 0x7ffff) << 5);
    tn__put32(out + 4, 0xf9400210 | (uint32_t)(slot >> 3 & 0x1ff) << 10);
    tn__put32(out + 8, 0xd61f0200);
    tn__put32(out + 12, 0);
}

const struct tn__arch tn__arch_aarch64 = {
    .name = "AArch64",
    .triple = "aarch64-unknown-linux-gnu",
    .elf_machine = 183,
    .encoders = tn__aarch64_encoders,
    .dynamic_types = {[TN__DYNAMIC_RELATIVE] = 1027,
                      [TN__DYNAMIC_SLOT] = 1025,
                      [TN__DYNAMIC_IMPORT] = 257,
                      [TN__DYNAMIC_TLS_MODULE] = 1028,
                      [TN__DYNAMIC_TLS_OFFSET] = 1030,
                      [TN__DYNAMIC_TLS_IMPORT] = 1030,
                      [TN__DYNAMIC_TLS_DESC] = 1031,
                      [TN__DYNAMIC_TLS_DESC_IMPORT] = 1031,
                      [TN__DYNAMIC_INDIRECT] = 1032},
    .branch_reach = (1 << 27) - 64,
    .tls_above = true,
    .tls_gap = 16, /* of the thread control block */
    .relax = tn__aarch64_relax,
    .note = tn__aarch64_note,
    .stub_size = 16,
    .write_stub = write_stub,
};
