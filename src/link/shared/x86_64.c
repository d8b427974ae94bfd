/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* ELF shared libraries for x86-64. Their relocations are few, and each is a sum in 8 bytes: relocs.c chooses symbol and
 * addend. */

#include "link/shared/shared.h"

#define R(row, name, value, flags)                                                                                     \
    [TN__SHARED_##row] = TN__ROW("R_X86_64_" name, TN__V_##value, TN__F_LE64, 8, 64, flags, TN__SLOT_NONE, 0)

static const struct tn__row rows[] = {
    R(RELATIVE, "RELATIVE", S_A, 0),
    R(64, "64", S_A, 0),
    R(GLOB_DAT, "GLOB_DAT", S_A, 0),
    R(JUMP_SLOT, "JUMP_SLOT", S_A, 0),
    R(SIZE64, "SIZE64", Z_A, 0),
    R(DTPMOD64, "DTPMOD64", S_A, 0),
    R(DTPMOD64_OWN, "DTPMOD64", S_A, TN__R_TLS),
    R(DTPOFF64, "DTPOFF64", S_A, TN__R_TLS),
    R(TPOFF64, "TPOFF64", S_A, TN__R_TLS | TN__R_PROGRAM),
    R(TLSDESC, "TLSDESC", S_A, 0),
    R(TLSDESC_OFFSET, "TLSDESC", S_A, TN__R_TLS),
    R(IRELATIVE, "IRELATIVE", S_A, 0),
    R(FUNCTION, "64", S_A, 0),
};

static const struct tn__reader reader = {
    .name = "ELF, shared library",
    .maps_files = true,
    .claims = tn__shared_claims,
    .read = tn__shared_read,
};

const struct tn_format tn_format_elf_shared_x86_64 = {
    .name = "elf-shared-x86-64",
    .reader = &reader,
    .arch = &tn__arch_x86_64,
    .machine = EM_X86_64,
    .rows = rows,
    .row_count = TN_COUNT(rows),
};
