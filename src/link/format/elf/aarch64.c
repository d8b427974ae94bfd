/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* ELF for AArch64: ELF for the Arm 64-bit Architecture (AAELF64), section 5.7 (relocation types). */

#include <elf.h>

#include "link/arch/reloc.h"
#include "link/format/object.h"

static const struct tn__row rows[] = {
    [0] = TN__ROW("R_AARCH64_NONE", TN__V_NONE, TN__F_LE8, 1, 0, 0, TN__SLOT_NONE, 0),
};

const struct tn_format tn_format_elf_aarch64 = {
    .name = "elf-aarch64",
    .reader = &tn__reader_elf,
    .arch = &tn__arch_aarch64,
    .machine = EM_AARCH64,
    .rows = rows,
    .row_count = TN_COUNT(rows),
};
