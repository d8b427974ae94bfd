/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Truncated COFF objects, and those with one spoiled bit or byte, are either linked, or refused without leaving
 * anything behind. Each allocation fails once, while they are read and linked. */

#include "coff_big.h"
#include "spoil.h"

#include <stdlib.h>

/* ELF too, for the object that is linked after errors. */
static const struct tn_format *const formats[] = {&tn_format_coff_x86_64, &tn_format_elf_x86_64, NULL};

static struct bytes object(const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "windows/%s.o", name);
    return read_bytes(data_file(path));
}

static void test_prefixes(void **state)
{
    (void)state;
    spoil_prefixes(object("small.msvc"), SPOIL_HERE);
    spoil_prefixes(coff_big(object("small.msvc")), SPOIL_HERE);
}

static void test_bytes(void **state)
{
    (void)state;
    spoil_bytes(object("small.msvc"), SPOIL_HERE);
}

static void test_bytes_of_a_big_object(void **state)
{
    (void)state;
    spoil_bytes(coff_big(object("small.msvc")), SPOIL_HERE);
}

/* ---- allocations ---- */

static long left; /* allocations until one fails */

static void *allocate(void *unused, size_t size)
{
    (void)unused;
    return left && !--left ? NULL : malloc(size);
}

static void *reallocate(void *unused, void *block, size_t size)
{
    (void)unused;
    return left && !--left ? NULL : realloc(block, size);
}

static void release(void *unused, void *block)
{
    (void)unused;
    free(block);
}

static void test_allocations(void **state)
{
    (void)state;
    static const struct tn_allocator allocator = {NULL, allocate, reallocate, release};
    struct bytes first = object("comdat_1.msvc"), second = object("comdat_2.msvc"), small = object("small.msvc");
    bool failed = true;
    for (long n = 1; failed; n++) {
        const struct tn_session_options options = {.size = sizeof options,
                                                   .formats = formats,
                                                   .allocator = &allocator,
                                                   .initializers = TN_INITIALIZERS_MANUAL};
        struct fixture f = open_fixture(&options);
        struct tn_error err;
        left = n;
        const struct bytes objects[] = {first, second, small};
        int code = 0;
        for (size_t i = 0; !code && i < COUNT(objects); i++)
            code = try_add_bytes(&f, "object", objects[i].at, objects[i].size, &err);
        if (!code)
            code = tn_link(f.library, &err);
        failed = !left; /* used up */
        left = 0;
        if (code)
            assert_error(code, TN_ENOMEM, &err, "memory");
        for (size_t i = 0; code && i < COUNT(objects); i++) { /* those that were added clash */
            int again = try_add_bytes(&f, "again", objects[i].at, objects[i].size, &err);
            assert_true(!again || again == TN_EDUP);
        }
        assert_ok(tn_link(f.library, &err), &err);
        assert_ptr_equal((char *)lookup(&f, "inside_largest") - 7, lookup(&f, "largest"));
        close_fixture(&f);
        assert_true(n < 5000);
    }
    free(first.at);
    free(second.at);
    free(small.at);
}

int main(void)
{
    spoil_formats = formats;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_bytes_of_a_big_object),
        cmocka_unit_test(test_allocations),
    };
    return cmocka_run_group_tests_name("link/coff_corrupt", tests, NULL, NULL);
}
