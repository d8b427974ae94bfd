/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Any bytes as a COFF object for x86-64 or AArch64. */

#include "object.h"

static const struct tn_format *const formats[] = {&tn_format_coff_x86_64, &tn_format_coff_aarch64, NULL};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    return fuzz_object(formats, bytes, size);
}
