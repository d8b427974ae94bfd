/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compresses 2 MB at several levels, with two threads at some, and gets them back: sizes and a checksum on stdout. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

enum { SIZE = 2000000 };

/* Text, noise and long runs in turns. */
static void fill(char *bytes)
{
    uint64_t state = 88172645463325252u;
    for (size_t at = 0; at + 64 < SIZE;) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        size_t kind = (at >> 16) % 3;
        if (kind == 0)
            at += (size_t)sprintf(bytes + at, "peg %u of mortise %zu, ", (unsigned)(state >> 52), at % 1000);
        else if (kind == 1)
            memcpy(bytes + at, &state, sizeof state), at += sizeof state;
        else
            memset(bytes + at, (int)(at >> 12), 64), at += 64;
    }
}

static unsigned sum(const unsigned char *bytes, size_t size)
{
    unsigned result = 1;
    for (size_t i = 0; i < size; i++)
        result = result * 31 + bytes[i];
    return result;
}

static void there_and_back(ZSTD_CCtx *context, int level, int threads, const char *original, char *packed, size_t room)
{
    char *unpacked = calloc(1, SIZE);
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    ZSTD_CCtx_setParameter(context, ZSTD_c_nbWorkers, threads);
    size_t size = ZSTD_compress2(context, packed, room, original, SIZE);
    if (ZSTD_isError(size) || ZSTD_decompress(unpacked, SIZE, packed, size) != SIZE)
        printf("level %d: %s\n", level, ZSTD_getErrorName(size));
    else
        printf("level %d: %zu bytes, sum %08x, %s\n", level, size, sum((const void *)packed, size),
               memcmp(original, unpacked, SIZE) ? "DIFFERENT" : "same again");
    free(unpacked);
}

int main(void)
{
    size_t room = ZSTD_compressBound(SIZE);
    char *original = calloc(1, SIZE), *packed = malloc(room);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    fill(original);
    for (int level = -5; level <= 11; level += 4)
        there_and_back(context, level, level > 0 ? 2 : 0, original, packed, room);
    ZSTD_freeCCtx(context);
    free(original);
    free(packed);
    return 0;
}
