/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <zlib.h>

#include "codegen/debug/inflate.h"

bool tn__zlib_inflate(void *out, uint64_t size, const void *packed, uint64_t packed_size)
{
    uLongf made = size;
    return uncompress(out, &made, packed, packed_size) == Z_OK && made == size;
}
