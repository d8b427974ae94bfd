/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Descriptions of modules: written and read again, every word of one changed, and cut off everywhere. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/types.h"
#include "cache/description.h"

static const struct tn_module_symbol symbols[] = {
    {.part = 0, .name = "data"},
    {.part = 1, .name = "f", .body = "f$body", .flags = TN__SYMBOL_WEAK, .managed_registers = 3, .managed_stack = 4},
    {.part = 1, .name = "alias", .of = "f", .flags = TN__SYMBOL_HIDDEN},
    {.part = 2, .name = "g", .body = "g$body"},
};

static const struct tn_type types[] = {
    {.name = "node", .kind = TN_KIND_FIXED, .alignment = 8, .size = 16, .references = 1},
    {.name = "name", .kind = TN_KIND_LEAF, .alignment = 8, .size = 8, .element = 1},
};

static struct tn_buffer write_types(void)
{
    struct tn_buffer out = {0};
    assert_true(tn__types_write(types, TN_COUNT(types), &out));
    return out;
}

static struct tn_buffer write_example(void)
{
    struct tn_buffer out = {0}, layouts = write_types();
    const struct tn_module_description d = {.flags = TN__DESCRIBED_INITIALIZERS,
                                            .parts = 3,
                                            .count = 4,
                                            .symbols = symbols,
                                            .types = layouts.data,
                                            .types_size = layouts.size};
    assert_true(tn__description_write(&d, &out));
    tn_buffer_free(&layouts);
    return out;
}

static int read_bytes(const void *bytes, size_t size)
{
    struct tn__arena arena = {0};
    struct tn_module_description d;
    uint8_t *exact = malloc(size ? size : 1); /* for AddressSanitizer */
    assert_non_null(exact);
    memcpy(exact, bytes, size);
    int code = tn__description_read(exact, size, &arena, &d, NULL);
    tn__arena_free(&arena);
    free(exact);
    return code;
}

static void as_it_was_written(void **state)
{
    (void)state;
    struct tn_buffer bytes = write_example();
    struct tn__arena arena = {0};
    struct tn_module_description d;
    assert_int_equal(tn__description_read(bytes.data, bytes.size, &arena, &d, NULL), 0);
    assert_true(d.flags == TN__DESCRIBED_INITIALIZERS && d.parts == 3 && d.count == 4);
    assert_string_equal(d.symbols[2].of, "f");
    assert_null(d.symbols[2].body);
    assert_string_equal(d.symbols[3].body, "g$body");
    assert_true(d.symbols[1].managed_registers == 3 && d.symbols[1].managed_stack == 4);
    struct tn_buffer layouts = write_types();
    assert_int_equal(d.types_size, layouts.size);
    assert_memory_equal(d.types, layouts.data, layouts.size);
    tn_buffer_free(&layouts);
    tn__arena_free(&arena);
    tn_buffer_free(&bytes);
}

/* After the original is gone, for as long as there are users. */
static void copied(void **state)
{
    (void)state;
    struct tn_buffer bytes = write_example(), layouts = write_types();
    struct tn__arena arena = {0};
    struct tn_module_description original;
    struct tn__description d, shared;
    assert_int_equal(tn__description_read(bytes.data, bytes.size, &arena, &original, NULL), 0);
    assert_int_equal(tn__description_copy(&original, &d, NULL), 0);
    tn__arena_free(&arena);
    tn_buffer_free(&bytes);
    shared = tn__description_share(&d);
    tn__description_drop(&d);
    assert_true(shared.flags == TN__DESCRIBED_INITIALIZERS && shared.parts == 3 && shared.count == 4);
    assert_true(shared.first[0] == 0 && shared.first[1] == 1 && shared.first[2] == 3 && shared.first[3] == 4);
    assert_string_equal(shared.symbols[2].of, "f");
    assert_null(shared.symbols[2].body);
    assert_string_equal(shared.symbols[3].body, "g$body");
    assert_true(shared.symbols[1].managed_registers == 3 && shared.symbols[1].managed_stack == 4);
    assert_int_equal(shared.types_size, layouts.size);
    assert_memory_equal(shared.types, layouts.data, layouts.size);
    tn__description_drop(&shared);
    tn_buffer_free(&layouts);
}

/* Of a compiler, which may say anything. */
static void refused(void **state)
{
    (void)state;
    static const struct tn_module_symbol unnamed = {.part = 0}, outside = {.part = 1, .name = "f"};
    static const struct tn_module_description rows[] = {
        {.parts = 0},
        {.parts = 2},
        {.parts = 1, .count = 1, .symbols = &unnamed},
        {.parts = 1, .count = 1, .symbols = &outside},
        {.parts = 2, .count = 1, .symbols = &outside, .flags = TN__DESCRIBED_WHOLE},
        {.parts = 1, .types = "none", .types_size = 4},
    };
    struct tn__description d;
    for (size_t i = 0; i < TN_COUNT(rows); i++)
        assert_int_equal(tn__description_copy(&rows[i], &d, NULL), TN_EFORMAT);
}

static void cut_off(void **state)
{
    (void)state;
    struct tn_buffer bytes = write_example();
    size_t good = 0;
    for (size_t size = 0; size < bytes.size; size++)
        good += read_bytes(bytes.data, size) != TN_EFORMAT;
    assert_int_equal(good, TN_COUNT(types)); /* between its types */
    assert_int_equal(read_bytes(bytes.data, bytes.size), 0);
    tn_buffer_free(&bytes);
}

/* The word, what it becomes, and whether that is a description. */
static void changed(void **state)
{
    (void)state;
    enum { ROW0 = 5, ROW1 = ROW0 + 7, ROW2 = ROW1 + 7, ROW3 = ROW2 + 7 };
    static const struct {
        size_t word;
        uint32_t value;
        int code;
    } rows[] = {
        {0, 0, TN_EFORMAT},           /* magic */
        {1, 7, TN_EFORMAT},           /* in one piece, with three parts */
        {1, 6, 0},                    /* opaque */
        {1, 8, TN_EFORMAT},           /* an unknown flag */
        {2, 0, TN_EFORMAT},           /* no part */
        {2, 2, TN_EFORMAT},           /* a symbol of part 2 of 2 */
        {2, 4, TN_EFORMAT},           /* a part without a symbol */
        {2, UINT32_MAX, TN_EFORMAT},  /* parts without end */
        {3, 3, TN_EFORMAT},           /* one symbol less */
        {3, UINT32_MAX, TN_EFORMAT},  /* symbols without end */
        {4, 3, TN_EFORMAT},           /* less text */
        {ROW0, 1, 0},                 /* part 0 defines none */
        {ROW1, 0, TN_EFORMAT},        /* part 1 begins with an alias */
        {ROW1, 2, TN_EFORMAT},        /* part 2 comes before part 1 */
        {ROW3, 1, TN_EFORMAT},        /* part 2 is missing */
        {ROW0 + 1, 0, TN_EFORMAT},    /* no name */
        {ROW0 + 1, 1000, TN_EFORMAT}, /* a name outside */
        {ROW0 + 1, 5, TN_EFORMAT},    /* an empty one */
        {ROW1 + 2, 1, TN_EFORMAT},    /* an alias with a body */
        {ROW1 + 4, 79, 0},            /* all flags, and the highest level */
        {ROW1 + 4, 80, TN_EFORMAT},   /* a level that there is not */
        {ROW0 + 4, 128, 0},           /* may be left out */
        {ROW0 + 4, 256, 0},           /* a function without a body */
        {ROW0 + 4, 512, TN_EFORMAT},  /* an unknown flag */
        {ROW1 + 4, 128, TN_EFORMAT},  /* what has a body is neither: these would be levels */
        {ROW1 + 4, 256, TN_EFORMAT},
        {ROW1 + 5, 77, 0},         /* any registers */
        {ROW2 + 2, 5, TN_EFORMAT}, /* an alias of an empty name */
        {ROW3 + 3, 0, 0},          /* no function */
    };
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        struct tn_buffer bytes = write_example();
        tn__put32((char *)bytes.data + 4 * rows[i].word, rows[i].value);
        int code = read_bytes(bytes.data, bytes.size);
        if (code != rows[i].code)
            fail_msg("row %zu: %d", i, code);
        tn_buffer_free(&bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_it_was_written), cmocka_unit_test(copied),  cmocka_unit_test(refused),
        cmocka_unit_test(cut_off),           cmocka_unit_test(changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
