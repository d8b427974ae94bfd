/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* ELF for RISC-V: RISC-V ELF psABI, chapter "Relocations". */

#include <elf.h>

#include "link/arch/reloc.h"
#include "link/format/object.h"

static const struct tn__row rows[] = {
    [0] = TN__ROW("R_RISCV_NONE", TN__V_NONE, TN__F_LE8, 1, 0, 0, TN__SLOT_NONE, 0),
};

const struct tn_format tn_format_elf_riscv64 = {
    .name = "elf-riscv64",
    .reader = &tn__reader_elf,
    .arch = &tn__arch_riscv64,
    .machine = EM_RISCV,
    .rows = rows,
    .row_count = TN_COUNT(rows),
};
