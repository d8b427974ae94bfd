/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Opening images that are sound, spoiled, cut off, and not for this machine. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "image/load/image.h"
#include "sample.h"
#include "tenon.h"
#include "tenon_gc.h"

static uint8_t bytes[SAMPLE_SIZE];

static int fresh(void **state)
{
    (void)state;
    sample_make(bytes, sample_machine());
    return 0;
}

static int open_sample(size_t size, struct tn_image **image, struct tn_error *err)
{
    void *end = malloc(size); /* of its own, so that sanitizers see its end */
    memcpy(end, bytes, size);
    int code = tn_image_open_memory("sample", end, size, NULL, image, err);
    free(end);
    return code;
}

static size_t mappings(void)
{
    size_t count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    for (int c; (c = getc(maps)) != EOF;)
        count += c == '\n';
    fclose(maps);
    return count;
}

static void opens_what_is_sound(void **state)
{
    (void)state;
    struct tn_image *image;
    struct tn_error err;
    struct tn_image_function function = {.size = sizeof function};
    assert_int_equal(open_sample(SAMPLE_SIZE, &image, &err), 0);
    assert_int_equal(tn_image_target_count(image), 2);
    assert_int_equal(tn_image_chosen(image), 1); /* the last of equals */
    assert_string_equal(tn_image_target(image, 1)->name, "wide");
    uint8_t *start = (uint8_t *)image->file->mapping.start;
    assert_ptr_equal(tn_image_lookup(image, "one"), start + SAMPLE_CODE);
    assert_ptr_equal(tn_image_lookup(image, "two"), start + SAMPLE_CODE + 32);
    assert_null(tn_image_lookup(image, "three"));
    assert_null(tn_image_lookup(image, ""));
    assert_ptr_equal(*(void **)(void *)(start + SAMPLE_SLOTS), start + SAMPLE_CODE + 32);
    assert_ptr_equal(*(void **)(void *)(start + SAMPLE_DATA), start + SAMPLE_CODE);
    assert_int_equal(tn_image_function_count(image), 2);
    assert_int_equal(tn_image_function(image, 0, &function, &err), 0);
    assert_string_equal(function.name, "two");
    assert_int_equal(function.slot, 0);
    assert_int_equal(function.clones, 3);
    assert_int_equal(tn_image_function(image, 2, &function, &err), TN_EINVAL);
    tn_image_close(image);
    tn_image_close(NULL);
}

/* By name and by index; with an entry and without; what has code keeps it; and nothing if one is missing. */
static void sets_instances(void **state)
{
    (void)state;
    static char entry, other;
    static const struct tn_instance_entries entries = {NULL, NULL};
    struct tn_instance instances[3];
    struct tn_image *image;
    struct tn_error err;
    for (int i = 0; i < 3; i++)
        tn_instance_init(&instances[i], &entries);
    assert_int_equal(open_sample(SAMPLE_SIZE, &image, &err), 0);
    struct tn_image_instance rows[] = {
        {.instance = &instances[0], .name = "one", .invoke = &entry, .specsigflags = TN_INSTANCE_SPECSIG},
        {.instance = &instances[1], .index = 0},
        {.instance = &instances[2], .name = "two"},
        {.instance = &instances[2], .index = 2},
        {.instance = &instances[2], .name = "three"},
    };
    assert_int_equal(tn_instance_publish(&instances[2], &(struct tn_instance_code){.invoke = &other}, NULL, &err), 0);
    assert_int_equal(tn_image_publish(image, rows, 5, NULL, &err), TN_EUNDEF);
    assert_string_equal(err.text, "the image does not have: #2, three");
    assert_null(tn_instance_read(&instances[0], 1).invoke);
    assert_int_equal(tn_image_publish(image, rows, 3, NULL, &err), 0);
    struct tn_instance_code one = tn_instance_read(&instances[0], 1), two = tn_instance_read(&instances[1], 1);
    assert_ptr_equal(one.invoke, &entry);
    assert_ptr_equal(one.specptr, tn_image_lookup(image, "one"));
    assert_int_equal(one.specsigflags, TN_INSTANCE_READY | TN_INSTANCE_SPECSIG);
    assert_ptr_equal(two.invoke, tn_image_lookup(image, "two"));
    assert_null(two.specptr);
    assert_ptr_equal(tn_instance_read(&instances[2], 1).invoke, &other);
    rows[0].specsigflags = 64;
    assert_int_equal(tn_image_publish(image, rows, 1, NULL, &err), TN_EINVAL);
    for (int i = 0; i < 3; i++)
        tn_instance_finish(&instances[i]);
    tn_image_close(image);
}

/* Header and tables are covered by the checksum, all of them. */
static void refuses_every_spoiled_byte(void **state)
{
    (void)state;
    struct tn_image *image;
    struct tn_error err;
    size_t before = mappings();
    for (size_t at = SAMPLE_IMAGE; at < SAMPLE_PLACES; at++)
        for (int bit = 0; bit < 8; bit++) {
            bytes[at] ^= (uint8_t)(1 << bit);
            assert_int_not_equal(open_sample(SAMPLE_SIZE, &image, &err), 0);
            assert_null(image);
            bytes[at] ^= (uint8_t)(1 << bit);
        }
    assert_int_equal(mappings(), before);
}

/* With a checksum that fits, a byte may be wrong or merely different; what is accepted can be used. */
static void survives_signed_nonsense(void **state)
{
    (void)state;
    static const uint8_t values[] = {0, 1, 2, 0x7f, 0x80, 0xff};
    struct tn_image *image;
    struct tn_error err;
    size_t before = mappings();
    for (size_t at = SAMPLE_IMAGE; at < SAMPLE_PLACES + 16; at++)
        for (size_t i = 0; i < sizeof values; i++) {
            uint8_t old = bytes[at];
            bytes[at] = values[i];
            if (at - SAMPLE_IMAGE < 12 || at - SAMPLE_IMAGE >= 24)
                sample_sign(bytes);
            if (open_sample(SAMPLE_SIZE, &image, &err) == 0) {
                (void)tn_image_lookup(image, "two");
                tn_image_close(image);
            }
            bytes[at] = old;
            sample_sign(bytes);
        }
    assert_int_equal(mappings(), before);
}

static void put(size_t at, uint32_t value)
{
    memcpy(bytes + at, &value, sizeof value);
}

enum {
    CELL_ROW = SAMPLE_DIRECTORY + 6 * 20, /* of the directory */
    CELLS = SAMPLE_SLOTS + 64,
    CELL_PLACES = SAMPLE_PLACES + 5 * 4,
    ENTRY = SAMPLE_CODE + 48
};

/* The function with one version gets a cell; the table lies where the sample has no rows. */
static void make_replaceable(void)
{
    const uint32_t row[] = {16, 1, 4, SAMPLE_DEPENDENCY - SAMPLE_IMAGE, 1};
    memcpy(bytes + CELL_ROW, row, sizeof row);
    put(SAMPLE_DEPENDENCY, 1);
    put(SAMPLE_DEPENDENCY + 4, 0);
    put(SAMPLE_IMAGE + 60, 7);
    put(CELL_PLACES, CELLS - SAMPLE_IMAGE);
    put(CELL_PLACES + 4, ENTRY - SAMPLE_IMAGE);
    sample_sign(bytes);
}

static uint64_t word_at(const uint8_t *start, size_t index)
{
    return ((const uint64_t *)(const void *)(start + CELLS))[index];
}

static void redirects_by_cells(void **state)
{
    (void)state;
    static char other;
    struct tn_image *image;
    struct tn_error err;
    struct tn_image_function function = {.size = sizeof function};
    make_replaceable();
    assert_int_equal(open_sample(SAMPLE_SIZE, &image, &err), 0);
    const uint8_t *start = (uint8_t *)image->file->mapping.start;
    assert_ptr_equal(tn_image_lookup(image, "one"), start + ENTRY);
    assert_ptr_equal(tn_image_lookup(image, "two"), start + SAMPLE_CODE + 32);
    assert_int_equal(tn_image_function(image, 1, &function, &err), 0);
    assert_true(function.is_replaceable && function.address == start + ENTRY);
    assert_ptr_equal(function.version, start + SAMPLE_CODE);
    assert_int_equal(tn_image_function(image, 0, &function, &err), 0);
    assert_false(function.is_replaceable);
    assert_ptr_equal(function.version, function.address);
    assert_int_equal(word_at(start, 0), 0);
    assert_int_equal(tn_image_redirect(image, "one", &other, &err), 0);
    assert_int_equal(word_at(start, 0), (uintptr_t)&other);
    assert_int_equal(tn_image_redirect(image, "one", start + ENTRY, &err), TN_EINVAL);
    assert_string_equal(err.text, "'one' would lead to itself");
    assert_int_equal(word_at(start, 0), (uintptr_t)&other);
    assert_int_equal(tn_image_redirect(image, "one", NULL, &err), 0);
    assert_int_equal(word_at(start, 0), (uintptr_t)start + SAMPLE_CODE);
    assert_int_equal(word_at(start, 1), 0);
    assert_int_equal(tn_image_redirect(image, "two", &other, &err), TN_ENOTSUP);
    assert_string_equal(err.text, "'two' of image sample was built with direct calls; --replaceable");
    assert_int_equal(tn_image_redirect(image, "three", &other, &err), TN_EUNDEF);
    assert_string_equal(err.text, "'three' is not a public function of image sample");
    assert_int_equal(tn_image_redirect(NULL, "one", &other, &err), TN_EINVAL);
    assert_int_equal(tn_image_redirect(image, NULL, &other, &err), TN_EINVAL);
    tn_image_close(image);
}

static void opens_unspoiled(void)
{
    struct tn_image *image;
    struct tn_error err;
    assert_int_equal(open_sample(SAMPLE_SIZE, &image, &err), 0);
    tn_image_close(image);
}

/* As above; what is accepted can be redirected. */
static void survives_signed_nonsense_of_cells(void **state)
{
    (void)state;
    static const uint8_t values[] = {0, 1, 2, 0x7f, 0x80, 0xff};
    struct tn_image *image;
    struct tn_error err;
    make_replaceable();
    opens_unspoiled();
    for (size_t at = SAMPLE_IMAGE; at < CELL_PLACES + 8; at++)
        for (size_t i = 0; i < sizeof values; i++) {
            uint8_t old = bytes[at];
            bytes[at] = values[i];
            if (at - SAMPLE_IMAGE < 12 || at - SAMPLE_IMAGE >= 24)
                sample_sign(bytes);
            if (open_sample(SAMPLE_SIZE, &image, &err) == 0) {
                const void *entry = tn_image_lookup(image, "one");
                (void)tn_image_redirect(image, "one", &old, &err);
                (void)tn_image_redirect(image, "two", entry, &err);
                (void)tn_image_redirect(image, "one", NULL, &err);
                tn_image_close(image);
            }
            bytes[at] = old;
            sample_sign(bytes);
        }
    opens_unspoiled();
}

static void refuses_every_truncation(void **state)
{
    (void)state;
    struct tn_image *image;
    struct tn_error err;
    for (size_t size = 1; size < SAMPLE_SIZE; size += size < 0x800 ? 1 : 97) {
        assert_int_not_equal(open_sample(size, &image, &err), 0);
        assert_null(image);
    }
    assert_int_equal(tn_image_open_memory("none", bytes, 0, NULL, &image, &err), TN_EINVAL);
}

static void expect(int code, const char *text)
{
    struct tn_image *image;
    struct tn_error err;
    sample_sign(bytes);
    assert_int_equal(open_sample(SAMPLE_SIZE, &image, &err), code);
    if (!strstr(err.text, text))
        fail_msg("'%s' does not say '%s'", err.text, text);
}

/* A field of the header or a row, and what is said of it. */
static void names_what_differs(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
        int code;
        const char *text;
    } rows[] = {
        {SAMPLE_IMAGE, 0x88, TN_EFORMAT, "not an image"},
        {SAMPLE_IMAGE + 8, 3, TN_ENOTSUP, "format version 3; this runtime reads version 4"},
        {SAMPLE_IMAGE + 24, 1, TN_EFORMAT, "byte order"},
        {SAMPLE_IMAGE + 28, 0x55, TN_EFORMAT, "ELF machine 85"},
        {SAMPLE_IMAGE + 30, 4, TN_EFORMAT, "pointers of 4 bytes"},
        {SAMPLE_IMAGE + 31, 2, TN_ENOTSUP, "system 2"},
        {SAMPLE_IMAGE + 32, TN_RUNTIME_ABI + 1, TN_ENOTSUP, "runtime ABI"},
        {SAMPLE_IMAGE + 56, 3, TN_EFORMAT, "3 slots for 2 functions"},
        {SAMPLE_IMAGE + 60, 6, TN_EFORMAT, "6 places; 1 slots, 2 targets and 2 functions need 5"},
        {SAMPLE_IMAGE + 64, 5, TN_EFORMAT, "no table of text"},
        {SAMPLE_IMAGE + 64 + 3, 1, TN_EFORMAT, "directory of 16777225 rows of 20 bytes"},
        {SAMPLE_IMAGE + 68, 16, TN_EFORMAT, "directory of 9 rows of 16 bytes"},
        {SAMPLE_IMAGE + 72, 40, TN_EFORMAT, "the image's name lies outside"},
        {SAMPLE_IMAGE + 76, TN_GC_ABI - 1, TN_ENOTSUP, "of the collector's ABI; this runtime's is"},
        {SAMPLE_IMAGE + 88, 1, TN_EFORMAT, "byte 88 of the header is not zero"},
        {SAMPLE_DIRECTORY, 5, TN_EFORMAT, "table of text: rows of 80 bytes, not 1"},
        {SAMPLE_DIRECTORY + 6 * 20 + 4, 1, TN_ENOTSUP, "table of kind 77, without which it cannot be opened"},
        {SAMPLE_DIRECTORY + 6 * 20, 14, TN_EFORMAT, "table of values: rows of 3 bytes, not 8"},
        {SAMPLE_DIRECTORY + 6 * 20, 20, TN_EFORMAT, "table of reliances: rows of 3 bytes, not 8"},
        {SAMPLE_DIRECTORY + 6 * 20 + 4, 2, TN_EFORMAT, "table of an unknown kind: flags 0x2"},
        {SAMPLE_DIRECTORY + 6 * 20 + 17, 9, TN_EFORMAT, "table of an unknown kind: 2309 rows of 3 bytes"},
        {SAMPLE_DIRECTORY, 3, TN_EFORMAT, "two tables of host symbols"},
        {SAMPLE_DIRECTORY, 99, TN_ENOTSUP, "table of kind 99, without which it cannot be opened"},
        {SAMPLE_DIRECTORY, 6, TN_EFORMAT, "no table of targets"},
        {SAMPLE_DIRECTORY + 4, 3, TN_EFORMAT, "table of targets: flags 0x3, of which 0x1 are known"},
        {SAMPLE_DIRECTORY + 8, 79, TN_EFORMAT, "table of targets: rows of 79 bytes, not 80"},
        {SAMPLE_DIRECTORY + 13, 2, TN_EFORMAT, "table of targets"},
        {SAMPLE_DIRECTORY + 16, 65, TN_EFORMAT, "table of targets"},
        {SAMPLE_DIRECTORY + 4 * 20 + 16, 1, TN_EUNDEF,
         "depends on the image 'sample', which is not among the open ones"},
        {SAMPLE_DIRECTORY + 4 * 20 + 16, 2, TN_EFORMAT, "table of dependencies"},
        {SAMPLE_DIRECTORY + 5 * 20 + 8, 2, TN_EFORMAT, "table of text"},
        {SAMPLE_DIRECTORY + 7 * 20 + 8, 23, TN_EFORMAT, "table of offers: rows of 23 bytes, not 24"},
        {SAMPLE_DIRECTORY + 7 * 20 + 16, 200, TN_EFORMAT, "table of offers: 200 rows of 24 bytes"},
        {SAMPLE_DIRECTORY + 7 * 20 + 16, 0, TN_EFORMAT, "5 places; 1 slots, 2 targets and 2 functions need 4"},
        {SAMPLE_DIRECTORY + 8 * 20 + 8, 23, TN_EFORMAT, "table of edges: rows of 23 bytes, not 24"},
        {SAMPLE_TARGETS, 40, TN_EFORMAT, "target 0: its name lies outside"},
        {SAMPLE_TARGETS + 80 + 8, 1, TN_ENOTSUP, "target 1: flags 0x1"},
        {SAMPLE_TARGETS + 80 + 12, 1, TN_EFORMAT, "target 1: base 1"},
        {SAMPLE_PLACES + 4 + 4 + 1, 0x4c, TN_EFORMAT, "do not all lie in one segment of code"},
        {SAMPLE_PLACES + 3 * 4 + 1, 0x4c, TN_EFORMAT, "do not all lie in one segment of code"},
        {SAMPLE_PLACES + 1, 0x0c, TN_EFORMAT, "slots lie outside of its writable memory"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t old = bytes[rows[i].at];
        bytes[rows[i].at] = rows[i].value;
        expect(rows[i].code, rows[i].text);
        bytes[rows[i].at] = old;
    }
}

/* A row, a place, and what is said of it. */
static void refuses_wrong_cells(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
        const char *text;
    } rows[] = {
        {SAMPLE_DEPENDENCY, 2, "cell 0 is that of function 2, out of order or of 2"},
        {SAMPLE_DEPENDENCY + 3, 0x80, "cell 0 is that of function 2147483649, out of order or of 2"},
        {CELL_ROW + 8, 3, "table of cells: rows of 3 bytes, not 4"},
        {CELL_ROW + 16, 2, "7 places; 1 slots, 2 targets and 2 functions need 8"},
        {CELL_ROW + 16, 0, "7 places; 1 slots, 2 targets and 2 functions need 5"},
        {CELL_ROW + 19, 0xff, "table of cells: 4278190081 rows of 4 bytes"},
        {CELL_PLACES, (CELLS - SAMPLE_IMAGE) % 256 + 4, "cells lie outside of its writable memory"},
        {CELL_PLACES + 1, 0x0c, "cells lie outside of its writable memory"},
        {CELL_PLACES + 3, 0x80, "cells lie outside of its writable memory"},
        {CELL_PLACES + 5, 0x1c, "entries do not all lie in one segment of code"},
        {CELL_PLACES + 7, 0x7f, "entries do not all lie in one segment of code"},
    };
    (void)state;
    make_replaceable();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t old = bytes[rows[i].at];
        bytes[rows[i].at] = rows[i].value;
        expect(TN_EFORMAT, rows[i].text);
        bytes[rows[i].at] = old;
    }
    put(CELL_ROW + 16, 2); /* two cells of one function */
    put(SAMPLE_DEPENDENCY + 4, 1);
    put(SAMPLE_IMAGE + 60, 8);
    put(CELL_PLACES + 8, ENTRY - SAMPLE_IMAGE);
    expect(TN_EFORMAT, "cell 1 is that of function 1, out of order or of 2");
    make_replaceable();
    Elf64_Phdr relro = {.p_type = PT_GNU_RELRO, .p_flags = PF_R, .p_vaddr = SAMPLE_DATA, .p_memsz = 0x1000};
    memcpy(bytes + sizeof(Elf64_Ehdr) + 6 * sizeof relro, &relro, sizeof relro);
    expect(TN_EFORMAT, "cells lie outside of its writable memory");
}

/* A later runtime's rows are longer. */
static void reads_what_it_knows_of_rows(void **state)
{
    struct tn__image_view view;
    struct tn_error err;
    struct tn__arena arena = {0};
    (void)state;
    put(SAMPLE_DIRECTORY + 3 * 20 + 8, 12); /* host symbols: two rows of 12 bytes in place of the dependency */
    put(SAMPLE_DIRECTORY + 3 * 20 + 12, SAMPLE_DEPENDENCY - SAMPLE_IMAGE);
    put(SAMPLE_DIRECTORY + 3 * 20 + 16, 2);
    put(SAMPLE_DEPENDENCY, 15);
    put(SAMPLE_DEPENDENCY + 12, 11);
    sample_sign(bytes);
    assert_int_equal(tn__image_read("later", bytes + SAMPLE_IMAGE, SAMPLE_TABLES, &arena, &view, &err), 0);
    const struct tn__image_rows *needs = &view.tables[TN__IMAGE_NEED_TABLE];
    assert_string_equal(view.text + tn__get32(tn__image_row(needs, 0)), "two");
    assert_string_equal(view.text + tn__get32(tn__image_row(needs, 1)), "one");
    tn__arena_free(&arena);
}

/* Rows of functions are not looked at before they are needed. Whatever is in them, looking is safe. */
static void finds_wrong_functions(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
        const char *text;
    } rows[] = {
        {SAMPLE_FUNCTIONS, 40, "function 0: its name lies outside"},
        {SAMPLE_SETS + 8, 2, "function 'two' lacks a version"},
        {SAMPLE_FUNCTIONS + 4, 2, "function 'two' lacks a version"},
        {SAMPLE_SETS + 8, 7, "function 'two' has versions for more than 2 targets"},
        {SAMPLE_FUNCTIONS + 8 + 4, 1, "function 'one' has versions for more than 1 targets"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tn_image *image;
        struct tn_error err;
        uint8_t old = bytes[rows[i].at];
        bytes[rows[i].at] = rows[i].value;
        sample_sign(bytes);
        assert_int_equal(open_sample(SAMPLE_SIZE, &image, &err), 0);
        (void)tn_image_lookup(image, "two");
        assert_int_equal(tn__image_check_functions("sample", &image->view, &err), TN_EFORMAT);
        if (!strstr(err.text, rows[i].text))
            fail_msg("'%s' does not say '%s'", err.text, rows[i].text);
        tn_image_close(image);
        bytes[rows[i].at] = old;
    }
}

/* Of another image: what is open, what is not, and what was built anew since. */
static void checks_what_it_depends_on(void **state)
{
    (void)state;
    struct tn_image *other, *image;
    struct tn_error err;
    struct tn_image_load_options options = {.size = sizeof options, .images = &other, .image_count = 1};
    assert_int_equal(open_sample(SAMPLE_SIZE, &other, &err), 0);
    bytes[SAMPLE_DIRECTORY + 4 * 20 + 16] = 1;
    sample_sign(bytes);
    assert_int_equal(tn_image_open_memory("sample", bytes, SAMPLE_SIZE, &options, &image, &err), 0);
    tn_image_close(image);
    bytes[SAMPLE_DEPENDENCY + 4 + 15] = 1;
    sample_sign(bytes);
    assert_int_equal(tn_image_open_memory("sample", bytes, SAMPLE_SIZE, &options, &image, &err), TN_ENOTSUP);
    assert_string_equal(err.text,
                        "sample: it depends on the image 'sample' with the build id "
                        "00000000000000000000000000000001; the open one has 00000000000000000000000000000000");
    bytes[SAMPLE_DEPENDENCY] = 40;
    expect(TN_EFORMAT, "dependency 0: its name lies outside of the text");
    tn_image_close(other);
}

/* Another build, of which the edge wants what it has; what it has not is named; and an edge that is wrong. */
static void compares_what_it_uses(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
        int code;
        const char *text;
    } rows[] = {
        {SAMPLE_EDGE, 0, 0, ""},
        {SAMPLE_EDGE + 8, 6, TN_ESTALE,
         "sample: it uses 'one' of the image 'sample': wanted the function wide; found the function"},
        {SAMPLE_EDGE + 4, 15, TN_ESTALE,
         "'two' of the image 'sample': wanted the function; found nothing of this name"},
        {SAMPLE_EDGE, 1, TN_ESTALE, "wanted a variable of 0 bytes, aligned to 0; found the function"},
        {SAMPLE_EDGE, 3, TN_ESTALE, "wanted a type of 0 bytes, aligned to 0; found nothing of this name"},
        {SAMPLE_EDGE + 16, 8, 0, ""}, /* the row that it was in */
        {SAMPLE_EDGE, 5, 0, ""},      /* a body, of which no function has a copy */
        {SAMPLE_EDGE, 7, TN_EFORMAT, "sample: edge 0 is wrong"},
        {SAMPLE_EDGE + 1, 1, TN_EFORMAT, "sample: edge 0 is wrong"},
        {SAMPLE_EDGE + 4, 40, TN_EFORMAT, "sample: edge 0 is wrong"},
        {SAMPLE_EDGE + 11, 0x80, TN_EFORMAT, "sample: edge 0 is wrong"},
    };
    (void)state;
    struct tn_image *other, *image;
    struct tn_error err;
    struct tn_image_load_options options = {.size = sizeof options, .images = &other, .image_count = 1};
    assert_int_equal(open_sample(SAMPLE_SIZE, &other, &err), 0);
    put(SAMPLE_DIRECTORY + 4 * 20 + 16, 1);
    put(SAMPLE_DIRECTORY + 4 * 20 + 8, 32);
    put(SAMPLE_DEPENDENCY + 4, 1); /* another build id */
    put(SAMPLE_DEPENDENCY + 20, 1);
    size_t before = mappings();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t old = bytes[rows[i].at];
        bytes[rows[i].at] = rows[i].value;
        sample_sign(bytes);
        err.text[0] = 0;
        assert_int_equal(tn_image_open_memory("sample", bytes, SAMPLE_SIZE, &options, &image, &err), rows[i].code);
        if (!strstr(err.text, rows[i].text))
            fail_msg("'%s' does not say '%s'", err.text, rows[i].text);
        tn_image_close(image);
        assert_int_equal(mappings(), before);
        bytes[rows[i].at] = old;
    }
    put(SAMPLE_DEPENDENCY + 4, 0); /* the build id that is wanted: edges are not looked at */
    bytes[SAMPLE_EDGE] = 7;
    sample_sign(bytes);
    assert_int_equal(tn_image_open_memory("sample", bytes, SAMPLE_SIZE, &options, &image, &err), 0);
    tn_image_close(image);
    tn_image_close(other);
}

/* Rows of offers are not looked at before they are needed, and a place that leads out of the code is none. */
static void finds_wrong_offers(void **state)
{
    (void)state;
    struct tn_image *image;
    struct tn_error err;
    put(SAMPLE_DIRECTORY + 8 * 20 + 16, 0); /* no edge */
    sample_sign(bytes);
    assert_int_equal(open_sample(SAMPLE_SIZE, &image, &err), 0);
    assert_ptr_equal(tn__image_entry(image, "one"), tn_image_lookup(image, "one"));
    assert_int_equal(tn__image_check_items("sample", &image->view, &err), TN_EFORMAT);
    assert_non_null(strstr(err.text, "the digest of what it offers is 0000000000000000, should be"));
    uint64_t digest = tn__image_digest(&image->view);
    tn_image_close(image);
    memcpy(bytes + SAMPLE_IMAGE + 80, &digest, sizeof digest);
    for (size_t at = SAMPLE_OFFER; at <= SAMPLE_EDGE; at++) {
        uint8_t old = bytes[at];
        bytes[at] = 0xff;
        sample_sign(bytes);
        assert_int_equal(open_sample(SAMPLE_SIZE, &image, &err), 0);
        (void)tn__image_entry(image, "one");
        assert_int_equal(tn__image_check_items("sample", &image->view, &err), at < SAMPLE_EDGE ? TN_EFORMAT : 0);
        tn_image_close(image);
        bytes[at] = old;
    }
    put(SAMPLE_PLACES + 4 * 4, SAMPLE_DATA - SAMPLE_IMAGE);
    sample_sign(bytes);
    assert_int_equal(open_sample(SAMPLE_SIZE, &image, &err), 0);
    assert_null(tn__image_entry(image, "one"));
    tn_image_close(image);
}

/* Both targets ask for a feature that no table has. */
static void lists_what_is_missing(void **state)
{
    (void)state;
    bytes[SAMPLE_TARGETS + 16 + 63] = bytes[SAMPLE_TARGETS + 80 + 16 + 63] = 0x80;
    expect(TN_ENOTSUP, "#511");
    struct tn_image *image;
    struct tn_error err;
    assert_int_equal(tn_image_open_linked(bytes + SAMPLE_IMAGE, NULL, &image, &err), TN_ENOTSUP);
    assert_memory_equal(err.text, "sample: ", strlen("sample: ")); /* what its header says */
}

/* A program header, an entry of the dynamic section or a relocation that is wrong. */
static void refuses_bad_files(void **state)
{
    enum { SEGMENT = 64, NEXT = 56 };
    static const struct {
        size_t at;
        uint8_t value;
        int code;
        const char *text;
    } rows[] = {
        {1, 'e', TN_EFORMAT, "not an ELF file"},
        {16, ET_EXEC, TN_EFORMAT, "only shared libraries"},
        {SEGMENT + NEXT + 4, PF_W | PF_X, TN_EFORMAT, "segment 1 is writable and executable"},
        {SEGMENT + NEXT + 9, 0x30, TN_EFORMAT, "segment 1 lies outside"},
        {SEGMENT + NEXT + 17, 0, TN_EFORMAT, "segment 1 shares a page"},
        {SEGMENT + 6 * NEXT + 48, 3, TN_EFORMAT, "thread-local variables aligned to 3 bytes"},
        {SEGMENT + 6 * NEXT + 42, 1, TN_ENOMEM, "65544 bytes of thread-local storage do not fit"},
        {SEGMENT + 6 * NEXT + 17, 0x30, TN_EFORMAT, "PT_TLS lies outside"},
        {SEGMENT + 6 * NEXT + 32, 9, TN_EFORMAT, "PT_TLS lies outside"},
        {0x36c + 12, 't', TN_EFORMAT, "no note of Tenon's"},
        {SEGMENT + 5 * NEXT + 17, 0x20, TN_EFORMAT, "index of its unwind table"},
        {0x3e0, 2, TN_EFORMAT, "index of its unwind table"},
        {0x3e0 + 1, 0x1c, TN_EFORMAT, "index of its unwind table"},
        {0x3e0 + 9, 4, TN_EFORMAT, "index of its unwind table"},
        {0x3e0 + 6, 1, TN_EFORMAT, "unwind table (.eh_frame) does not end"},
        {0x3f0 + 3, 1, TN_EFORMAT, "unwind table (.eh_frame) does not end"},
        {0x3f0 + 3, 0xff, TN_EFORMAT, "unwind table (.eh_frame) does not end"},
        {0x300, DT_REL, TN_ENOTSUP, "DT_REL"},
        {0x300, DT_TEXTREL, TN_ENOTSUP, "DT_TEXTREL"},
        {0x300 + 9, 0xff, TN_EFORMAT, "dynamic section: a table of"},
        {0x3a0 + 1, 0x10, TN_EFORMAT, "a relocation of 0x1000, which is no writable memory"},
        {0x3a0 + 8, 250, TN_ENOTSUP, " is not supported"},
    };
    (void)state;
    size_t before = mappings();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t old = bytes[rows[i].at];
        bytes[rows[i].at] = rows[i].value;
        expect(rows[i].code, rows[i].text);
        bytes[rows[i].at] = old;
    }
    assert_int_equal(mappings(), before);
}

static void write64(size_t at, uint64_t value)
{
    memcpy(bytes + at, &value, sizeof value);
}

static bool is_writable(const void *address)
{
    uintptr_t start, end, at = (uintptr_t)address;
    char line[512], prot[5] = "";
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps) &&
           (sscanf(line, "%lx-%lx %4s", &start, &end, prot) != 3 || at < start || at >= end))
        ;
    fclose(maps);
    return prot[1] == 'w';
}

/* Slots may lie where nothing can be written any more once the image is open. */
static void seals_what_it_filled(void **state)
{
    (void)state;
    enum { PROGRAM_HEADER = sizeof(Elf64_Ehdr) + 6 * sizeof(Elf64_Phdr) };
    struct tn_image *image;
    struct tn_error err;
    Elf64_Phdr relro = {.p_type = PT_GNU_RELRO, .p_flags = PF_R, .p_vaddr = SAMPLE_DATA, .p_memsz = 0x1000};
    memcpy(bytes + PROGRAM_HEADER, &relro, sizeof relro);
    assert_int_equal(open_sample(SAMPLE_SIZE, &image, &err), 0);
    uint8_t *start = (uint8_t *)image->file->mapping.start;
    assert_ptr_equal(*(void **)(void *)(start + SAMPLE_SLOTS), start + SAMPLE_CODE + 32);
    assert_false(is_writable(start + SAMPLE_SLOTS));
    tn_image_close(image);
    relro.p_vaddr = SAMPLE_CODE;
    memcpy(bytes + PROGRAM_HEADER, &relro, sizeof relro);
    expect(TN_EFORMAT, "PT_GNU_RELRO lies outside");
}

/* strip leaves the offset that such a segment had, which may be anywhere. */
static void has_a_segment_without_bytes(void **state)
{
    (void)state;
    enum { PROGRAM_HEADER = sizeof(Elf64_Ehdr) + 6 * sizeof(Elf64_Phdr), SIZE = 0x123, ADDRESS = 0x10000 };
    struct tn_image *image;
    struct tn_error err;
    Elf64_Phdr zeros = {.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_vaddr = ADDRESS, .p_memsz = SIZE};
    for (uint64_t offset = 0; offset < UINT64_MAX / 3; offset = 3 * offset + 1) {
        zeros.p_offset = offset;
        memcpy(bytes + PROGRAM_HEADER, &zeros, sizeof zeros);
        assert_int_equal(open_sample(SAMPLE_SIZE, &image, &err), 0);
        uint8_t *at = (uint8_t *)image->file->mapping.start + ADDRESS;
        for (size_t i = 0; i < SIZE; i++)
            assert_int_equal(at[i]++, 0);
        tn_image_close(image);
    }
    zeros.p_filesz = 1;
    zeros.p_offset = SAMPLE_SIZE;
    memcpy(bytes + PROGRAM_HEADER, &zeros, sizeof zeros);
    expect(TN_EFORMAT, "lies outside of the file's");
}

/* A bitmap is about slots, about what lies around them, and about more than the segment has. */
static void moves_addresses(void **state)
{
    (void)state;
    enum {
        DYNAMIC = 0x300,
        TABLE = 0x3a0,
        RELRSZ = 35,
        RELR = 36,
        BEFORE = SAMPLE_SLOTS - 8,
        END = SAMPLE_DATA + 0x1000
    };
    static const size_t moved[] = {BEFORE, SAMPLE_SLOTS + 8, SAMPLE_SLOTS + 62 * 8, END - 16, END - 8};
    struct tn_image *image;
    struct tn_error err;
    const uint64_t words[] = {BEFORE, UINT64_C(1) << 63 | 1 << 2 | 1 << 1 | 1, END - 16, 1 << 1 | 1};
    const Elf64_Dyn dynamic[] = {{RELR, {TABLE}}, {RELRSZ, {sizeof words}}, {DT_NULL, {0}}};
    memcpy(bytes + DYNAMIC, dynamic, sizeof dynamic);
    memcpy(bytes + TABLE, words, sizeof words);
    for (size_t i = 0; i < TN_COUNT(moved); i++)
        write64(moved[i], SAMPLE_CODE);
    assert_int_equal(open_sample(SAMPLE_SIZE, &image, &err), 0);
    uint8_t *start = (uint8_t *)image->file->mapping.start;
    for (size_t i = 0; i < TN_COUNT(moved); i++)
        assert_ptr_equal(*(void **)(void *)(start + moved[i]), start + SAMPLE_CODE);
    assert_ptr_equal(*(void **)(void *)(start + SAMPLE_SLOTS), start + SAMPLE_CODE + 32);
    assert_ptr_equal(*(void **)(void *)(start + SAMPLE_SLOTS + 16), NULL);
    assert_true(is_writable(start + SAMPLE_SLOTS));
    tn_image_close(image);
    write64(TABLE + 3 * 8, 1 << 2 | 1);
    expect(TN_EFORMAT, "a relocation of 0x3000, which is no writable memory");
}

/* What an accident makes of bytes: changed, moved, more or fewer of them. */
static void sums_differ(void **state)
{
    (void)state;
    enum { SIZE = 0x400 };
    static const struct {
        size_t from, to, size; /* these two change places */
    } rows[] = {{0, 8, 8}, {0, 64, 8}, {8, 128, 8}, {0, 64, 64}, {64, 512, 64}, {0, 512, 512}, {0, 1, 1}};
    uint8_t text[SIZE], other[SIZE];
    for (size_t i = 0; i < SIZE; i++)
        text[i] = (uint8_t)(i * 37 + i / 64);
    uint64_t sum = tn__image_checksum(text, SIZE, 1);
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        memcpy(other, text, SIZE);
        memcpy(other + rows[i].from, text + rows[i].to, rows[i].size);
        memcpy(other + rows[i].to, text + rows[i].from, rows[i].size);
        assert_true(tn__image_checksum(other, SIZE, 1) != sum);
    }
    memset(other, 0, SIZE);
    for (size_t size = 0; size < SIZE; size++)
        assert_true(tn__image_checksum(other, size, 1) != tn__image_checksum(other, size + 1, 1));
    assert_true(tn__image_checksum(text, SIZE, 2) != sum);
}

/* ---- files that others may write ---- */

static const struct copied {
    mode_t mode;
    uint64_t flags;
    const char *plan; /* of refusals */
} copied[] = {
    {0666, 0, NULL},
    {0620, 0, NULL},
    {0600, TN_IMAGE_COPY, NULL},
    {0666, 0, ". . P"}, /* opened and read; then no file in memory, but private memory */
    {0644, TN_IMAGE_COPY, ". . . . . . . P"},
};

static uint64_t sum_of(const struct tn_image *image)
{
    const struct tn__image_mapping *m = &image->file->mapping;
    uint64_t sum = 0;
    for (size_t i = 0; i < m->segment_count; i++)
        for (uint64_t at = 0; at < m->segments[i].size; at++)
            sum = sum * 31 + *(const volatile uint8_t *)(uintptr_t)(m->bias + m->segments[i].address + at);
    return sum;
}

/* In a process of its own, because what is read of a mapped file that was truncated ends the process. */
static int open_and_truncate(const struct copied *row, const char *path)
{
    struct tn_image_load_options options = {.size = sizeof options, .flags = row->flags};
    struct tn_image *image;
    struct tn_error err;
    FILE *file = fopen(path, "w");
    bool written =
        file && fwrite(bytes, 1, SAMPLE_SIZE, file) == SAMPLE_SIZE && !fclose(file) && !chmod(path, row->mode);
    if (!written || (row->plan && tn__os_set_faults(row->plan)))
        return 2;
    if (tn_image_open(path, &options, &image, &err) != 0)
        return fprintf(stderr, "%s\n", err.text), 3;
    if (truncate(path, 0))
        return 4;
    sum_of(image);
    const uint8_t *start = (const uint8_t *)image->file->mapping.start;
    bool found = tn_image_lookup(image, "one") == start + SAMPLE_CODE;
    tn_image_close(image);
    return found ? 0 : 5;
}

static void copies_what_others_may_write(void **state)
{
    (void)state;
    char path[] = "/tmp/tenon-image-XXXXXX";
    close(mkstemp(path));
    for (size_t i = 0; i < TN_COUNT(copied); i++) {
        int status;
        pid_t child = fork();
        if (!child)
            _exit(open_and_truncate(&copied[i], path));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    unlink(path);
}

/* Every request to the system, and every allocation, fails once. */
static void gives_up_cleanly(void **state)
{
    (void)state;
    struct tn_image *image;
    struct tn_error err;
    size_t before = mappings(), failures = 0;
    for (int request = 0; request < 40; request++)
        for (int kind = 0; kind < 2; kind++) {
            char plan[128] = "";
            for (int i = 0; !kind && i < request; i++)
                strcat(plan, ". ");
            snprintf(plan + strlen(plan), 16, kind ? "a%d" : "F", request + 1);
            assert_int_equal(tn__os_set_faults(plan), 0);
            if (open_sample(SAMPLE_SIZE, &image, &err) == 0)
                tn_image_close(image);
            else
                failures++;
            tn__os_set_faults(NULL);
            /* The program's own initial values, of thread-local variables, stay writable where that could not be
             * changed back. */
            assert_int_equal(open_sample(SAMPLE_SIZE, &image, &err), 0);
            tn_image_close(image);
            assert_int_equal(mappings(), before);
        }
    assert_true(failures >= 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(opens_what_is_sound, fresh),
        cmocka_unit_test_setup(sets_instances, fresh),
        cmocka_unit_test_setup(refuses_every_spoiled_byte, fresh),
        cmocka_unit_test_setup(survives_signed_nonsense, fresh),
        cmocka_unit_test_setup(redirects_by_cells, fresh),
        cmocka_unit_test_setup(survives_signed_nonsense_of_cells, fresh),
        cmocka_unit_test_setup(refuses_wrong_cells, fresh),
        cmocka_unit_test_setup(refuses_every_truncation, fresh),
        cmocka_unit_test_setup(names_what_differs, fresh),
        cmocka_unit_test_setup(reads_what_it_knows_of_rows, fresh),
        cmocka_unit_test_setup(finds_wrong_functions, fresh),
        cmocka_unit_test_setup(checks_what_it_depends_on, fresh),
        cmocka_unit_test_setup(compares_what_it_uses, fresh),
        cmocka_unit_test_setup(finds_wrong_offers, fresh),
        cmocka_unit_test_setup(lists_what_is_missing, fresh),
        cmocka_unit_test_setup(refuses_bad_files, fresh),
        cmocka_unit_test_setup(seals_what_it_filled, fresh),
        cmocka_unit_test_setup(has_a_segment_without_bytes, fresh),
        cmocka_unit_test_setup(moves_addresses, fresh),
        cmocka_unit_test(sums_differ),
        cmocka_unit_test_setup(gives_up_cleanly, fresh),
        cmocka_unit_test_setup(copies_what_others_may_write, fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
