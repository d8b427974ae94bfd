/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Files with objects that are damaged, by chance or on purpose. */

#include <stdio.h>
#include <elf.h>
#include <unistd.h>

#include "base/base.h"
#include "image/format/format.h"
#include "zones.h"

/* Opens the bytes as a file in memory, and uses what comes of it. Returns the code. */
static int try(const uint8_t *bytes, size_t size, uint64_t flags)
{
    struct tn_heap *heap;
    struct tn_image *image = NULL;
    const struct tn_heap_options plain = {.size = sizeof plain};
    assert_int_equal(tn_heap_create(&plain, &heap, &err), 0);
    struct tn_image_load_options options = zones_options(heap, flags);
    int code = tn_image_open_memory("bad", bytes, size, &options, &image, &err);
    if (code == 0 && (flags & TN_IMAGE_VERIFY)) {
        struct tn_handle *root;
        assert_int_equal(tn_handle_of(heap, NULL, &root, &err), 0);
        tn_image_root(image, "root", root, &err);
        tn_handle_type(root);
        tn_heap_collect(heap, 0);
    }
    tn_heap_destroy(heap);
    tn_image_close(image);
    return code;
}

static bool is_refusal(int code)
{
    return code == TN_EFORMAT || code == TN_ENOTSUP || code == TN_EUNDEF || code == TN_ENOMEM;
}

static void changed_bytes_are_found(void **state)
{
    const char *path = saved_path("flip");
    size_t size;
    (void)state;
    zones_make(path, "flip");
    uint8_t *bytes = saved_read(path, &size), *copy = malloc(size);
    size_t header = zones_header(bytes, size), tables = tn__get32(bytes + header + TN__IMAGE_AT_SIZE);
    assert_int_equal(try(bytes, size, TN_IMAGE_VERIFY), 0);
    for (size_t at = header; at < header + tables; at++) { /* the checksum finds each; signed, whatever it means */
        memcpy(copy, bytes, size);
        copy[at] ^= (uint8_t)(1 << at % 8);
        assert_true(is_refusal(try(copy, size, 0)));
        zones_sign(copy, size, header);
        int code = try(copy, size, TN_IMAGE_VERIFY);
        assert_true(code == 0 || is_refusal(code));
        code = try(copy, size, TN_IMAGE_RELOCATE);
        assert_true(code == 0 || is_refusal(code));
    }
    free(bytes);
    free(copy);
    unlink(path);
}

/* Each byte of the zones that is not zero, and some that are: with the right checksum, only the check of objects can
 * find it. */
static void changed_objects_are_found(void **state)
{
    const char *path = saved_path("objects");
    size_t size, tried = 0, found = 0;
    (void)state;
    zones_make(path, "objects");
    uint8_t *bytes = saved_read(path, &size), *copy = malloc(size);
    size_t header = zones_header(bytes, size);
    for (size_t at = 4096; at < header; at++) {
        bool is_used = bytes[at] || (at % 4096 < 512 && at % 3 == 0);
        if (!is_used)
            continue;
        memcpy(copy, bytes, size);
        copy[at] ^= (uint8_t)(1 << at % 8);
        assert_int_equal(try(copy, size, TN_IMAGE_VERIFY), TN_EFORMAT);
        zones_sign(copy, size, header);
        int code = try(copy, size, TN_IMAGE_VERIFY | (at % 2 ? TN_IMAGE_RELOCATE : 0));
        assert_true(code == 0 || is_refusal(code));
        tried++;
        found += code != 0;
    }
    assert_true(tried > 300 && found > 100);
    free(bytes);
    free(copy);
    unlink(path);
}

/* The word of a root, and so any reference, has to lead to the start of an object. */
static void references_lead_to_starts(void **state)
{
    const char *path = saved_path("starts");
    size_t size;
    (void)state;
    zones_make(path, "starts");
    uint8_t *bytes = saved_read(path, &size);
    uint32_t rows;
    size_t header = zones_header(bytes, size), table = zones_table(bytes, size, TN__IMAGE_ROOT_TABLE, &rows),
           root = 4096 + tn__get64(bytes + table + TN__IMAGE_ROOT_PLACE);
    for (uint64_t distance = 8; distance <= 1 << 20; distance *= 2) {
        uint64_t reference = tn__get64(bytes + root);
        tn__put64(bytes + root, reference + distance);
        zones_sign(bytes, size, header);
        assert_int_equal(try(bytes, size, TN_IMAGE_VERIFY), TN_EFORMAT);
        assert_non_null(strstr(err.text, "a reference leads "));
        tn__put64(bytes + root, reference);
    }
    zones_sign(bytes, size, header);
    assert_int_equal(try(bytes, size, TN_IMAGE_VERIFY), 0);
    free(bytes);
    unlink(path);
}

static void truncated_files_are_refused(void **state)
{
    const char *path = saved_path("cut");
    size_t size;
    (void)state;
    zones_make(path, "cut");
    uint8_t *bytes = saved_read(path, &size);
    size_t header = zones_header(bytes, size), end = header + tn__get32(bytes + header + TN__IMAGE_AT_SIZE);
    for (size_t length = 1; length < end; length += length % 4096 < 700 || length > header ? 1 : 61)
        assert_true(is_refusal(try(bytes, length, length % 2 ? TN_IMAGE_RELOCATE : 0)));
    free(bytes);
    unlink(path);
}

/* One field is changed, of the first row of a table or of what follows it; and what is said. */
enum { HEADER = 99 };
static const struct {
    uint32_t table, field, size;
    uint64_t value;
    int code;
    const char *text;
} wrong_fields[] = {
    {HEADER, TN__IMAGE_AT_GC_ABI, 4, 77, TN_ENOTSUP, "managed code or objects for version 77"},
    {TN__IMAGE_ZONE_TABLE, TN__IMAGE_ZONE_KIND, 4, 9, TN_EFORMAT, "a zone of kind 9"},
    {TN__IMAGE_ZONE_TABLE, TN__IMAGE_ZONE + TN__IMAGE_ZONE_KIND, 4, 0, TN_EFORMAT, "a zone of kind 0"},
    {TN__IMAGE_ZONE_TABLE, TN__IMAGE_ZONE + TN__IMAGE_ZONE_KIND, 4, 3, TN_EFORMAT, "the bound zone comes too late"},
    {TN__IMAGE_ZONE_TABLE, TN__IMAGE_ZONE_PAGE, 4, 1024, TN_ENOTSUP, "for pages of at most 1024 bytes"},
    {TN__IMAGE_ZONE_TABLE, TN__IMAGE_ZONE_PLACE, 8, 0, TN_EFORMAT, "1 places; 0 slots"},
    {TN__IMAGE_ZONE_TABLE, TN__IMAGE_ZONE_PLACE, 8, 4096, TN_EFORMAT, "the frozen zone: "},
    {TN__IMAGE_ZONE_TABLE, TN__IMAGE_ZONE_PLACE, 8, 4096 - 64, TN_EFORMAT, "is not a segment"},
    {TN__IMAGE_ZONE_TABLE, TN__IMAGE_ZONE_SIZE, 8, 0, TN_EFORMAT, "bytes of objects in 0 bytes"},
    {TN__IMAGE_ZONE_TABLE, TN__IMAGE_ZONE_SIZE, 8, 1 << 20, TN_EFORMAT, "is not a segment"},
    {TN__IMAGE_ZONE_TABLE, TN__IMAGE_ZONE_OBJECTS, 8, 1 << 20, TN_EFORMAT, "the frozen zone: 1048576 bytes"},
    {TN__IMAGE_ZONE_TABLE, TN__IMAGE_ZONE_ADDRESS, 8, 4096, TN_EFORMAT, "is intended for 0x1000"},
    {TN__IMAGE_ZONE_TABLE, TN__IMAGE_ZONE + TN__IMAGE_ZONE_ADDRESS, 8, 4096, TN_EFORMAT, "is intended for 0x1000"},
    {TN__IMAGE_LIST_TABLE, TN__IMAGE_LIST_OF, 4, 9, TN_EFORMAT, "list 0: of kind 9"},
    {TN__IMAGE_LIST_TABLE, TN__IMAGE_LIST_INDEX, 4, 9, TN_EFORMAT, "list 0: of kind 0, number 9"},
    {TN__IMAGE_LIST_TABLE, TN__IMAGE_LIST_PLACE, 8, 1 << 30, TN_EFORMAT, "outside of its segments"},
    {TN__IMAGE_LIST_TABLE, TN__IMAGE_LIST_SIZE, 8, 8, TN_EFORMAT, "list 0: its checksum is wrong"},
    {TN__IMAGE_LIST_TABLE, TN__IMAGE_LIST_SIZE, 8, 1 << 30, TN_EFORMAT, "outside of its segments"},
    {TN__IMAGE_LIST_TABLE, TN__IMAGE_LIST_SUM, 8, 1, TN_EFORMAT, "list 0: its checksum is wrong"},
    {TN__IMAGE_BINDING_TABLE, TN__IMAGE_BINDING_NAME, 4, 1 << 20, TN_EFORMAT, "binding 0: its name"},
    {TN__IMAGE_BINDING_TABLE, TN__IMAGE_BINDING_PLACE, 8, 1 << 20, TN_EFORMAT, "binding 0: its name or its word"},
    {TN__IMAGE_BINDING_TABLE, TN__IMAGE_BINDING_PLACE, 8, 4100, TN_EFORMAT, "binding 0: its name or its word"},
    {TN__IMAGE_TYPE_TABLE, TN__IMAGE_TYPE_NAME, 4, 1 << 20, TN_EFORMAT, "type 0: its name"},
    {TN__IMAGE_TYPE_TABLE, TN__IMAGE_TYPE_FLAGS, 4, 2, TN_EFORMAT, "type 0: its name"},
    {TN__IMAGE_TYPE_TABLE, TN__IMAGE_TYPE_PLACE, 8, 1 << 20, TN_EFORMAT, "type 0: its name or its descriptor"},
    {TN__IMAGE_TYPE_TABLE, TN__IMAGE_TYPE_PLACE, 8, 8, TN_EFORMAT, "type 0: its name or its descriptor"},
    {TN__IMAGE_ROOT_TABLE, TN__IMAGE_ROOT_NAME, 4, 1 << 20, TN_EFORMAT, "root 0: its name"},
    {TN__IMAGE_ROOT_TABLE, TN__IMAGE_ROOT_PLACE, 8, 1 << 20, TN_EFORMAT, "root 0: its name or its place"},
    {TN__IMAGE_ROOT_TABLE, TN__IMAGE_ROOT_PLACE, 8, 4, TN_EFORMAT, "root 0: its name or its place"},
};

static void wrong_fields_are_named(void **state)
{
    const char *path = saved_path("fields");
    size_t size;
    uint32_t rows;
    (void)state;
    zones_make(path, "fields");
    uint8_t *bytes = saved_read(path, &size), *copy = malloc(size);
    size_t header = zones_header(bytes, size);
    for (size_t i = 0; i < TN_COUNT(wrong_fields); i++) {
        memcpy(copy, bytes, size);
        size_t at = wrong_fields[i].table == HEADER ? header : zones_table(copy, size, wrong_fields[i].table, &rows);
        memcpy(copy + at + wrong_fields[i].field, &wrong_fields[i].value, wrong_fields[i].size);
        zones_sign(copy, size, header);
        int code = try(copy, size, TN_IMAGE_RELOCATE);
        if (code != wrong_fields[i].code || !strstr(err.text, wrong_fields[i].text))
            print_error("case %zu: %d, %s\n", i, code, err.text);
        assert_int_equal(code, wrong_fields[i].code);
        assert_non_null(strstr(err.text, wrong_fields[i].text));
    }
    free(bytes);
    free(copy);
    unlink(path);
}

/* Zones lie in the part of a segment that is in the file, and what is frozen in one that is read only. */
static void zones_lie_in_segments(void **state)
{
    static const struct {
        size_t segment, field;
        uint64_t value;
    } cases[] = {{1, offsetof(Elf64_Phdr, p_filesz), 2048},
                 {4, offsetof(Elf64_Phdr, p_filesz), 2048},
                 {1, offsetof(Elf64_Phdr, p_flags), PF_R | PF_W},
                 {4, offsetof(Elf64_Phdr, p_flags), PF_R}};
    const char *path = saved_path("segments");
    size_t size;
    (void)state;
    zones_make(path, "segments");
    uint8_t *bytes = saved_read(path, &size), *copy = malloc(size);
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        memcpy(copy, bytes, size);
        memcpy(copy + sizeof(Elf64_Ehdr) + cases[i].segment * sizeof(Elf64_Phdr) + cases[i].field, &cases[i].value,
               cases[i].field == offsetof(Elf64_Phdr, p_flags) ? 4 : 8);
        zones_sign(copy, size, zones_header(copy, size));
        assert_int_equal(try(copy, size, 0), TN_EFORMAT);
        assert_non_null(strstr(err.text, "is not a segment"));
    }
    free(bytes);
    free(copy);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_bytes_are_found),   cmocka_unit_test(changed_objects_are_found),
        cmocka_unit_test(references_lead_to_starts), cmocka_unit_test(truncated_files_are_refused),
        cmocka_unit_test(wrong_fields_are_named),    cmocka_unit_test(zones_lie_in_segments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
