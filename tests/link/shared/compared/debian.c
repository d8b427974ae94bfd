/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* debian: lists libraries of the system. debian FOLDER LIBRARY: opens it, and calls functions of it. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opener.h"

enum kind {
    TEXT,   /* const char *f(void *) */
    NUMBER, /* long f(long) */
    SUM,    /* unsigned long f(unsigned long, const char *, size_t) */
    SUM_64, /* uint64_t f(const char *, size_t, uint64_t) */
    HASH,   /* unsigned f(const char *) */
    DATA,   /* const char *f */
};

static const struct row {
    const char *library, *name;
    enum kind kind;
    long argument;
} rows[] = {
    {"libz.so.1", "zlibVersion", TEXT, 0},
    {"libz.so.1", "crc32", SUM, 0},
    {"libzstd.so.1", "ZSTD_versionString", TEXT, 0},
    {"liblzma.so.5", "lzma_version_string", TEXT, 0},
    {"liblzma.so.5", "lzma_crc64", SUM_64, 0},
    {"libsqlite3.so.0", "sqlite3_libversion", TEXT, 0},
    {"libbz2.so.1.0", "BZ2_bzlibVersion", TEXT, 0},
    {"libexpat.so.1", "XML_ExpatVersion", TEXT, 0},
    {"libpng16.so.16", "png_get_libpng_ver", TEXT, 0},
    {"libgmp.so.10", "__gmp_version", DATA, 0},
    {"liblz4.so.1", "LZ4_versionString", TEXT, 0},
    {"libyaml-0.so.2", "yaml_get_version_string", TEXT, 0},
    {"libcrypto.so.3", "OpenSSL_version", TEXT, 0},
    {"libxml2.so.2", "xmlCheckVersion", NUMBER, 20900},
    {"libarchive.so.13", "archive_version_string", TEXT, 0},
    {"libglib-2.0.so.0", "g_str_hash", HASH, 0},
    {"libwebp.so.7", "WebPGetDecoderVersion", NUMBER, 0},
    {"libtiff.so.6", "TIFFGetVersion", TEXT, 0},
    {"libevent-2.1.so.7", "event_get_version", TEXT, 0},
    {"libuv.so.1", "uv_version_string", TEXT, 0},
    {"libcares.so.2", "ares_version", TEXT, 0},
    {"libbrotlidec.so.1", "BrotliDecoderVersion", NUMBER, 0},
    {"libsodium.so.23", "sodium_version_string", TEXT, 0},
    {"libgcrypt.so.20", "gcry_check_version", TEXT, 0},
    {"libgpg-error.so.0", "gpgrt_check_version", TEXT, 0},
    {"libjansson.so.4", "jansson_version_str", TEXT, 0},
    {"libjson-c.so.5", "json_c_version", TEXT, 0},
    {"libnettle.so.8", "nettle_version_major", NUMBER, 0},
    {"libreadline.so.8", "rl_library_version", DATA, 0},
    {"libncursesw.so.6", "curses_version", TEXT, 0},
    {"libxxhash.so.0", "XXH_versionNumber", NUMBER, 0},
    {"libdeflate.so.0", "libdeflate_crc32", SUM, 0},
    {"libunistring.so.2", "u8_strlen", HASH, 0},
    {"libidn2.so.0", "idn2_check_version", TEXT, 0},
    {"libpixman-1.so.0", "pixman_version_string", TEXT, 0},
    {"libdav1d.so.6", "dav1d_version", TEXT, 0},
    {"libcapstone.so.4", "cs_version", NUMBER, 0},
    {"libmagic.so.1", "magic_version", NUMBER, 0},
    {"libnuma.so.1", "numa_pagesize", NUMBER, 0},
    {"libcap.so.2", "cap_max_bits", NUMBER, 0},
    {"libelf.so.1", "elf_version", NUMBER, 1},
    {"libmpfr.so.6", "mpfr_get_version", TEXT, 0},
    {"libisl.so.23", "isl_version", TEXT, 0},
    {"libharfbuzz.so.0", "hb_version_string", TEXT, 0},
    {"libpython3.11.so.1.0", "Py_GetVersion", TEXT, 0},
    {"libicuuc.so.72", "u_errorName_72", TEXT, 0},
    {"libstdc++.so.6", "_ZSt15get_new_handlerv", NUMBER, 0},
};

static void call(const struct row *row, void *found)
{
    static const char text[] = "123456789";
    switch (row->kind) {
    case TEXT:
        puts(((const char *(*)(void *))found)((void *)row->argument));
        break;
    case NUMBER:
        printf("%d\n", (int)((long (*)(long))found)(row->argument));
        break;
    case SUM:
        printf("%x\n", (unsigned)((unsigned long (*)(unsigned long, const char *, size_t))found)(0, text, 9));
        break;
    case SUM_64:
        printf("%llx\n", (unsigned long long)((uint64_t(*)(const char *, size_t, uint64_t))found)(text, 9, 0));
        break;
    case HASH:
        printf("%u\n", ((unsigned (*)(const char *))found)(text));
        break;
    case DATA:
        puts(*(const char **)found);
        break;
    }
}

int main(int argc, char **argv)
{
    char path[512];
    if (argc < 3) {
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            if (!i || strcmp(rows[i].library, rows[i - 1].library))
                puts(rows[i].library);
        return 0;
    }
    snprintf(path, sizeof path, "%s/%s", argv[1], argv[2]);
    void *library = open_library(path);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].library, argv[2]))
            continue;
        printf("%s: ", rows[i].name);
        call(&rows[i], find_in(library, rows[i].name));
    }
    close_library(library);
    return 0;
}
