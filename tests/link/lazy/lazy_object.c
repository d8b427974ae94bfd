/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Objects whose functions are linked at their first call. */

#include "elf_builder.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/os.h"
#include "functions.h"
#include "reclaiming.h"

static int try_add(const struct fixture *f, struct bytes object, uint64_t flags, struct tn_tracker *owner,
                   struct tn_error *err)
{
    struct tn_input input = input_of("lazy.o", object);
    struct tn_stub_options options = stub_options;
    options.owner = owner;
    input.flags = flags;
    int code = tn_add_lazy_object(f->library, &input, &options, err);
    if (code)
        free(object.at);
    return code;
}

static void add(const struct fixture *f, struct bytes object, struct tn_tracker *owner)
{
    struct tn_error err;
    assert_ok(try_add(f, object, 0, owner, &err), &err);
}

static uint64_t linked(const struct fixture *f)
{
    return stats_of(f).objects;
}

static void the_first_call_links(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    add(&f, function_object("first", 1, "second"), NULL);
    add(&f, function_object("second", 2, NULL), NULL);
    void *first = lookup(&f, "first");
    assert_int_equal(linked(&f), 0);
    assert_int_equal(call_at(first), 3); /* its own value and the callee's */
    assert_int_equal(linked(&f), 2);
    assert_int_equal(call_at(first), 3);
    assert_ptr_equal(lookup(&f, "first"), first);
    assert_ptr_not_equal(lookup(&f, "first$body"), first);
    close_fixture(&f);
}

/* An object whose function calls itself by name, through its stub; and a variable. */
static struct bytes pointer_object(void)
{
    static struct elf elf;
    static const uint64_t words[1];
    uint8_t code[FUNCTION_SIZE];
    memset(&elf, 0, sizeof elf);
    put_function(code, 5, false);
    unsigned text = elf_code(&elf, code, sizeof code);
    unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, words, sizeof words);
    unsigned function = elf_symbol(&elf, "function", STB_GLOBAL, STT_FUNC, text, 0, sizeof code);
    elf_symbol(&elf, "pointer", STB_GLOBAL, STT_OBJECT, data, 0, sizeof words);
    elf_reloc(&elf, data, 0, function, MACHINE_ADDRESS, 0);
    return elf_finish(&elf);
}

static void pointers_are_equal(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    add(&f, pointer_object(), NULL);
    void *stub = lookup(&f, "function");
    assert_int_equal(linked(&f), 0);
    void *const *pointer = lookup(&f, "pointer");
    assert_int_equal(linked(&f), 1); /* variables have no stubs */
    assert_ptr_equal(*pointer, stub);
    assert_int_equal(call_at(*pointer), 5);
    assert_ok(tn_redirect(f.library, "function", (void *)(uintptr_t)failed_call, &err), &err);
    assert_int_equal(call_at(*pointer), -1);
    close_fixture(&f);
}

static int host(int x)
{
    return x + 1;
}

/* What compilers make, with observers that read the file again. */
static void compiled_objects(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    assert_ok(tn_observe_gdb(f.session, &err), &err);
    assert_ok(tn_observe_functions(f.session, &err), &err);
    add(&f, read_bytes(data_file("matrix_a.o")), NULL);
    add(&f, read_bytes(data_file("matrix_b.o")), NULL);
    void *address = lookup(&f, "run");
    int (*run)(int (*)(int));
    memcpy(&run, &address, sizeof run);
    assert_int_equal(linked(&f), 0);
    assert_int_equal(run(host), 0);
    assert_int_equal(linked(&f), 2);
    close_fixture(&f);
}

/* The call ends in on_failure, and the next one tries again. */
static void errors_come_at_the_first_call(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    add(&f, function_object("first", 1, "missing"), NULL);
    void *first = lookup(&f, "first");
    failed_calls = 0;
    assert_int_equal(call_at(first), -1);
    assert_int_equal(call_at(first), -1);
    assert_int_equal(failed_calls, 2);
    add(&f, function_object("missing", 6, NULL), NULL);
    assert_int_equal(call_at(first), 7);
    close_fixture(&f);
}

static int reported;
static char text[2048];

static void report(void *context, const struct tn_error *err)
{
    (void)context;
    reported = err->code;
    snprintf(text, sizeof text, "%s", err->text);
}

static void errors_are_reported(void **state)
{
    (void)state;
    const struct tn_session_options options = {.size = sizeof options, .on_error = report};
    struct fixture f = open_fixture(&options);
    add(&f, function_object("first", 1, "missing"), NULL);
    assert_int_equal(call(&f, "first"), -1);
    assert_int_equal(reported, TN_EUNDEF);
    assert_non_null(strstr(text, "'missing'"));
    assert_non_null(strstr(text, "for a call of 'first'"));
    close_fixture(&f);
}

/* ---- which definition ---- */

static void weak_functions_give_way(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    add(&f, weak_function_object("f", 1), NULL);
    add(&f, weak_function_object("f", 2), NULL);
    add(&f, weak_function_object("g", 1), NULL);
    add_function(f.library, "g", 3, NULL, NULL);
    assert_int_equal(call(&f, "f"), 1);
    assert_int_equal(call(&f, "g"), 3);
    close_fixture(&f);
}

static void flags_of_the_input(void **state)
{
    (void)state;
    struct tn_error err;
    void *address;
    struct fixture f = open_fixture(NULL);
    assert_ok(try_add(&f, function_object("weak", 1, NULL), TN_INPUT_WEAK, NULL, &err), &err);
    add_function(f.library, "weak", 2, NULL, NULL);
    assert_int_equal(call(&f, "weak"), 2);
    assert_ok(try_add(&f, function_object("hidden", 3, NULL), TN_INPUT_HIDDEN, NULL, &err), &err);
    assert_error(tn_lookup(f.library, "hidden", &address, &err), TN_EUNDEF, &err, "hidden");
    add_function(f.library, "shown", 4, "hidden", NULL);
    assert_int_equal(call(&f, "shown"), 7);
    close_fixture(&f);
}

static void strong_ones_are_refused_twice(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct tn_tracker *tracker = new_tracker(&f);
    add_function(f.library, "f", 1, NULL, tracker);
    assert_error(try_add(&f, function_object("f", 2, NULL), 0, NULL, &err), TN_EDUP, &err, "'f'");
    assert_int_equal(call(&f, "f"), 1);
    assert_ok(tn_tracker_remove(tracker, &err), &err);
    add(&f, function_object("f", 2, NULL), NULL); /* nothing had stayed behind */
    assert_int_equal(call(&f, "f"), 2);
    close_fixture(&f);
}

/* A function in a COMDAT group, strong as compilers make some. */
static struct bytes group_object(int value)
{
    static struct elf elf;
    uint8_t code[FUNCTION_SIZE];
    memset(&elf, 0, sizeof elf);
    put_function(code, (uint32_t)value, false);
    unsigned section =
        elf_section(&elf, ".text.f", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR | SHF_GROUP, code, sizeof code);
    unsigned symbol = elf_symbol(&elf, "f", STB_GLOBAL, STT_FUNC, section, 0, sizeof code);
    const uint32_t words[] = {GRP_COMDAT, section};
    unsigned group = elf_section(&elf, ".group", SHT_GROUP, 0, words, sizeof words);
    elf.sections[group].header.sh_info = symbol;
    return elf_finish(&elf);
}

static void one_copy_of_a_group(void **state)
{
    (void)state;
    struct tn_error err;
    for (int eager = 0; eager < 3; eager++) { /* neither, the first, the second */
        struct fixture f = open_fixture(NULL);
        for (int i = 1; i <= 2; i++) {
            const struct bytes object = group_object(i);
            const struct tn_input input = input_of("eager.o", object);
            if (eager == i)
                assert_ok(tn_add_object(f.library, &input, &err), &err);
            else
                add(&f, object, NULL);
        }
        add_function(f.library, "user", 10, "f", NULL);
        assert_int_equal(call(&f, "f"), 1);
        assert_int_equal(call(&f, "user"), 11);
        close_fixture(&f);
    }
}

/* ---- removal ---- */

static void removed_before_and_after(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct tn_tracker *tracker = new_tracker(&f);
    void *address;
    for (int calls = 0; calls < 2; calls++) {
        add(&f, function_object("f", 1, NULL), tracker);
        if (calls)
            assert_int_equal(call(&f, "f"), 1);
        assert_ok(tn_tracker_remove(tracker, &err), &err);
        assert_error(tn_lookup(f.library, "f", &address, &err), TN_EUNDEF, &err, "'f'");
        assert_error(tn_lookup(f.library, "f$body", &address, &err), TN_EUNDEF, &err, "body");
    }
    add(&f, function_object("f", 2, NULL), tracker);
    assert_int_equal(call(&f, "f"), 2);
    close_fixture(&f);
}

static void retired_without_waiting(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_tracker *tracker = new_tracker(&f);
    struct told told[2] = {0};
    for (size_t i = 0; i < COUNT(told); i++) {
        add(&f, function_object("f", 1, NULL), tracker);
        if (i)
            assert_int_equal(call(&f, "f"), 1);
        retire_start(tracker, &told[i]);
        assert_int_equal(await_removed(&told[i]), 0);
    }
    close_fixture(&f);
}

/* ---- threads, memory ---- */

enum { THREADS = 16 };

static pthread_barrier_t gate;

static void *call_first(void *address)
{
    pthread_barrier_wait(&gate);
    return (void *)(intptr_t)call_at(address);
}

static void many_threads_make_one_first_call(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        struct fixture f = open_fixture(NULL);
        pthread_t threads[THREADS];
        pthread_barrier_init(&gate, NULL, THREADS);
        add(&f, function_object("first", 1, "second"), NULL);
        add(&f, function_object("second", 2, NULL), NULL);
        void *first = lookup(&f, "first");
        for (size_t i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, call_first, first), 0);
        for (size_t i = 0; i < THREADS; i++) {
            void *answer;
            pthread_join(threads[i], &answer);
            assert_int_equal((intptr_t)answer, 3);
        }
        assert_int_equal(linked(&f), 2);
        pthread_barrier_destroy(&gate);
        close_fixture(&f);
    }
}

static int releases;

static void count_release(void *context, const void *bytes, size_t length)
{
    (void)context, (void)bytes, (void)length;
    releases++;
}

static void without_memory_nothing_stays(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct bytes object = function_object("f", 4, NULL);
    struct tn_input input = input_of("lazy.o", object);
    int failures = 0, code = TN_ENOMEM;
    void *address;
    input.release = count_release;
    for (char plan[16]; code; failures += code != 0) {
        snprintf(plan, sizeof plan, "a%d", failures + 1);
        tn__os_set_faults(plan);
        code = tn_add_lazy_object(f.library, &input, &stub_options, &err);
        tn__os_set_faults(NULL);
        if (!code)
            break;
        assert_int_equal(code, TN_ENOMEM);
        assert_error(tn_lookup(f.library, "f", &address, &err), TN_EUNDEF, &err, "'f'");
        assert_error(tn_lookup(f.library, "f$body", &address, &err), TN_EUNDEF, &err, "body");
    }
    assert_true(failures > 4);
    assert_int_equal(releases, 0);
    assert_int_equal(call(&f, "f"), 4);
    assert_int_equal(releases, 1);
    close_fixture(&f);
    free(object.at);
}

static void arguments(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct bytes object = function_object("f", 4, NULL);
    struct tn_input input = input_of("lazy.o", object);
    struct tn_stub_options options = {.size = sizeof options};
    assert_error(tn_add_lazy_object(NULL, &input, &stub_options, &err), TN_EINVAL, &err, "library");
    assert_error(tn_add_lazy_object(f.library, NULL, &stub_options, &err), TN_EINVAL, &err, "input");
    assert_error(tn_add_lazy_object(f.library, &input, &options, &err), TN_EINVAL, &err, "call");
    options = stub_options;
    options.owner = new_tracker(&f);
    input.owner = new_tracker(&f);
    assert_error(tn_add_lazy_object(f.library, &input, &options, &err), TN_EINVAL, &err, "owners");
    input.owner = NULL;
    assert_ok(tn_library_remove(f.library, &err), &err);
    assert_error(tn_add_lazy_object(f.library, &input, &options, &err), TN_EREMOVED, &err, "main");
    close_fixture(&f);
    free(object.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_call_links),
        cmocka_unit_test(pointers_are_equal),
        cmocka_unit_test(compiled_objects),
        cmocka_unit_test(errors_come_at_the_first_call),
        cmocka_unit_test(errors_are_reported),
        cmocka_unit_test(weak_functions_give_way),
        cmocka_unit_test(flags_of_the_input),
        cmocka_unit_test(strong_ones_are_refused_twice),
        cmocka_unit_test(one_copy_of_a_group),
        cmocka_unit_test(removed_before_and_after),
        cmocka_unit_test(retired_without_waiting),
        cmocka_unit_test(many_threads_make_one_first_call),
        cmocka_unit_test(without_memory_nothing_stays),
        cmocka_unit_test(arguments),
    };
    return cmocka_run_group_tests_name("link/lazy_object", tests, NULL, NULL);
}
