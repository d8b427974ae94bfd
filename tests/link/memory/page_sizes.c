/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Pages of 4, 16 and 64 KiB, as systems for AArch64 have them: code, constants and data never share one, in memory and
 * in files. */

#include <stdlib.h>

#include "elf_builder.h"
#include "link/file/detached.h"
#include "link/file/output.h"

static const size_t page_sizes[] = {4 << 10, 16 << 10, 64 << 10};

static const uint8_t contents[64];
static const struct tn_format *const formats[] = {&tn_format_elf_aarch64, NULL};

/* Code, constants and data, whose names end in a number. */
static struct bytes make_object(unsigned number)
{
    static struct elf elf;
    char names[3][16];
    memset(&elf, 0, sizeof elf);
    for (int i = 0; i < 3; i++)
        snprintf(names[i], sizeof names[i], "%s%u", (const char *const[]){"code", "constants", "data"}[i], number);
    unsigned text = elf_code(&elf, contents, sizeof contents);
    unsigned rodata = elf_section(&elf, ".rodata", SHT_PROGBITS, SHF_ALLOC, contents, sizeof contents);
    unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, contents, sizeof contents);
    elf_function(&elf, names[0], text, 0);
    elf_symbol(&elf, names[1], STB_GLOBAL, STT_OBJECT, rodata, 0, 8);
    elf_symbol(&elf, names[2], STB_GLOBAL, STT_OBJECT, data, 0, 8);
    struct bytes file = elf_finish(&elf);
    elf_header(file)->e_machine = EM_AARCH64;
    return file;
}

static void check_apart(const uint64_t *addresses, size_t count, size_t kinds, size_t page)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (i % kinds != k % kinds)
                assert_int_not_equal(addresses[i] / page, addresses[k] / page);
}

static void test_sessions(void **state)
{
    (void)state;
    enum { OBJECTS = 8, KINDS = 3 };
    for (size_t p = 0; p < COUNT(page_sizes); p++) {
        const struct tn_session_options options = {.size = sizeof options, .formats = formats};
        struct tn__detached where = {.address = 0x10000000, .size = 8 << 20, .page_size = page_sizes[p]};
        struct fixture f;
        struct tn_error err;
        uint64_t addresses[OBJECTS * KINDS];
        assert_ok(tn__session_create_detached(&options, &where, &f.session, &err), &err);
        assert_ok(tn_library_create(f.session, "library", &f.library, &err), &err);
        for (unsigned i = 0; i < OBJECTS; i++) {
            struct bytes object = make_object(i);
            char name[16];
            add_bytes(&f, "object.o", object.at, object.size);
            link_all(&f);
            for (unsigned k = 0; k < KINDS; k++) {
                snprintf(name, sizeof name, "%s%u", (const char *const[]){"code", "constants", "data"}[k], i);
                addresses[i * KINDS + k] = (uintptr_t)lookup(&f, name);
            }
            free(object.at);
        }
        check_apart(addresses, COUNT(addresses), KINDS, page_sizes[p]);
        close_fixture(&f);
    }
}

/* Segments of a file, which may be loaded at any multiple of the largest page. */
static void test_files(void **state)
{
    (void)state;
    for (size_t p = 0; p < COUNT(page_sizes); p++) {
        const struct tn__output_options options = {.name = "out", .formats = formats, .page_size = page_sizes[p]};
        struct bytes object = make_object(0);
        const struct tn_input input = {
            .size = sizeof input, .name = "object.o", .bytes = object.at, .length = object.size};
        struct tn__output *output;
        struct tn_error err;
        assert_ok(tn__output_link(&options, &input, 1, &output, &err), &err);
        uint64_t last = 0;
        for (size_t i = 0; i < TN__OUTPUT_SEGMENTS; i++) {
            const struct tn__output_segment *segment = &output->segments[i];
            if (!segment->size)
                continue;
            assert_int_equal((segment->address - segment->offset) % page_sizes[p], 0);
            assert_true(i == 0 || segment->address / page_sizes[p] > last);
            last = (segment->address + segment->size - 1) / page_sizes[p];
        }
        tn__output_free(output);
        free(object.at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sessions), cmocka_unit_test(test_files)};
    return cmocka_run_group_tests_name("link/page sizes", tests, NULL, NULL);
}
