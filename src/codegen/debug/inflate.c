/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compressed debug sections. The runtime has no zlib and no zstd; LLVM brings both. */

#include <zlib.h>
#include <zstd.h>

#include "tenon_codegen.h"

enum { ZLIB = 1, ZSTD = 2 }; /* gABI; glibc's elf.h may not have the second */

int tn_codegen_decompress(uint32_t method, void *out, uint64_t size, const void *packed, uint64_t packed_size)
{
    uLongf made = size;
    if (method == ZLIB)
        return uncompress(out, &made, packed, packed_size) == Z_OK && made == size;
    return method == ZSTD && ZSTD_decompress(out, size, packed, packed_size) == size;
}
