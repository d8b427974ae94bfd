/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* ELF for AArch64. It stands in this room because it names steps of a link; its relocation types are with the
 * others, in format/elf/aarch64.c. */

#include "link/arch/reloc.h"
#include "link/passes/steps.h"
#include "link/format/elf/reader.h"

const struct tn_format tn_format_elf_aarch64 = {
    .name = "elf-aarch64",
    .reader = &tn__reader_elf,
    .arch = &tn__arch_aarch64,
    .machine = EM_AARCH64,
    .rows = tn__elf_aarch64_rows,
    .row_count = TN__ELF_AARCH64_ROWS,
    .steps = &tn__steps_any,
};
