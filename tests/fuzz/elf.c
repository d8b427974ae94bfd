/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Any bytes as an ELF object of this machine. */

#include "object.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    return fuzz_object(tn__formats_host, bytes, size);
}
