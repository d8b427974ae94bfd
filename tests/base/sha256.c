/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* SHA-256: the examples of its standard, coreutils' sha256sum for every length around the ends of blocks, pieces of
 * every size, and both implementations against each other. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/sha256/sha256.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { LONGEST = 300 };

static void write_hex(const uint8_t digest[TN__SHA256_SIZE], char text[65])
{
    for (int i = 0; i < TN__SHA256_SIZE; i++)
        sprintf(text + 2 * i, "%02x", digest[i]);
}

static void assert_digest(const void *bytes, size_t size, const char *expected)
{
    uint8_t digest[TN__SHA256_SIZE];
    char text[65];
    tn__sha256_of(bytes, size, digest);
    write_hex(digest, text);
    assert_string_equal(text, expected);
}

/* NIST's examples for FIPS 180-4. */
static void examples(void **state)
{
    (void)state;
    static const struct {
        const char *text, *digest;
    } rows[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_digest(rows[i].text, strlen(rows[i].text), rows[i].digest);
}

static void fill(uint8_t *bytes, size_t size)
{
    uint32_t x = 1;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 24);
}

/* One process for all lengths: each is a file. */
static void as_sha256sum(void **state)
{
    (void)state;
    char folder[] = "/tmp/tenon-sha-XXXXXX", path[100];
    static uint8_t bytes[LONGEST];
    fill(bytes, sizeof bytes);
    assert_non_null(mkdtemp(folder));
    for (size_t size = 0; size < LONGEST; size++) {
        snprintf(path, sizeof path, "%s/%03zu", folder, size);
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(bytes, 1, size, file), size);
        assert_int_equal(fclose(file), 0);
    }
    snprintf(path, sizeof path, "sha256sum %s/*", folder);
    FILE *oracle = popen(path, "r");
    assert_non_null(oracle);
    char line[200];
    size_t size = 0;
    for (; fgets(line, sizeof line, oracle); size++) {
        line[64] = 0;
        assert_digest(bytes, size, line);
        snprintf(path, sizeof path, "%s/%03zu", folder, size);
        unlink(path);
    }
    assert_int_equal(size, LONGEST);
    assert_int_equal(pclose(oracle), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void in_pieces(void **state)
{
    (void)state;
    static uint8_t bytes[LONGEST];
    uint8_t whole[TN__SHA256_SIZE], pieces[TN__SHA256_SIZE];
    fill(bytes, sizeof bytes);
    tn__sha256_of(bytes, sizeof bytes, whole);
    for (size_t step = 1; step <= LONGEST; step++) {
        struct tn__sha256 sha;
        tn__sha256_begin(&sha);
        for (size_t at = 0; at < LONGEST; at += step) {
            tn__sha256_add(&sha, bytes + at, LONGEST - at < step ? LONGEST - at : step);
            tn__sha256_add(&sha, bytes, 0);
        }
        tn__sha256_end(&sha, pieces);
        assert_memory_equal(pieces, whole, sizeof whole);
    }
}

static void as_by_this_machine(void **state)
{
    (void)state;
    tn__sha256_blocks *host = tn__sha256_host();
    if (!host)
        skip();
    static uint8_t blocks[64 * 9];
    fill(blocks, sizeof blocks);
    for (size_t count = 0; count <= 9; count++) {
        uint32_t one[8] = {1, 2, 3, 0xfffffff0, 5, 6, 7, 0x80000000}, other[8];
        memcpy(other, one, sizeof one);
        tn__sha256_portable(one, blocks, count);
        host(other, blocks, count);
        assert_memory_equal(one, other, sizeof one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples),
        cmocka_unit_test(as_sha256sum),
        cmocka_unit_test(in_pieces),
        cmocka_unit_test(as_by_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
