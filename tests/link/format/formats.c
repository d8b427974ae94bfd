/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Which formats a session reads: those that its options name. */

#include "elf_builder.h"

#include <stdlib.h>

#include "link/passes/steps.h"
#include "link/file/detached.h"
#include "link/model/object.h"

static const struct tn__arch other_machine = {.name = "other", .elf_machine = EM_S390, .stub_size = 8};
static const struct tn_format other = {
    .name = "elf-other", .reader = &tn__reader_elf, .arch = &other_machine, .machine = EM_S390};

#define FORMATS(...) ((const struct tn_format *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static int create(const struct tn_format *const *formats, struct tn_session **out, struct tn_error *err)
{
    return tn_session_create(
        &(struct tn_session_options){.size = sizeof(struct tn_session_options), .formats = formats}, out, err);
}

static struct bytes make_object(uint16_t machine)
{
    static const uint8_t code[] = {0xb8, 42, 0, 0, 0, 0xc3}; /* mov $42, %eax; ret */
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    elf_function(&elf, "answer", elf_code(&elf, code, sizeof code), 0);
    struct bytes object = elf_finish(&elf);
    elf_header(object)->e_machine = machine;
    return object;
}

/* The list is on the stack of a function that has returned when the session reads it. */
__attribute__((noinline)) static void create_with_list_on_stack(struct tn_session **out)
{
    struct tn_error err;
    const struct tn_format *volatile list[] = {&tn_format_elf_x86_64, NULL};
    assert_ok(create((const struct tn_format *const *)list, out, &err), &err);
    list[0] = NULL;
}

static void test_named_format_is_read(void **state)
{
    (void)state;
    struct fixture f;
    struct tn_error err;
    create_with_list_on_stack(&f.session);
    assert_ok(tn_library_create(f.session, "library", &f.library, &err), &err);
    struct bytes object = make_object(EM_X86_64);
    add_bytes(&f, "answer.o", object.at, object.size);
    assert_int_equal(((int (*)(void))(uintptr_t)lookup(&f, "answer"))(), 42);
    close_fixture(&f);
    free(object.at);
    assert_string_equal(tn_format_name(&tn_format_elf_x86_64), "elf-x86-64");
}

static void test_lists_that_make_no_sense(void **state)
{
    (void)state;
    static const struct {
        const struct tn_format *list[3];
        int code;
        const char *text;
    } rows[] = {
        {{NULL}, TN_EINVAL, "at least one format"},
        {{&tn_format_elf_x86_64, &other}, TN_EINVAL, "elf-other is for another"},
        {{&other}, TN_ENOTSUP, "code for other does not run on x86-64"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tn_session *session;
        struct tn_error err;
        assert_error(create(rows[i].list, &session, &err), rows[i].code, &err, rows[i].text);
    }
}

static void test_format_that_is_not_named(void **state)
{
    (void)state;
    struct tn__detached where = {.address = 0x10000000, .size = 1 << 20, .page_size = 4096};
    const struct tn_session_options options = {.size = sizeof options, .formats = FORMATS(&other)};
    struct fixture f;
    struct tn_error err;
    assert_ok(tn__session_create_detached(&options, &where, &f.session, &err), &err);
    assert_ok(tn_library_create(f.session, "library", &f.library, &err), &err);
    struct bytes object = make_object(EM_X86_64);
    assert_error(
        tn_add_object(f.library,
                      &(struct tn_input){
                          .size = sizeof(struct tn_input), .name = "x.o", .bytes = object.at, .length = object.size},
                      &err),
        TN_ENOTSUP, &err, "x.o: made for x86-64; this session links code for other");
    elf_header(object)->e_machine = EM_S390;
    add_bytes(&f, "s390.o", object.at, object.size);
    close_fixture(&f);
    free(object.at);
}

/* What programs contain without the steps of a format is what such rows need. */
static void test_formats_without_steps_need_none(void **state)
{
    (void)state;
    static const struct tn_format *const formats[] = {
        &tn_format_elf_x86_64,    &tn_format_elf_aarch64, &tn_format_elf_riscv64, &tn_format_macho_x86_64,
        &tn_format_macho_aarch64, &tn_format_coff_x86_64, &tn_format_coff_aarch64};
    for (size_t i = 0; i < TN_COUNT(formats); i++) {
        const struct tn__steps *steps = formats[i]->steps;
        assert_int_equal(steps == NULL, formats[i] == &tn_format_elf_x86_64);
        assert_true(!steps || (steps->scan && steps->apply && steps->put));
        for (uint32_t type = 0; !steps && type < formats[i]->row_count; type++) {
            assert_true(formats[i]->rows[type].value <= TN__V_LAST_COMMON);
            assert_true(formats[i]->rows[type].field < TN__F_ULEB128);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_named_format_is_read),
        cmocka_unit_test(test_lists_that_make_no_sense),
        cmocka_unit_test(test_format_that_is_not_named),
        cmocka_unit_test(test_formats_without_steps_need_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
