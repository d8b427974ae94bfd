/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Targets out of reach: branches go through stubs, data is an error. Objects below 2 GiB and objects near the program
 * call each other. An object with more sections than 16 bits can count. */

#include "elf_builder.h"

#include <stdlib.h>

#include "base/os.h"

/* Near this program, far from the C library. */
TN_API int near_function(int x);

int near_function(int x)
{
    check_maps();
    return x + 5;
}

static int near_data = 77;

/* `name` jumps to `target`, or loads from it. */
static struct bytes jumper(const char *name, const char *target, bool load, uint32_t type)
{
    static const uint8_t jump[] = {0xe9, 0, 0, 0, 0}, mov[] = {0x8b, 0x05, 0, 0, 0, 0, 0xc3};
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    unsigned text = load ? elf_code(&elf, mov, sizeof mov) : elf_code(&elf, jump, sizeof jump);
    elf_function(&elf, name, text, 0);
    elf_reloc(&elf, text, load ? 2 : 1, elf_undefined(&elf, target), type, type == R_X86_64_32S ? 0 : -4);
    return elf_finish(&elf);
}

/* Absolute code: `name` returns target(x), or the word at `target`, through 32-bit addresses. */
static struct bytes absolute(const char *name, const char *target, bool load)
{
    static const uint8_t jump[] = {0x48, 0xc7, 0xc0, 0, 0, 0, 0, 0xff, 0xe0},
                         mov[] = {0x8b, 0x04, 0x25, 0, 0, 0, 0, 0xc3};
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    unsigned text = load ? elf_code(&elf, mov, sizeof mov) : elf_code(&elf, jump, sizeof jump);
    elf_function(&elf, name, text, 0);
    elf_reloc(&elf, text, 3, elf_undefined(&elf, target), R_X86_64_32S, 0);
    return elf_finish(&elf);
}

static int call_with(const struct fixture *f, const char *name, int x)
{
    void *address = lookup(f, name);
    int (*function)(int);
    memcpy(&function, &address, sizeof function);
    return function(x);
}

static struct bytes kept[16]; /* borrowed until they are linked, and freed at the end of each test */
static size_t kept_count;

static void add(const struct fixture *f, const char *name, struct bytes object)
{
    assert_true(kept_count < COUNT(kept));
    kept[kept_count++] = object;
    add_bytes(f, name, object.at, object.size);
}

static int free_kept(void **state)
{
    (void)state;
    while (kept_count)
        free(kept[--kept_count].at);
    return 0;
}

/* ---- branches ---- */

static void far_functions_are_reached_through_one_stub_each(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    define(&f, "near_function", (const void *)near_function);
    add(&f, "a.o", jumper("jump_near", "near_function", false, R_X86_64_PLT32));
    link_all(&f);
    assert_int_equal(stats_of(&f).stubs, 0);
    assert_int_equal(call_with(&f, "jump_near", 1), 6);

    static struct elf elf;
    static const uint8_t code[] = {0xe9, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0};
    memset(&elf, 0, sizeof elf);
    unsigned text = elf_code(&elf, code, sizeof code);
    unsigned far = elf_undefined(&elf, "abs"), other = elf_undefined(&elf, "toupper");
    elf_function(&elf, "jump_far", text, 0);
    elf_function(&elf, "jump_far_too", text, 5);
    elf_function(&elf, "jump_elsewhere", text, 10);
    elf_reloc(&elf, text, 1, far, R_X86_64_PLT32, -4);
    elf_reloc(&elf, text, 6, far, R_X86_64_PLT32, -4);
    elf_reloc(&elf, text, 11, other, R_X86_64_PLT32, -4);
    add(&f, "b.o", elf_finish(&elf));
    link_all(&f);
    assert_int_equal(stats_of(&f).stubs, 2);
    assert_int_equal(call_with(&f, "jump_far", -7), 7);
    assert_int_equal(call_with(&f, "jump_far_too", -8), 8);
    assert_int_equal(call_with(&f, "jump_elsewhere", 'a'), 'A');
    close_fixture(&f);
}

static void a_call_of_nothing_links(void **state)
{
    (void)state;
    static struct elf elf;
    static const uint8_t code[] = {0xc3, 0xe9, 0, 0, 0, 0};
    memset(&elf, 0, sizeof elf);
    unsigned text = elf_code(&elf, code, sizeof code);
    elf_function(&elf, "f", text, 0);
    unsigned weak = elf_symbol(&elf, "nobody_has_this", STB_WEAK, STT_NOTYPE, SHN_UNDEF, 0, 0);
    elf_reloc(&elf, text, 2, weak, R_X86_64_PLT32, -4);
    struct fixture f = open_fixture(NULL);
    add(&f, "weak.o", elf_finish(&elf));
    call(&f, "f");
    close_fixture(&f);
}

/* ---- data ---- */

static void far_data_says_what_to_do(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_stats before = stats_of(&f), after;
    struct tn_error err;
    char to[32];
    add(&f, "far.o", jumper("load_far", "abs", true, R_X86_64_PC32));
    snprintf(to, sizeof to, " to 0x%llx ", (unsigned long long)(uintptr_t)abs);
    assert_error(tn_link(f.library, &err), TN_ERANGE, &err, "far.o(.text+0x2)", "R_X86_64_PC32", "'abs'", "from 0x", to,
                 "gives 0x", "the limit is 32 bits signed", "-fPIC", "window_near");
    after = stats_of(&f);
    assert_same_memory(&before, &after);
    check_still_works(&f);
    close_fixture(&f);
    /* As the error suggests: the window near the data. */
    const struct tn_session_options options = {.size = sizeof options, .window_near = (uintptr_t)abs};
    f = open_fixture(&options);
    add(&f, "far.o", jumper("load_far", "abs", true, R_X86_64_PC32));
    int first;
    memcpy(&first, (const void *)(uintptr_t)abs, sizeof first);
    assert_int_equal(call(&f, "load_far"), first);
    close_fixture(&f);
}

static void near_data_is_reached(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    define(&f, "near_data", &near_data);
    add(&f, "near.o", jumper("load_near", "near_data", true, R_X86_64_PC32));
    assert_int_equal(call(&f, "load_near"), 77);
    close_fixture(&f);
}

/* ---- below 2 GiB ---- */

static void absolute_objects_lie_low_and_call_both_ways(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    define(&f, "near_function", (const void *)near_function);
    /* near -> low -> low -> near -> near_function */
    add(&f, "a.o", jumper("a", "b", false, R_X86_64_PLT32));
    add(&f, "b.o", absolute("b", "c", false));
    struct bytes c = jumper("c", "d", false, R_X86_64_PLT32);
    add(&f, "c.o", c);
    add(&f, "d.o", jumper("d", "near_function", false, R_X86_64_PLT32));
    struct tn_error err;
    /* c is not absolute code, so b cannot refer to it with a 32-bit address. */
    assert_error(tn_link(f.library, &err), TN_ERANGE, &err, "b.o(.text+0x3)", "R_X86_64_32S", "'c'", "below 2 GiB");
    check_still_works(&f);
    close_fixture(&f);

    f = open_fixture(NULL);
    define(&f, "near_function", (const void *)near_function);
    add(&f, "a.o", jumper("a", "b", false, R_X86_64_PLT32));
    add(&f, "b.o", absolute("b", "low_c", false));
    add_file(&f, "low_calls.o");
    link_all(&f);
    assert_true((uintptr_t)lookup(&f, "b") < 1ULL << 31);
    assert_true((uintptr_t)lookup(&f, "low_c") < 1ULL << 31);
    assert_true((uintptr_t)lookup(&f, "a") > 1ULL << 31); /* not a static program */
    assert_int_equal(call_with(&f, "a", 10), 10 + 5 + 1);
    /* Later links find both windows. */
    add(&f, "late.o", jumper("late", "low_c", false, R_X86_64_PLT32));
    assert_int_equal(call_with(&f, "late", 20), 20 + 5 + 1);
    add(&f, "late_low.o", absolute("late_low", "b", false));
    assert_int_equal(call_with(&f, "late_low", 30), 30 + 5 + 1);
    close_fixture(&f);
}

static void no_room_below_2_gib(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    struct tn_stats before = stats_of(&f), after;
    add_file(&f, "low.o");
    tn__os_set_faults(". F*"); /* random numbers are granted */
    int code = tn_link(f.library, &err);
    tn__os_set_faults(NULL);
    assert_error(code, TN_ENOMEM, &err, "below 2 GiB", "-fPIC", "low.o");
    after = stats_of(&f);
    assert_same_memory(&before, &after);
    assert_int_equal(call(&f, "low"), 77);
    close_fixture(&f);
}

/* ---- many sections ---- */

static void more_sections_than_16_bits_count(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    add_file(&f, "xindex.o");
    link_all(&f);
    static const int functions[] = {0, 1, 255, 65279, 65280, 65535, 65536, 65999};
    for (size_t i = 0; i < COUNT(functions); i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", functions[i]);
        assert_int_equal(call(&f, name), functions[i]);
    }
    assert_int_equal(call(&f, "sum"), 1 + 65999 + 7);
    assert_in_range(stats_of(&f).sections, 66000, 70000);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(far_functions_are_reached_through_one_stub_each, free_kept),
        cmocka_unit_test_teardown(a_call_of_nothing_links, free_kept),
        cmocka_unit_test_teardown(far_data_says_what_to_do, free_kept),
        cmocka_unit_test_teardown(near_data_is_reached, free_kept),
        cmocka_unit_test_teardown(absolute_objects_lie_low_and_call_both_ways, free_kept),
        cmocka_unit_test_teardown(no_room_below_2_gib, free_kept),
        cmocka_unit_test(more_sections_than_16_bits_count),
    };
    return cmocka_run_group_tests_name("link/reach", tests, NULL, NULL);
}
