/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Mach-O for AArch64. It stands in this room because it names steps of a link; its relocation types are with the
 * others, in format/macho/aarch64.c. */

#include "link/arch/reloc.h"
#include "link/passes/steps.h"
#include "link/format/macho/reader.h"

const struct tn_format tn_format_macho_aarch64 = {
    .name = "macho-aarch64",
    .reader = &tn__reader_macho,
    .arch = &tn__arch_aarch64,
    .machine = TN__MACHO_ARM64,
    .rows = tn__macho_aarch64_rows,
    .row_count = TN__MACHO_ROWS,
    .details = &tn__macho_aarch64_machine,
    .steps = &tn__steps_macho,
};
