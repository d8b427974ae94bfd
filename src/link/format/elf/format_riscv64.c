/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* ELF for RISC-V. It stands in this room because it names a step of a link; its relocation types are with the others,
 * in format/elf/riscv64.c. */

#include "link/arch/reloc.h"
#include "link/passes/steps.h"
#include "link/format/elf/reader.h"

const struct tn_format tn_format_elf_riscv64 = {
    .name = "elf-riscv64",
    .reader = &tn__reader_elf,
    .arch = &tn__arch_riscv64,
    .machine = EM_RISCV,
    .rows = tn__elf_riscv64_rows,
    .row_count = TN__ELF_RISCV64_ROWS,
    .steps = &tn__steps_shrink,
};
