/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Where there are no instructions for SHA-256, or none that are used. */

#include "base/sha256/sha256.h"

tn__sha256_blocks *tn__sha256_host(void)
{
    return NULL;
}
