/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Any bytes as a Mach-O object, or a universal file. */

#include "object.h"

static const struct tn_format *const formats[] = {&tn_format_macho_x86_64, &tn_format_macho_aarch64, NULL};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    return fuzz_object(formats, bytes, size);
}
