/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Libraries that are destroyed after their removal: their memory comes back, as soon as nothing leads to them. Also run
 * under ThreadSanitizer. */

#include <pthread.h>

#include "cancelling.h"
#include "resident.h"

/* ---- a session that counts its blocks ---- */

static _Atomic long blocks;

static void *allocate(void *unused, size_t size)
{
    (void)unused;
    void *block = malloc(size);
    blocks += block != NULL;
    return block;
}

static void *reallocate(void *unused, void *block, size_t size)
{
    if (!block)
        return allocate(unused, size);
    return realloc(block, size);
}

static void give_back(void *unused, void *block)
{
    (void)unused;
    blocks -= block != NULL;
    free(block);
}

static struct fixture open_counted(void)
{
    static const struct tn_allocator allocator = {NULL, allocate, reallocate, give_back};
    const struct tn_session_options options = {.size = sizeof options, .allocator = &allocator};
    return open_fixture(&options);
}

/* A fixture of another library of the session. */
static struct fixture make(const struct fixture *f)
{
    struct fixture made = {.session = f->session};
    struct tn_error err;
    assert_ok(tn_library_create(f->session, "short-lived", &made.library, &err), &err);
    return made;
}

static void remove_and_destroy(const struct fixture *f)
{
    struct tn_error err;
    assert_ok(tn_library_remove(f->library, &err), &err);
    assert_ok(tn_library_destroy(f->library, &err), &err);
}

/* ---- what keeps a library, and what does not ---- */

static void nothing(const struct fixture *f)
{
    struct tn_tracker *tracker;
    struct tn_error err;
    assert_ok(tn_tracker_create(f->library, &tracker, &err), &err);
    add_function(f->library, "f", 7, NULL, tracker);
    assert_int_equal(call_in(f->library, "f"), 7);
    remove_and_destroy(f);
}

/* A responsibility, and a lookup whose handle is the client's. */
static void responsibilities(const struct fixture *f)
{
    struct maker m = {.name = "f", .code = TN_LATER};
    struct asked a = {0};
    struct tn_error err;
    promise_maker(f, &m);
    start_lookup(f, &a, "f");
    remove_and_destroy(f);
    assert_int_equal(a.code, TN_EREMOVED);
    assert_int_equal(tn_responsibility_ready(m.kept, &err), TN_EREMOVED);
    assert_int_equal(m.destroyed, 1);
    cancel_lookup(&a);
}

static struct tn_responsibility *_Atomic kept;

static int generate(void *context, struct tn_library *library, const char *const *names, size_t count,
                    struct tn_error *err)
{
    (void)context, (void)names, (void)count, (void)err;
    kept = tn_generator_keep(library);
    return TN_LATER;
}

/* A generator that a lookup in another library asks. */
static void generators(const struct fixture *f)
{
    struct fixture user = make(f);
    struct asked a = {0};
    struct tn_error err;
    assert_ok(tn_add_generator(f->library, generate, NULL, &err), &err);
    assert_ok(tn_library_search(user.library, &(struct tn_search){f->library, 0}, 1, &err), &err);
    start_lookup(&user, &a, "f");
    assert_int_equal(a.calls, 0);
    remove_and_destroy(f);
    assert_int_equal(a.calls, 1);
    assert_int_equal(a.code, TN_EUNDEF);
    assert_int_equal(tn_responsibility_ready(kept, &err), TN_EREMOVED);
    cancel_lookup(&a);
    remove_and_destroy(&user);
}

static int failed(void)
{
    return -1;
}

/* Stubs of another library, whose functions were to be found here. */
static void stubs(const struct fixture *f)
{
    struct fixture user = make(f);
    struct tn_error err;
    int (*fail)(void) = failed;
    struct tn_stub_options options = {.size = sizeof options};
    memcpy(&options.on_failure, &fail, sizeof fail);
    const struct tn_lazy_symbol symbol = {.name = "f"};
    assert_ok(tn_define_lazy(user.library, &symbol, 1, f->library, &options, &err), &err);
    add_function(f->library, "f", 7, NULL, NULL);
    remove_and_destroy(f);
    assert_int_equal(call(&user, "f"), -1);
    remove_and_destroy(&user);
}

static void memory_comes_back(void **state)
{
    (void)state;
    static void (*const rows[])(const struct fixture *) = {nothing, responsibilities, generators, stubs};
    for (size_t row = 0; row < COUNT(rows); row++) {
        struct fixture f = open_counted();
        long before = 0;
        for (int i = 0; i < 300; i++) {
            struct fixture made = make(&f);
            rows[row](&made);
            if (i == 9)
                before = blocks;
        }
        if (blocks != before)
            fail_msg("row %zu: %ld blocks stay of 290 libraries", row, blocks - before);
        add_function(f.library, "g", 8, NULL, NULL);
        assert_int_equal(call_in(f.library, "g"), 8);
        close_fixture(&f);
        assert_int_equal(blocks, 0);
    }
}

/* The process does not grow, whatever the allocator and the system make of it. */
static void twenty_thousand(void **state)
{
    (void)state;
    enum { WARM = 2000, ALL = 20000, LIMIT_KB = 256 };
    struct fixture f = open_fixture(NULL);
    long before = 0;
    for (int i = 0; i < ALL; i++) {
        struct fixture made = make(&f);
        if (i == WARM)
            before = resident_kb();
        add_function(made.library, "g", i, NULL, NULL);
        assert_int_equal(call_in(made.library, "g"), i);
        remove_and_destroy(&made);
    }
    long grown = resident_kb() - before;
    print_message("%d libraries: %ld KB more\n", ALL - WARM, grown);
    if (grown > LIMIT_KB && !KEEPS_WHAT_WAS_FREED)
        fail_msg("%ld KB more", grown);
    close_fixture(&f);
}

/* What still leads there is freed with the session. */
static void session_ends_first(void **state)
{
    (void)state;
    struct fixture f = open_counted(), made = make(&f);
    struct maker m = {.name = "f", .code = TN_LATER};
    struct asked a = {0};
    promise_maker(&made, &m);
    start_lookup(&made, &a, "f");
    remove_and_destroy(&made);
    close_fixture(&f);
    assert_int_equal(m.destroyed, 1);
    assert_int_equal(blocks, 0);
}

static void wrong_arguments(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    assert_error(tn_library_destroy(f.library, &err), TN_EINVAL, &err, "removed");
    assert_int_equal(tn_library_destroy(NULL, &err), 0);
    add_function(f.library, "g", 8, NULL, NULL);
    assert_int_equal(call_in(f.library, "g"), 8);
    close_fixture(&f);
}

static void numbers(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    uint64_t last = tn_library_number(f.library);
    assert_true(tn_library_number(NULL) == UINT64_MAX);
    for (int i = 0; i < 100; i++) {
        struct fixture made = make(&f);
        uint64_t number = tn_library_number(made.library);
        assert_true(number > last);
        last = number;
        remove_and_destroy(&made);
    }
    close_fixture(&f);
}

/* ---- threads ---- */

static void *come_and_go(void *fixture)
{
    const struct fixture *f = fixture;
    for (int i = 0; i < 100; i++) {
        struct fixture made = make(f);
        struct tn_error err;
        const struct tn_search search = {f->library, 0};
        if (tn_library_search(made.library, &search, 1, &err))
            return fixture;
        add_function(made.library, "f", 1, "g", NULL);
        if (call_in(made.library, "f") != 9)
            return fixture;
        remove_and_destroy(&made);
        tn_library_find(f->session, "short-lived");
        stats_of(f);
    }
    return NULL;
}

static void threads(void **state)
{
    (void)state;
    struct fixture f = open_counted();
    pthread_t thread[3];
    add_function(f.library, "g", 8, NULL, NULL);
    for (size_t i = 0; i < COUNT(thread); i++)
        assert_int_equal(pthread_create(&thread[i], NULL, come_and_go, &f), 0);
    for (size_t i = 0; i < COUNT(thread); i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        assert_null(wrong);
    }
    close_fixture(&f);
    assert_int_equal(blocks, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_comes_back), cmocka_unit_test(twenty_thousand), cmocka_unit_test(session_ends_first),
        cmocka_unit_test(wrong_arguments),   cmocka_unit_test(numbers),         cmocka_unit_test(threads),
    };
    return cmocka_run_group_tests_name("destroyed", tests, NULL, NULL);
}
