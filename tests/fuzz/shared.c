/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Any bytes as an ELF shared library. */

#include "object.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const struct tn_format *const formats[] = {&tn_format_elf_shared_x86_64, NULL};
    return fuzz_object(formats, bytes, size);
}
