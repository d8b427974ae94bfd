/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What compilers for macOS expect of the C library, and Linux's does not have. */

#include <string.h>

void memset_pattern16(void *to, const void *pattern, size_t size)
{
    unsigned char *bytes = to;
    for (; size >= 16; size -= 16, bytes += 16)
        memcpy(bytes, pattern, 16);
    memcpy(bytes, pattern, size);
}
