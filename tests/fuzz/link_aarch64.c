/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Links of ELF objects for AArch64. */

#include "linked.h"

static const struct tn_format *const formats[] = {&tn_format_elf_aarch64, NULL};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    return fuzz_link(formats, bytes, size);
}
