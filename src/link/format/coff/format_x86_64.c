/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* COFF for x86-64. It stands in this room because it names steps of a link; its relocation types are with the
 * others, in format/coff/x86_64.c. */

#include "link/arch/reloc.h"
#include "link/passes/steps.h"
#include "link/format/coff/reader.h"

const struct tn_format tn_format_coff_x86_64 = {
    .name = "coff-x86-64",
    .reader = &tn__reader_coff,
    .arch = &tn__arch_x86_64,
    .machine = 0x8664,
    .rows = tn__coff_x86_64_rows,
    .row_count = TN__COFF_X86_64_ROWS,
    .details = &tn__coff_x86_64_details,
    .steps = &tn__steps_coff,
};
