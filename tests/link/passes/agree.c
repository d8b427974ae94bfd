/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Objects for RISC-V whose code passes arguments in different places: all pairs of what their headers can say, in one
 * link and in two. tests/link/format/verdicts.sh compares with ld.lld. */

#include <stdlib.h>

#include "elf_builder.h"
#include "failing.h"
#include "functions.h"
#include "link/file/detached.h"

enum { RVC = 1, SINGLE = 2, DOUBLE = 4, QUAD = 6, RVE = 8, TSO = 16, ALL = 32, MUST_AGREE = QUAD | RVE };
enum { CODE, EMPTY_CODE, DATA };

static const char *const float_abis[] = {"'soft'", "'single'", "'double'", "'quad'"};

/* It defines `name`, in a section of this kind. */
static struct bytes object_of(uint32_t flags, const char *name, int kind)
{
    static const uint8_t ret[4] = {0x67, 0x80, 0x00, 0x00};
    struct elf *elf = calloc(1, sizeof *elf);
    assert_non_null(elf);
    unsigned text = kind == DATA ? 0 : elf_code(elf, ret, kind == CODE ? sizeof ret : 0);
    unsigned data = elf_section(elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, ret, sizeof ret);
    elf_symbol(elf, name, STB_GLOBAL, STT_NOTYPE, kind == CODE ? text : data, 0, 0);
    struct bytes file = elf_finish(elf);
    elf_header(file)->e_machine = EM_RISCV;
    elf_header(file)->e_flags = flags;
    free(elf);
    return file;
}

static struct fixture open_elsewhere(struct tn__detached *where)
{
    static const struct tn_format *const formats[] = {&tn_format_elf_riscv64, NULL};
    static const struct tn_session_options options = {
        .size = sizeof options, .formats = formats, .allocator = &failing_allocator};
    struct fixture f;
    struct tn_error err;
    *where = (struct tn__detached){.address = 0x10000000, .size = 1 << 20, .page_size = 4096};
    assert_ok(tn__session_create_detached(&options, where, &f.session, &err), &err);
    assert_ok(tn_library_create(f.session, "library", &f.library, &err), &err);
    return f;
}

static void add(const struct fixture *f, const char *file, const char *name, uint32_t flags, int kind)
{
    const struct tn_input input = input_of(file, object_of(flags, name, kind));
    struct tn_error err;
    assert_ok(tn_add_object(f->library, &input, &err), &err);
}

static void check(int code, uint32_t first, uint32_t second, const struct tn_error *err)
{
    if (!((first ^ second) & MUST_AGREE))
        assert_ok(code, err);
    else if ((first ^ second) & QUAD)
        assert_error(code, TN_ENOTSUP, err, "a.o", "b.o", "floating-point ABI", float_abis[(first & QUAD) / 2],
                     float_abis[(second & QUAD) / 2]);
    else
        assert_error(code, TN_ENOTSUP, err, "a.o", "b.o", "'RVI'", "'RVE'");
}

static void all_pairs(void **state)
{
    (void)state;
    struct tn_error err;
    for (uint32_t first = 0; first < ALL; first++)
        for (uint32_t second = 0; second < ALL; second++)
            for (int links = 1; links <= 2; links++) {
                struct tn__detached where;
                struct fixture f = open_elsewhere(&where);
                add(&f, "a.o", "a", first, CODE);
                if (links == 2)
                    assert_ok(tn_link(f.library, &err), &err);
                add(&f, "b.o", "b", second, CODE);
                check(tn_link(f.library, &err), first, second, &err);
                close_fixture(&f);
            }
}

/* Neither before nor after an object with code, and not alone: what comes later is free to choose. */
static void without_code_all_agree(void **state)
{
    (void)state;
    static const char word[4] = "abc";
    static const struct tn_section section = {
        .size = sizeof section, .name = "words", .bytes = word, .length = sizeof word, .alignment = 1};
    struct tn_error err;
    struct tn__detached where;
    struct fixture f = open_elsewhere(&where);
    assert_ok(tn_add_section(f.library, &section, &err), &err);
    add(&f, "data.o", "a", 0, DATA);
    add(&f, "empty.o", "b", SINGLE | RVE, EMPTY_CODE);
    assert_ok(tn_link(f.library, &err), &err);
    add(&f, "double.o", "c", DOUBLE, CODE);
    add(&f, "more.o", "d", QUAD, DATA);
    assert_ok(tn_add_section(f.library, &section, &err), &err);
    assert_ok(tn_link(f.library, &err), &err);
    add(&f, "soft.o", "e", 0, CODE);
    assert_error(tn_link(f.library, &err), TN_ENOTSUP, &err, "soft.o", "double.o");
    close_fixture(&f);
}

/* What a link has brought that has failed binds no later one, nor does it in another session. */
static void only_linked_code_counts(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn__detached where;
    struct fixture f = open_elsewhere(&where);
    struct tn_tracker *tracker;
    assert_ok(tn_tracker_create(f.library, &tracker, &err), &err);
    struct bytes soft = object_of(0, "a", CODE);
    struct tn_input input = {
        .size = sizeof input, .name = "soft.o", .bytes = soft.at, .length = soft.size, .owner = tracker};
    assert_ok(tn_add_object(f.library, &input, &err), &err);
    add(&f, "double.o", "b", DOUBLE, CODE);
    assert_error(tn_link(f.library, &err), TN_ENOTSUP, &err, "soft.o", "double.o");
    assert_ok(tn_tracker_remove(tracker, &err), &err);
    assert_ok(tn_link(f.library, &err), &err);
    close_fixture(&f);
    free(soft.at);
}

static int link_two(const void *unused)
{
    (void)unused;
    struct tn_error err;
    struct tn__detached where;
    struct fixture f = open_elsewhere(&where);
    add(&f, "a.o", "a", DOUBLE | RVC, CODE);
    add(&f, "b.o", "b", DOUBLE | TSO, CODE);
    failing_begin();
    int code = tn_link(f.library, &err);
    if (code)
        assert_ok(tn_link(f.library, &err), &err);
    close_fixture(&f);
    return code;
}

static void memory_runs_out(void **state)
{
    (void)state;
    fail_each_request(link_two, NULL, 1);
}

/* Where code for RISC-V is to run, the process decides. */
static void this_process_decides(void **state)
{
    (void)state;
#ifdef __riscv_float_abi_double
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    add(&f, "data.o", "a", SINGLE, DATA);
    add(&f, "double.o", "b", DOUBLE | RVC, CODE);
    link_all(&f);
    add(&f, "soft.o", "c", RVC, CODE);
    assert_error(tn_link(f.library, &err), TN_ENOTSUP, &err, "soft.o", "'soft'", "this process", "'double'");
    close_fixture(&f);
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_pairs), cmocka_unit_test(without_code_all_agree),
                                       cmocka_unit_test(only_linked_code_counts), cmocka_unit_test(memory_runs_out),
                                       cmocka_unit_test(this_process_decides)};
    return cmocka_run_group_tests_name("link/agree", tests, NULL, NULL);
}
