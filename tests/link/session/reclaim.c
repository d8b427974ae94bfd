/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Removals that do not wait for threads: what is gone when the call returns, what when the client is told, and what
 * callbacks may do. Also run under ThreadSanitizer. */

#include "reclaiming.h"

#include <sched.h>
#include <unistd.h>

#include "functions.h"

enum { GENERIC = -2 };

static int generic(void)
{
    return GENERIC;
}

static const struct tn_instance_entries entries = {(void *)(uintptr_t)generic, NULL};

static void assert_unknown(struct tn_library *library, int code)
{
    struct tn_error err;
    void *address;
    assert_error(tn_lookup(library, "version", &address, &err), code, &err, "library");
}

/* ---- trackers ---- */

static void names_go_at_once_and_code_when_threads_have_left_it(void **state)
{
    (void)state;
    struct tn_tracker *tracker;
    struct fixture f = open_version(&tracker);
    struct holder holder;
    struct told told = {0};
    begin_holding(&holder, &f);
    retire_start(tracker, &told);
    assert_unknown(f.library, TN_EUNDEF);
    usleep(2000);
    assert_int_equal(told.calls, 0);
    assert_int_equal(finalized, 0);
    assert_true(stats_of(&f).code_bytes);
    end_holding(&holder, 1);
    assert_int_equal(await_removed(&told), 0);
    assert_int_equal(finalized, 1);
    assert_int_equal(stats_of(&f).code_bytes, 0);
    close_fixture(&f);
}

static void the_tracker_may_go_or_be_used_again(void **state)
{
    (void)state;
    struct tn_tracker *tracker;
    struct fixture f = open_version(&tracker);
    struct holder holder;
    struct told told[3] = {0};
    begin_holding(&holder, &f);
    retire_start(tracker, &told[0]);
    add_version(f.library, 2, tracker);
    assert_int_equal(call(&f, "version"), 2);
    retire_start(tracker, &told[1]); /* of what was added meanwhile */
    retire_start(tracker, &told[2]); /* of nothing */
    add_version(f.library, 3, tracker);
    tn_tracker_destroy(tracker);
    end_holding(&holder, 1);
    for (size_t i = 0; i < COUNT(told); i++)
        assert_int_equal(await_removed(&told[i]), 0);
    assert_true(told[0].order < told[1].order && told[1].order < told[2].order);
    assert_int_equal(call(&f, "version"), 3); /* belongs to the library now */
    close_fixture(&f);
}

/* A removal that waits has nothing to do with one that does not: it returns when threads have left what it removes. */
static void with_a_removal_that_waits(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_tracker *tracker;
    struct fixture f = open_version(&tracker);
    struct told told = {0};
    retire_start(tracker, &told);
    add_version(f.library, 2, tracker);
    assert_ok(tn_tracker_retire(tracker, &err), &err);
    assert_unknown(f.library, TN_EUNDEF);
    assert_int_equal(await_removed(&told), 0);
    assert_int_equal(stats_of(&f).code_bytes, 0);
    close_fixture(&f);
}

/* A thread that found the code before publishes it, and the tracker is gone or has given away what it owns. */
static void late_publications(void **state)
{
    const bool transfers = *state != NULL;
    struct tn_error err;
    struct tn_tracker *tracker;
    struct fixture f = open_version(&tracker);
    struct holder holder;
    struct told told = {0};
    struct tn_instance late, other;
    tn_instance_init(&late, &entries);
    tn_instance_init(&other, &entries);
    begin_holding(&holder, &f);
    retire_start(tracker, &told);
    const struct tn_instance_code code = {holder.address, holder.address, TN_INSTANCE_SPECSIG};
    assert_ok(tn_instance_publish(&late, &code, tracker, &err), &err);
    if (transfers)
        assert_ok(tn_tracker_transfer(tracker, tn_library_tracker(f.library), &err), &err);
    tn_tracker_destroy(tracker);
    add_version(f.library, 2, NULL);
    void *new = lookup(&f, "version");
    const struct tn_instance_code good = {new, new, TN_INSTANCE_SPECSIG};
    assert_ok(tn_instance_publish(&other, &good, tn_library_tracker(f.library), &err), &err);
    end_holding(&holder, 1);
    assert_int_equal(await_removed(&told), 0);
    assert_null(tn_instance_read(&late, 0).specptr);
    assert_ptr_equal(tn_instance_read(&other, 0).specptr, new);
    close_fixture(&f);
}

static void lazy_functions_lead_elsewhere(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_tracker *tracker;
    struct fixture f = open_version(&tracker);
    struct holder holder;
    struct told told = {0};
    const struct tn_lazy_symbol symbol = {.name = "stub", .target = "version"};
    assert_ok(tn_define_lazy(f.library, &symbol, 1, f.library, &stub_options, &err), &err);
    assert_int_equal(call(&f, "stub"), 1);
    begin_holding(&holder, &f);
    retire_start(tracker, &told);
    add_version(f.library, 2, NULL);
    while (call(&f, "stub") == 1) /* not only when threads have left the code */
        sched_yield();
    assert_int_equal(call(&f, "stub"), 2);
    assert_ok(tn_redirect(f.library, "stub", holder.address, &err), &err); /* by a thread that has found it before */
    end_holding(&holder, 1);
    assert_int_equal(await_removed(&told), 0);
    assert_int_equal(call(&f, "stub"), 2);
    close_fixture(&f);
}

/* ---- libraries ---- */

static void libraries(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_tracker *tracker;
    struct fixture f = open_version(&tracker);
    struct tn_library *other;
    struct holder holder;
    struct told told = {0};
    add_function(f.library, "of_the_library", 5, NULL, NULL);
    link_all(&f);
    assert_ok(tn_library_create(f.session, "other", &other, &err), &err);
    assert_ok(tn_library_search(other, &(struct tn_search){.library = f.library}, 1, &err), &err);
    const struct fixture seen = {f.session, other};
    assert_int_equal(call(&seen, "version"), 1);
    begin_holding(&holder, &seen);
    remove_start(f.library, &told);
    assert_unknown(f.library, TN_EREMOVED);
    assert_unknown(other, TN_EUNDEF);
    assert_error(tn_library_remove_start(f.library, note_removed, NULL, &err), TN_EREMOVED, &err, "main");
    assert_error(tn_library_remove(f.library, &err), TN_EREMOVED, &err, "main");
    assert_error(tn_library_destroy(f.library, &err), TN_EINVAL, &err, "removed");
    assert_null(tn_library_find(f.session, "main"));
    usleep(2000);
    assert_int_equal(finalized, 0);
    assert_int_equal(told.calls, 0);
    end_holding(&holder, 1);
    assert_int_equal(await_removed(&told), 0);
    assert_int_equal(finalized, 1);
    assert_int_equal(stats_of(&f).code_bytes, 0);
    tn_tracker_destroy(tracker);
    assert_ok(tn_library_destroy(f.library, &err), &err);
    add_version(other, 3, NULL);
    assert_int_equal(call(&seen, "version"), 3);
    close_fixture(&f);
}

/* Code that is on its way out does not belong to the library any more. */
static void the_library_is_cleared_or_removed_meanwhile(void **state)
{
    const char *const *way = *state;
    struct tn_error err;
    struct tn_tracker *tracker;
    struct fixture f = open_version(&tracker);
    struct holder holder;
    struct told told = {0}, of_library = {0};
    struct tn_stub_options options = stub_options;
    const struct tn_lazy_symbol symbol = {.name = "stub", .target = "version"};
    options.owner = tracker;
    uint64_t without = stats_of(&f).code_bytes;
    assert_ok(tn_define_lazy(f.library, &symbol, 1, f.library, &options, &err), &err);
    uint64_t stubs = stats_of(&f).code_bytes - without; /* which are used again */
    assert_int_equal(call(&f, "stub"), 1);
    begin_holding(&holder, &f);
    retire_start(tracker, &told);
    bool waits = strcmp(*way, "removed by a call that does not wait");
    if (!strcmp(*way, "cleared"))
        assert_ok(tn_library_clear(f.library, &err), &err);
    else if (waits)
        assert_ok(tn_library_remove(f.library, &err), &err);
    else
        remove_start(f.library, &of_library);
    if (!strcmp(*way, "destroyed"))
        assert_ok(tn_library_destroy(f.library, &err), &err);
    end_holding(&holder, 1);
    assert_int_equal(await_removed(&told), 0);
    if (!waits)
        assert_int_equal(await_removed(&of_library), 0);
    assert_int_equal(finalized, 1);
    assert_int_equal(stats_of(&f).code_bytes, stubs);
    close_fixture(&f);
}

/* ---- what callbacks do ---- */

static struct told second;

static void destroy_session(struct told *told)
{
    tn_session_destroy(told->f->session);
}

static void start_again(struct told *told)
{
    retire_start(told->tracker, &second);
}

static void retire_and_destroy(struct told *told)
{
    struct tn_error err;
    add_version(told->f->library, 7, told->tracker);
    if (call(told->f, "version") != 7 || tn_tracker_retire(told->tracker, &err))
        told->code = 2;
    tn_tracker_destroy(told->tracker);
    told->tracker = NULL;
}

static void destroy_library(struct told *told)
{
    if (tn_library_destroy(told->f->library, NULL))
        told->code = 2;
}

static const struct habit {
    const char *name;
    void (*also)(struct told *told);
    bool of_library, ends_session;
} habits[] = {
    {"it destroys the session", destroy_session, false, true},
    {"it destroys the session of the library", destroy_session, true, true},
    {"it starts another", start_again, false, false},
    {"it removes, and destroys the tracker", retire_and_destroy, false, false},
    {"it destroys the library", destroy_library, true, false},
};

static void the_callback_calls_back(void **state)
{
    const struct habit *habit = *state;
    struct tn_tracker *tracker;
    struct fixture f = open_version(&tracker);
    struct told told = {.also = habit->also, .f = &f, .tracker = tracker};
    if (habit->of_library)
        remove_start(f.library, &told);
    else
        retire_start(tracker, &told);
    assert_int_equal(await_removed(&told), 0);
    if (habit->also == start_again)
        assert_int_equal(await_removed(&second), 0);
    assert_int_equal(finalized, 1);
    if (!habit->ends_session)
        close_fixture(&f);
}

/* ---- errors ---- */

static void errors(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_tracker *tracker;
    struct fixture f = open_version(&tracker);
    assert_error(tn_tracker_retire_start(NULL, note_removed, NULL, &err), TN_EINVAL, &err, "tracker");
    assert_error(tn_tracker_retire_start(tracker, NULL, NULL, &err), TN_EINVAL, &err, "function");
    assert_error(tn_library_remove_start(NULL, note_removed, NULL, &err), TN_EINVAL, &err, "library");
    assert_error(tn_library_remove_start(f.library, NULL, NULL, &err), TN_EINVAL, &err, "function");
    assert_int_equal(call(&f, "version"), 1);
    assert_ok(tn_library_remove(f.library, &err), &err);
    assert_error(tn_tracker_retire_start(tracker, note_removed, NULL, &err), TN_EREMOVED, &err, "main");
    close_fixture(&f);
}

/* ---- many, from many threads ---- */

enum { THREADS = 3, VERSIONS = 400 };

struct storm {
    struct fixture f;
    void *stub;
    uint32_t stop, ended;
    _Atomic int wrong;
};

static void note_end(void *context, const struct tn_error *err)
{
    struct storm *s = context;
    s->wrong += err != NULL;
    __atomic_add_fetch(&s->ended, 1, __ATOMIC_RELEASE);
}

static void *call_until_the_end(void *argument)
{
    struct storm *s = argument;
    int newest[2] = {0};
    tn_thread_attach();
    while (!__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE)) {
        void *found;
        int by_name = tn_lookup(s->f.library, "version", &found, NULL) ? -1 : call_at(found),
            by_stub = call_at(s->stub);
        s->wrong += by_name < newest[0] || by_stub < newest[1]; /* older code never returns */
        newest[0] = by_name;
        newest[1] = by_stub;
        tn_thread_quiescent();
        usleep(50);
    }
    tn_thread_detach();
    return NULL;
}

static void replaced_while_threads_call(void **state)
{
    (void)state;
    struct tn_error err;
    struct storm s = {.f = open_fixture(NULL)};
    pthread_t threads[THREADS];
    const struct tn_lazy_symbol symbol = {.name = "stub", .target = "version"};
    struct tn_tracker *tracker = new_tracker(&s.f), *next;
    add_version(s.f.library, 1, tracker);
    assert_ok(tn_define_lazy(s.f.library, &symbol, 1, s.f.library, &stub_options, &err), &err);
    s.stub = lookup(&s.f, "stub");
    assert_int_equal(call(&s.f, "stub"), 1);
    struct tn_stats first = stats_of(&s.f);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_until_the_end, &s), 0);
    for (int version = 2; version <= VERSIONS; version++, tracker = next) {
        next = new_tracker(&s.f);
        add_version(s.f.library, version, next);
        assert_ok(tn_tracker_retire_start(tracker, note_end, &s, &err), &err);
        tn_tracker_destroy(tracker);
        assert_int_equal(call(&s.f, "version"), version);
    }
    while (__atomic_load_n(&s.ended, __ATOMIC_ACQUIRE) < VERSIONS - 1)
        usleep(1000);
    __atomic_store_n(&s.stop, 1, __ATOMIC_RELEASE);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(s.ended, VERSIONS - 1);
    assert_int_equal(s.wrong, 0);
    assert_int_equal(call_at(s.stub), VERSIONS);
    assert_int_equal(stats_of(&s.f).code_bytes, first.code_bytes);
    close_fixture(&s.f);
}

int main(void)
{
    static const char *const ways[] = {"cleared", "removed", "destroyed", "removed by a call that does not wait"};
    static int transfers;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_go_at_once_and_code_when_threads_have_left_it),
        cmocka_unit_test(the_tracker_may_go_or_be_used_again),
        cmocka_unit_test(with_a_removal_that_waits),
        cmocka_unit_test(late_publications),
        {.name = "late_publications_after_a_transfer", .test_func = late_publications, .initial_state = &transfers},
        cmocka_unit_test(lazy_functions_lead_elsewhere),
        cmocka_unit_test(libraries),
        cmocka_unit_test(errors),
        cmocka_unit_test(replaced_while_threads_call),
    };
    return cmocka_run_group_tests_name("link/reclaim", tests, NULL, NULL) +
           RUN_ROWS("link/reclaim while the library is", ways, the_library_is_cleared_or_removed_meanwhile) +
           RUN_ROWS("link/reclaim", habits, the_callback_calls_back);
}
