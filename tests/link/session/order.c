/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Initializers and finalizers run once, in the order of an ordinary static program made of the same objects
 * (order_static), however the objects are added. */

#include "elf_builder.h"

#include <stdlib.h>

static char heard[1 << 14];

static void note(const char *text)
{
    strcat(heard, text);
    strcat(heard, "\n");
    check_maps();
}

static struct fixture open_with_note(void)
{
    struct fixture f = open_fixture(NULL);
    define(&f, "note", note);
    heard[0] = '\0';
    return f;
}

static void initialize(const struct fixture *f)
{
    struct tn_error err;
    assert_ok(tn_run_initializers(f->library, 0, NULL, NULL, &err), &err);
}

static void as_a_static_program_does(void **state)
{
    (void)state;
    char expected[sizeof heard] = "";
    const char *emulator = getenv("EMULATOR"); /* of the machine that this is compiled for, see tests/run */
    char command[4096];
    snprintf(command, sizeof command, "%s %s", emulator ? emulator : "", data_file("order_static"));
    FILE *program = popen(command, "re");
    assert_non_null(program);
    expected[fread(expected, 1, sizeof expected - 1, program)] = '\0';
    assert_int_equal(pclose(program), 0);
    assert_non_null(strstr(expected, "ctor_1000 in 2"));

    struct fixture f = open_with_note();
    add_file(&f, "order_1.o");
    add_file(&f, "order_2.o");
    add_file(&f, "order_3.o");
    link_all(&f);
    assert_string_equal(heard, "");
    initialize(&f);
    note("main");
    tn_run_finalizers(f.library);
    assert_string_equal(heard, expected);
    close_fixture(&f);
}

/* Functions that loaded code registers with atexit and __cxa_atexit belong to its library and tracker. */
static void exit_handlers(void **state)
{
    (void)state;
    static const char expected[] = "destroyed\nfirst\nlast\nfinalizer\n";
    struct tn_error err;
    for (int with_tracker = 0; with_tracker < 2; with_tracker++) {
        struct fixture f = open_with_note();
        struct tn_tracker *tracker = NULL;
        struct bytes object = read_bytes(data_file("exits.o"));
        assert_ok(tn_tracker_create(f.library, &tracker, &err), &err);
        struct tn_input input = {
            .size = sizeof input, .name = "exits.o", .bytes = object.at, .length = object.size, .owner = tracker};
        assert_ok(tn_add_object(f.library, &input, &err), &err);
        link_all(&f);
        initialize(&f);
        assert_string_equal(heard, "");
        if (with_tracker)
            assert_ok(tn_tracker_remove(tracker, &err), &err);
        else
            tn_run_finalizers(f.library);
        assert_string_equal(heard, expected);
        tn_run_finalizers(f.library);
        assert_string_equal(heard, expected);
        close_fixture(&f);
        free(object.at);
    }
}

static unsigned count(const char *text)
{
    unsigned n = 0;
    for (const char *at = heard; (at = strstr(at, text)); at++)
        n++;
    return n;
}

static void each_runs_once(void **state)
{
    (void)state;
    struct fixture f = open_with_note();
    add_file(&f, "order_1.o");
    initialize(&f);
    assert_string_equal(heard, ""); /* nothing is linked yet */
    link_all(&f);
    initialize(&f);
    initialize(&f);
    assert_int_equal(count("init_200 in 1"), 1);
    add_file(&f, "order_2.o");
    link_all(&f);
    initialize(&f);
    assert_int_equal(count("init_200 in 1"), 1);
    assert_int_equal(count("init_200 in 2"), 1);
    tn_run_finalizers(f.library);
    tn_run_finalizers(f.library);
    assert_int_equal(count("fini_200 in 1"), 1);
    assert_int_equal(count("fini_200 in 2"), 1);
    close_fixture(&f);
    tn_run_finalizers(NULL);
}

static void finalizers_wait_for_their_initializers(void **state)
{
    (void)state;
    struct fixture f = open_with_note();
    add_file(&f, "order_1.o");
    link_all(&f);
    initialize(&f);
    add_file(&f, "order_2.o");
    link_all(&f);
    tn_run_finalizers(f.library); /* skips what was not initialized yet */
    assert_int_equal(count("fini_200 in 1"), 1);
    assert_int_equal(count("fini_200 in 2"), 0);
    initialize(&f);
    tn_run_finalizers(f.library); /* but finalizes it later */
    assert_int_equal(count("init_200 in 2"), 1);
    assert_int_equal(count("fini_200 in 2"), 1);
    assert_int_equal(count("fini_200 in 1"), 1);
    close_fixture(&f);
}

static void a_failed_link_leaves_none(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    heard[0] = '\0';
    add_file(&f, "order_1.o");
    assert_error(tn_link(f.library, &err), TN_EUNDEF, &err, "'note'");
    initialize(&f);
    define(&f, "note", note);
    link_all(&f);
    initialize(&f);
    assert_int_equal(count("init_200 in 1"), 1);
    close_fixture(&f);
}

/* ---- what they receive, and odd arrays ---- */

static int seen_argc;
static char **seen_argv, **seen_envp;
static unsigned calls;

static void init_function(int argc, char **argv, char **envp)
{
    seen_argc = argc;
    seen_argv = argv;
    seen_envp = envp;
    calls++;
}

static void arguments_are_handed_on_and_empty_entries_skipped(void **state)
{
    (void)state;
    static struct elf elf;
    static uint64_t array[5] = {0, UINT64_MAX, 0, 0, 0};
    memset(&elf, 0, sizeof elf);
    /* Two entries and half of a third one. */
    unsigned init = elf_section(&elf, ".init_array", SHT_INIT_ARRAY, SHF_ALLOC | SHF_WRITE, array, 36);
    elf_section(&elf, ".init_array.1", SHT_INIT_ARRAY, SHF_ALLOC | SHF_WRITE, array, 0);
    unsigned function = elf_undefined(&elf, "init_function");
    elf_reloc(&elf, init, 16, function, MACHINE_ADDRESS, 0);
    elf_reloc(&elf, init, 24, function, MACHINE_ADDRESS, 0);
    struct bytes object = elf_finish(&elf);
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    char *argv[] = {"a", "b", NULL}, *envp[] = {"c=d", NULL};
    define(&f, "init_function", init_function);
    add_bytes(&f, "init.o", object.at, object.size);
    link_all(&f);
    calls = 0;
    assert_ok(tn_run_initializers(f.library, 2, argv, envp, &err), &err);
    assert_int_equal(calls, 2);
    assert_int_equal(seen_argc, 2);
    assert_ptr_equal(seen_argv, argv);
    assert_ptr_equal(seen_envp, envp);
    assert_error(tn_run_initializers(NULL, 0, NULL, NULL, &err), TN_EINVAL, &err, "library");
    close_fixture(&f);
    free(object.at);
}

/* An initializer may use the session: the lock is not held. */
static struct fixture reentered;

static void lookup_in_initializer(int argc, char **argv, char **envp)
{
    (void)argc, (void)argv, (void)envp;
    calls += lookup(&reentered, "init_function") == init_function;
    check_still_works(&reentered);
}

static void initializers_may_use_the_session(void **state)
{
    (void)state;
    static struct elf elf;
    static uint64_t array[1];
    memset(&elf, 0, sizeof elf);
    unsigned init = elf_section(&elf, ".preinit_array", SHT_PREINIT_ARRAY, SHF_ALLOC | SHF_WRITE, array, 8);
    elf_reloc(&elf, init, 0, elf_undefined(&elf, "lookup_in_initializer"), MACHINE_ADDRESS, 0);
    struct bytes object = elf_finish(&elf);
    reentered = open_fixture(NULL);
    define(&reentered, "init_function", init_function);
    define(&reentered, "lookup_in_initializer", lookup_in_initializer);
    add_bytes(&reentered, "init.o", object.at, object.size);
    link_all(&reentered);
    calls = 0;
    initialize(&reentered);
    assert_int_equal(calls, 1);
    close_fixture(&reentered);
    free(object.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_a_static_program_does),
        cmocka_unit_test(exit_handlers),
        cmocka_unit_test(each_runs_once),
        cmocka_unit_test(finalizers_wait_for_their_initializers),
        cmocka_unit_test(a_failed_link_leaves_none),
        cmocka_unit_test(arguments_are_handed_on_and_empty_entries_skipped),
        cmocka_unit_test(initializers_may_use_the_session),
    };
    return cmocka_run_group_tests_name("link/order", tests, NULL, NULL);
}
