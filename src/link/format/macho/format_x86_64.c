/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Mach-O for x86-64. It stands in this room because it names steps of a link; its relocation types are with the
 * others, in format/macho/x86_64.c. */

#include "link/arch/reloc.h"
#include "link/passes/steps.h"
#include "link/format/macho/reader.h"

const struct tn_format tn_format_macho_x86_64 = {
    .name = "macho-x86-64",
    .reader = &tn__reader_macho,
    .arch = &tn__arch_x86_64,
    .machine = TN__MACHO_X86_64,
    .rows = tn__macho_x86_64_rows,
    .row_count = TN__MACHO_ROWS,
    .details = &tn__macho_x86_64_machine,
    .steps = &tn__steps_macho,
};
