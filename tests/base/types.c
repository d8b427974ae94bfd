/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Types of code as bytes: written and read again, cut off everywhere, and every byte changed. Code and images that come
 * and go: whichever comes second is compared. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/types.h"

static struct tn_error err;

/* ---- bytes ---- */

static const uint32_t list[] = {0, 16, 1024}, none[1];

static const struct tn_type types[] = {
    {.name = "struct node", .kind = TN_KIND_FIXED, .alignment = 8, .size = 16, .references = 1},
    {.name = "", .kind = TN_KIND_FIXED, .alignment = 16, .size = 2048, .offsets = list, .offset_count = 3},
    {.name = "seven b", .kind = TN_KIND_LEAF, .alignment = 8, .size = 8, .offsets = none},
    {.name = "eight by", .kind = TN_KIND_STRUCTS, .alignment = 8, .size = 16, .element = 24, .length = 8},
};

static struct tn_buffer write_types(size_t first, size_t count)
{
    struct tn_buffer out = {0};
    assert_true(tn__types_write(types + first, count, &out));
    assert_int_equal(out.size % 8, 0);
    return out;
}

/* Of a block that ends with the bytes, for AddressSanitizer. */
static int read_types(const void *bytes, size_t size, struct tn__code_types **read)
{
    void *exact = malloc(size ? size : 1);
    assert_non_null(exact);
    if (size)
        memcpy(exact, bytes, size);
    int code = tn__types_read("code", exact, size, read, &err);
    assert_int_equal(code, tn__types_are_sound(exact, size) ? 0 : TN_EFORMAT);
    free(exact);
    return code;
}

static void check_types(const struct tn__code_types *read, size_t first, size_t count)
{
    char difference[TN__DIFFERENCE];
    assert_string_equal(read->name, "code");
    assert_int_equal(read->count, count);
    for (size_t i = 0; i < count; i++) {
        const struct tn_type *type = &types[first + i], *again = &read->types[i];
        assert_string_equal(again->name, type->name);
        assert_false(tn__types_differ(type, again, difference));
        assert_true(!type->offsets == !again->offsets && again->offset_count == type->offset_count);
    }
}

static void as_they_were_written(void **state)
{
    (void)state;
    struct tn__code_types *read;
    for (size_t first = 0; first < TN_COUNT(types); first++)
        for (size_t count = 0; first + count <= TN_COUNT(types); count++) {
            struct tn_buffer bytes = write_types(first, count);
            assert_int_equal(read_types(bytes.data, bytes.size, &read), 0);
            check_types(read, first, count);
            tn__free(NULL, read);
            tn_buffer_free(&bytes);
        }
}

/* As linkers put sections of several objects together. */
static void one_after_the_other(void **state)
{
    (void)state;
    struct tn_buffer a = write_types(0, 2), b = write_types(2, 2);
    struct tn__code_types *read;
    char *bytes = malloc(a.size + b.size);
    assert_non_null(bytes);
    memcpy(bytes, a.data, a.size);
    memcpy(bytes + a.size, b.data, b.size);
    assert_int_equal(read_types(bytes, a.size + b.size, &read), 0);
    check_types(read, 0, 4);
    tn__free(NULL, read);
    free(bytes);
    tn_buffer_free(&a);
    tn_buffer_free(&b);
}

static void cut_off(void **state)
{
    (void)state;
    struct tn_buffer bytes = write_types(0, TN_COUNT(types));
    struct tn__code_types *read;
    size_t good = 0;
    for (size_t size = 0; size <= bytes.size; size++) {
        good += read_types(bytes.data, size, &read) == 0;
        tn__free(NULL, read);
    }
    assert_int_equal(good, TN_COUNT(types) + 1); /* between rows */
    tn_buffer_free(&bytes);
}

/* What is read after that is wrong, or an error; nothing outside is read. */
static void every_byte_changed(void **state)
{
    (void)state;
    struct tn_buffer bytes = write_types(0, TN_COUNT(types));
    struct tn__code_types *read;
    uint8_t *at = bytes.data;
    size_t bad = 0;
    for (size_t i = 0; i < bytes.size; i++)
        for (int change = 1; change < 256; change++) {
            at[i] ^= (uint8_t)change;
            bad += read_types(bytes.data, bytes.size, &read) != 0;
            tn__free(NULL, read);
            at[i] ^= (uint8_t)change;
        }
    assert_true(bad > 4 * 255 * TN_COUNT(types));
    tn_buffer_free(&bytes);
}

static void no_format_holds_them(void **state)
{
    (void)state;
    const struct tn_type large = {.name = "large", .offsets = list, .offset_count = UINT64_MAX / 4};
    struct tn_buffer out = {0};
    assert_false(tn__types_write(&large, 1, &out));
    assert_null(out.data);
}

/* ---- what is known ---- */

struct image {
    struct tn__saved_types types;
    struct tn_type type;
};

static const struct tn_type *find_type(const struct tn__saved_types *saved, const char *name)
{
    const struct image *image = tn__container_of(saved, const struct image, types);
    return strcmp(image->type.name, name) == 0 ? &image->type : NULL;
}

static struct image make_image(const struct tn_type *like, uint64_t size)
{
    struct image image = {{.name = "image", .find = find_type}, *like};
    image.type.size = size;
    return image;
}

static int enter_code(const char *name, struct tn__code_types **code)
{
    struct tn_buffer bytes = write_types(0, TN_COUNT(types));
    int result = tn__code_types_enter(name, bytes.data, bytes.size, code, &err);
    tn_buffer_free(&bytes);
    return result;
}

static void whichever_comes_second_is_compared(void **state)
{
    (void)state;
    struct tn__code_types *code, *second;
    struct image same = make_image(&types[3], 16), other = make_image(&types[3], 24);
    assert_int_equal(tn__saved_types_enter(&same.types, &err), 0);
    assert_int_equal(enter_code("first", &code), 0);
    assert_int_equal(enter_code("second", &second), 0);
    tn__code_types_leave(code);
    assert_int_equal(tn__saved_types_enter(&other.types, &err), TN_ENOTSUP);
    assert_string_equal(
        err.text, "image: the code of second has another type 'eight by' than its objects: 'size' differs (16 and 24)");
    tn__code_types_leave(second);
    assert_int_equal(tn__saved_types_enter(&other.types, &err), 0);
    assert_int_equal(enter_code("third", &code), TN_ENOTSUP);
    assert_null(code);
    assert_string_equal(
        err.text,
        "third: its code has another type 'eight by' than the objects of 'image': 'size' differs (16 and 24)");
    tn__saved_types_leave(&other.types);
    assert_int_equal(enter_code("third", &code), 0);
    tn__code_types_leave(code);
    tn__saved_types_leave(&same.types);
}

static void damaged_code_is_not_entered(void **state)
{
    (void)state;
    struct tn__code_types *code;
    struct image other = make_image(&types[0], 24);
    assert_int_equal(tn__code_types_enter("damaged", list, sizeof list, &code, &err), TN_EFORMAT);
    assert_string_equal(err.text, "damaged: the layouts of its types are damaged");
    assert_null(code);
    tn__code_types_leave(code);
    assert_int_equal(tn__saved_types_enter(&other.types, &err), 0);
    tn__saved_types_leave(&other.types);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_they_were_written),
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(cut_off),
        cmocka_unit_test(every_byte_changed),
        cmocka_unit_test(no_format_holds_them),
        cmocka_unit_test(whichever_comes_second_is_compared),
        cmocka_unit_test(damaged_code_is_not_entered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
