/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Links of objects for this machine. */

#include "linked.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    return fuzz_link(NULL, bytes, size);
}
