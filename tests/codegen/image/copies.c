/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Images with copies of another one's bodies (doc/PACKAGES.md), by the API: options, memory that is out, damaged
 * tables. What they do is for tests/image/copies.sh. */

#include "base/os.h"
#include "base_image.h"
#include "image/load/image.h"
#include "support.h"

#define BASE(number)                                                                                                   \
    "@table = constant [2 x i32] [i32 1, i32 2]\n"                                                                     \
    "define i32 @g(i32 %x) {\n  %y = add i32 %x, " #number "\n  ret i32 %y\n}\n"                                       \
    "define i32 @h(ptr %x) {\n  %y = call i32 @g(i32 5)\n  ret i32 %y\n}\n"

static const char base[] = BASE(1), other[] = BASE(100);
static const char user[] = "@table = external constant [2 x i32]\n"
                           "declare i32 @g(i32)\n"
                           "declare i32 @h(ptr)\n"
                           "define i32 @f(i32 %x) {\n"
                           "  %a = call i32 @inner(i32 %x)\n"
                           "  %b = call i32 @h(ptr @table)\n"
                           "  %c = add i32 %a, %b\n"
                           "  ret i32 %c\n}\n"
                           "define internal i32 @inner(i32 %x) {\n"
                           "  %a = call i32 @g(i32 %x)\n"
                           "  %b = load i32, ptr @table\n"
                           "  %c = add i32 %a, %b\n"
                           "  ret i32 %c\n}\n";

static struct tn_image_input base_input = {"base.ll", base, sizeof base - 1};
static const struct tn_image_input user_input = {"user.ll", user, sizeof user - 1};
static struct tn_image_dependency dependency = {.name = "base"};
static struct tn_image_options options = {.size = sizeof options,
                                          .name = "user",
                                          .dependencies = &dependency,
                                          .dependency_count = 1,
                                          .used = &base_input,
                                          .used_count = 1};
static struct tn_image *base_image, *other_image;

static int begin(void **state)
{
    (void)state;
    base_image = open_base(base, sizeof base - 1);
    other_image = open_base(other, sizeof other - 1);
    depend_on(&dependency, base_image);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tn_image_close(base_image);
    tn_image_close(other_image);
    return 0;
}

static int stale(int x)
{
    return -x;
}

static int open_on(struct tn_image *on, const struct tn_buffer *file, void (*on_stale)(void), struct tn_image **image,
                   struct tn_error *err)
{
    struct tn_image_load_options how = {.size = sizeof how, .images = &on, .image_count = 1, .on_stale = on_stale};
    return tn_image_open_memory("user", file->data, file->size, &how, image, err);
}

static int call(const struct tn_image *image, const char *name, int x)
{
    return ((int (*)(int))tn_image_lookup(image, name))(x);
}

static void refused(void **state)
{
    (void)state;
    struct tn_buffer out[TN_IMAGE_OUTPUTS];
    struct tn_error err;
    struct tn_image_input different = {"other.ll", other, sizeof other - 1};
    struct tn_image_options how = options;
    how.used = NULL;
    assert_int_equal(tn_image_build(&user_input, 1, &how, out, NULL, &err), TN_EINVAL);
    how = options;
    how.dependency_count = 0;
    assert_int_equal(tn_image_build(&user_input, 1, &how, out, NULL, &err), TN_EINVAL);
    assert_contains(err.text, "`used` are the inputs of dependencies");
    how = options;
    how.used = &different;
    assert_int_equal(tn_image_build(&user_input, 1, &how, out, NULL, &err), TN_ESTALE);
    assert_string_equal(err.text, "other.ll: it has another 'g' than the image 'base' was built from");
    different.ir = "no IR";
    different.length = 5;
    assert_int_equal(tn_image_build(&user_input, 1, &how, out, NULL, &err), TN_ECOMPILE);
    assert_contains(err.text, "other.ll");
    different = (struct tn_image_input){"arm.ll", "target triple = \"aarch64-linux-gnu\"\n", 37};
    how.triple = "x86_64-linux-gnu";
    assert_int_equal(tn_image_build(&user_input, 1, &how, out, NULL, &err), 0);
    tn_buffer_free(out);
}

/* With and without on_stale. */
static void opened(void **state)
{
    (void)state;
    struct tn_buffer file = build_file(&user_input, &options);
    struct tn_image *image;
    struct tn_error err;
    assert_int_equal(open_on(base_image, &file, NULL, &image, &err), 0);
    assert_int_equal(call(image, "f", 10), 10 + 1 + 1 + 5 + 1);
    tn_image_close(image);
    assert_int_equal(open_on(other_image, &file, NULL, &image, &err), TN_ESTALE);
    assert_contains(err.text, "user: it uses 'g' of the image 'base': wanted the body ");
    assert_contains(err.text, "; 'f' is stale");
    assert_int_equal(open_on(other_image, &file, (void (*)(void))stale, &image, &err), 0);
    assert_int_equal(call(image, "f", 10), -10);
    tn_image_close(image);
    tn_buffer_free(&file);
}

/* An image that a JIT builds. */
static void of_a_jit(void **state)
{
    (void)state;
    struct tn_jit_options how = {.size = sizeof how, .keep_ir = 1};
    struct tn_buffer out[TN_IMAGE_OUTPUTS];
    struct tn_image *image;
    struct tn_error err;
    struct tn_jit *jit;
    assert_int_equal(tn_jit_create(&how, &jit, &err), 0);
    struct tn_jit_module module = {
        .size = sizeof module, .name = user_input.name, .ir = user, .length = user_input.length};
    assert_int_equal(tn_jit_add_module(jit, NULL, &module, &err), 0);
    if (tn_jit_build_image(jit, NULL, &options, out, NULL, &err))
        fail_msg("%s", err.text);
    tn_jit_destroy(jit);
    struct tn_buffer file = link_archive(out);
    assert_int_equal(open_on(base_image, &file, NULL, &image, &err), 0);
    assert_int_equal(call(image, "f", 10), 18);
    tn_image_close(image);
    assert_int_equal(open_on(other_image, &file, NULL, &image, &err), TN_ESTALE);
    tn_buffer_free(&file);
    tn_buffer_free(out);
}

/* Each allocation is refused in turn. */
static void memory_is_out(void **state)
{
    (void)state;
    struct tn_buffer file = build_file(&user_input, &options), out[TN_IMAGE_OUTPUTS];
    struct tn_image *image;
    struct tn_error err;
    char plan[16];
    size_t refused_builds = 0, refused_opens = 0;
    for (int number = 1, good = 0; good < 8; number++) {
        snprintf(plan, sizeof plan, "a%d", number);
        assert_int_equal(tn__os_set_faults(plan), 0);
        int code = tn_image_build(&user_input, 1, &options, out, NULL, &err);
        tn__os_set_faults(NULL);
        if (code && code != TN_ENOMEM)
            fail_msg("allocation %d: %s", number, err.text);
        refused_builds += code != 0;
        good = code ? 0 : good + 1;
        tn_buffer_free(out);
    }
    for (int number = 1, good = 0; good < 8; number++) {
        snprintf(plan, sizeof plan, "a%d", number);
        assert_int_equal(tn__os_set_faults(plan), 0);
        int code = open_on(other_image, &file, (void (*)(void))stale, &image, &err);
        tn__os_set_faults(NULL);
        if (code && code != TN_ENOMEM)
            fail_msg("allocation %d of opening: %s", number, err.text);
        refused_opens += code != 0;
        good = code ? 0 : good + 1;
        if (!code)
            tn_image_close(image);
    }
    assert_in_range(refused_builds, 20, 10000);
    assert_in_range(refused_opens, 1, 100);
    tn_buffer_free(&file);
}

/* Each byte of header and tables gets other values. */
static void damaged_tables(void **state)
{
    (void)state;
    static const uint8_t changes[] = {1, 0x80, 0xff};
    struct tn_buffer file = build_file(&user_input, &options);
    struct tn_error err;
    struct tn_image *image;
    size_t codes[2] = {0, 0};
    uint8_t *header = memmem(file.data, file.size, TN__IMAGE_MAGIC, 8);
    assert_non_null(header);
    uint32_t size = tn__get32(header + TN__IMAGE_AT_SIZE);
    for (uint32_t at = 0; at < size; at++)
        for (size_t i = 0; i < COUNT(changes); i++) {
            header[at] ^= changes[i];
            tn__put64(header + TN__IMAGE_AT_CHECKSUM, tn__image_header_checksum(header, size));
            int code = open_on(other_image, &file, (void (*)(void))stale, &image, &err);
            codes[code != 0]++;
            if (!code)
                tn_image_close(image);
            header[at] ^= changes[i];
        }
    assert_in_range(codes[0], 100, 100000);
    assert_in_range(codes[1], 100, 100000);
    tn_buffer_free(&file);
}

/* What the table of reliances may not say. */
static void wrong_reliances(void **state)
{
    static const struct {
        uint32_t row, field, value;
        const char *says;
    } rows[] = {
        {0, TN__IMAGE_RELIANCE_CELL, 2, "reliance 0 is that of cell 2 on edge"},
        {0, TN__IMAGE_RELIANCE_EDGE, 99, "on edge 99, out of order or of"},
        {1, TN__IMAGE_RELIANCE_CELL, 5, "reliance 1 is that of cell 5"},
        {0, TN__IMAGE_RELIANCE_CELL, 1, "reliance 1 is that of cell 0"},
        {0, TN__IMAGE_RELIANCE_EDGE, 0, "reliance 0 is wrong"}, /* a function */
    };
    (void)state;
    struct tn_buffer file = build_file(&user_input, &options);
    struct tn_image *image;
    struct tn_error err;
    uint8_t *header = memmem(file.data, file.size, TN__IMAGE_MAGIC, 8);
    assert_int_equal(open_on(base_image, &file, NULL, &image, &err), 0);
    const struct tn__image_rows *table = &image->view.tables[TN__IMAGE_RELIANCE_TABLE];
    assert_int_equal(table->count, 5);
    size_t first = (size_t)(table->rows - image->view.header);
    tn_image_close(image);
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint8_t *field = header + first + rows[i].row * TN__IMAGE_RELIANCE + rows[i].field;
        uint32_t before = tn__get32(field);
        tn__put32(field, rows[i].value);
        tn__put64(header + TN__IMAGE_AT_CHECKSUM,
                  tn__image_header_checksum(header, tn__get32(header + TN__IMAGE_AT_SIZE)));
        assert_int_equal(open_on(other_image, &file, NULL, &image, &err), TN_EFORMAT);
        assert_contains(err.text, rows[i].says);
        tn__put32(field, before);
    }
    tn_buffer_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused),       cmocka_unit_test(opened),         cmocka_unit_test(of_a_jit),
        cmocka_unit_test(memory_is_out), cmocka_unit_test(damaged_tables), cmocka_unit_test(wrong_reliances),
    };
    return cmocka_run_group_tests_name("copies", tests, begin, end);
}
