/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* COFF for AArch64. It stands in this room because it names steps of a link; its relocation types are with the
 * others, in format/coff/aarch64.c. */

#include "link/arch/reloc.h"
#include "link/passes/steps.h"
#include "link/format/coff/reader.h"

const struct tn_format tn_format_coff_aarch64 = {
    .name = "coff-aarch64",
    .reader = &tn__reader_coff,
    .arch = &tn__arch_aarch64,
    .machine = 0xaa64,
    .rows = tn__coff_aarch64_rows,
    .row_count = TN__COFF_AARCH64_ROWS,
    .details = &tn__coff_aarch64_details,
    .steps = &tn__steps_coff,
};
