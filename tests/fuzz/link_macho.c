/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Links of Mach-O objects for x86-64, or for AArch64. */

#include "linked.h"

static const struct tn_format *const x86_64[] = {&tn_format_macho_x86_64, NULL};
static const struct tn_format *const aarch64[] = {&tn_format_macho_aarch64, NULL};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_link(x86_64, bytes, size);
    return fuzz_link(aarch64, bytes, size);
}
