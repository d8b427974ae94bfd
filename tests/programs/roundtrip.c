/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compresses 10 MB, or as many as the argument says, with zlib and with zstd, at once and in streams, and gets them
 * back: sizes and checksums on stdout. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

enum { PIECE = 60000 };

static size_t total = 10 * 1000 * 1000;

/* Prose, tables of numbers, noise and long runs in turns, so that every kind of block occurs. */
static void fill(unsigned char *bytes)
{
    static const char *const words[] = {"mortise", "tenon", "dovetail", "joint", "oak", "the", "of", "and"};
    uint64_t state = 88172645463325252u;
    for (size_t at = 0; at < total;) {
        unsigned char piece[16];
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        int size, kind = (int)(at >> 16) % 4;
        if (kind == 0)
            size = snprintf((char *)piece, sizeof piece, "%s ", words[state >> 61]);
        else if (kind == 1)
            size = snprintf((char *)piece, sizeof piece, "%u,%zu\n", (unsigned)(state >> 50), at % 1000);
        else if (kind == 2)
            memcpy(piece, &state, size = sizeof state);
        else
            memset(piece, (int)(at >> 12), size = sizeof piece);
        if ((size_t)size > total - at)
            size = (int)(total - at);
        memcpy(bytes + at, piece, (size_t)size);
        at += (size_t)size;
    }
}

static void report(const char *name, const unsigned char *packed, size_t size, const unsigned char *original,
                   const unsigned char *unpacked)
{
    printf("%-12s %8zu bytes, crc %08lx, adler %08lx, %s\n", name, size, crc32(0, packed, (uInt)size),
           adler32(1, unpacked, total), memcmp(original, unpacked, total) ? "DIFFERENT" : "same again");
}

static void zlib_at_once(const unsigned char *original, unsigned char *packed, size_t room, unsigned char *unpacked)
{
    for (int level = 1; level <= 6; level += 5) {
        uLongf size = room, length = total;
        char name[16];
        snprintf(name, sizeof name, "zlib -%d", level);
        memset(unpacked, 0, total);
        if (compress2(packed, &size, original, total, level) == Z_OK &&
            uncompress(unpacked, &length, packed, size) == Z_OK && length == total)
            report(name, packed, size, original, unpacked);
    }
}

static void zlib_in_pieces(const unsigned char *original, unsigned char *packed, size_t room, unsigned char *unpacked)
{
    z_stream out = {0}, in = {0};
    memset(unpacked, 0, total);
    if (deflateInit2(&out, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK || inflateInit2(&in, 15 + 16) != Z_OK)
        return;
    out.next_out = packed, out.avail_out = (uInt)room;
    for (size_t at = 0; at < total; at += PIECE) {
        out.next_in = (Bytef *)original + at, out.avail_in = total - at < PIECE ? (uInt)(total - at) : PIECE;
        deflate(&out, at + PIECE < total ? Z_NO_FLUSH : Z_FINISH);
    }
    in.next_in = packed, in.next_out = unpacked;
    int rc = Z_OK;
    for (size_t at = 0; at < out.total_out && rc == Z_OK; at += PIECE) {
        in.avail_in = out.total_out - at < PIECE ? (uInt)(out.total_out - at) : PIECE;
        in.avail_out = (uInt)(total - in.total_out);
        rc = inflate(&in, Z_NO_FLUSH);
    }
    report(rc == Z_STREAM_END ? "gzip stream" : "gzip CUT", packed, out.total_out, original, unpacked);
    deflateEnd(&out);
    inflateEnd(&in);
}

static void zstd_at_once(const unsigned char *original, unsigned char *packed, size_t room, unsigned char *unpacked)
{
    static const int levels[] = {-5, 3, 12};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        char name[16];
        snprintf(name, sizeof name, "zstd %d", levels[i]);
        memset(unpacked, 0, total);
        size_t size = ZSTD_compress(packed, room, original, total, levels[i]);
        if (ZSTD_isError(size) || ZSTD_decompress(unpacked, total, packed, size) != total)
            printf("%s: %s\n", name, ZSTD_getErrorName(size));
        else
            report(name, packed, size, original, unpacked);
    }
}

static void zstd_in_pieces(const unsigned char *original, unsigned char *packed, size_t room, unsigned char *unpacked)
{
    ZSTD_CCtx *out = ZSTD_createCCtx();
    ZSTD_DCtx *in = ZSTD_createDCtx();
    ZSTD_outBuffer to = {packed, room, 0}, back = {unpacked, total, 0};
    memset(unpacked, 0, total);
    ZSTD_CCtx_setParameter(out, ZSTD_c_compressionLevel, 5);
    ZSTD_CCtx_setParameter(out, ZSTD_c_checksumFlag, 1);
    for (size_t at = 0; at < total; at += PIECE) {
        ZSTD_inBuffer from = {original + at, total - at < PIECE ? total - at : PIECE, 0};
        ZSTD_EndDirective mode = at + PIECE < total ? ZSTD_e_continue : ZSTD_e_end;
        while (ZSTD_compressStream2(out, &to, &from, mode) != 0 && mode == ZSTD_e_end)
            ;
    }
    ZSTD_inBuffer from = {packed, to.pos, 0};
    size_t rc = 1;
    while (rc != 0 && !ZSTD_isError(rc) && from.pos < from.size)
        rc = ZSTD_decompressStream(in, &back, &from);
    report(rc == 0 ? "zstd stream" : "zstd CUT", packed, to.pos, original, unpacked);
    ZSTD_freeCCtx(out);
    ZSTD_freeDCtx(in);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        total = (size_t)atoi(argv[1]) * 1000 * 1000;
    size_t room = ZSTD_compressBound(total) + 100000;
    unsigned char *original = malloc(total), *packed = malloc(room), *unpacked = malloc(total);
    if (!original || !packed || !unpacked)
        return 1;
    fill(original);
    printf("%zu bytes, crc %08lx; zlib %s, zstd %s\n", total, crc32(0, original, total), zlibVersion(),
           ZSTD_versionString());
    zlib_at_once(original, packed, room, unpacked);
    zlib_in_pieces(original, packed, room, unpacked);
    zstd_at_once(original, packed, room, unpacked);
    zstd_in_pieces(original, packed, room, unpacked);
    free(original);
    free(packed);
    free(unpacked);
    return 0;
}
