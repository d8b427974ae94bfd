/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lookups that are cancelled: callbacks are called once, materializers that no lookup needs any more learn of it and
 * can stop without having failed. Also run under ThreadSanitizer. */

#include <unistd.h>

#include "base/os.h"
#include "cancelling.h"

/* ---- cancelled while waiting ---- */

static void stopped_and_made_again(void **state)
{
    (void)state;
    _Atomic int errors = 0;
    struct fixture f = open_counting(&errors);
    struct maker m = {.name = "f", .value = 3, .code = TN_LATER};
    struct asked a = {0};
    promise_maker(&f, &m);
    start_lookup(&f, &a, "f");
    assert_int_equal(m.made, 1);
    assert_false(tn_responsibility_is_cancelled(m.kept));
    cancel_lookup(&a);
    assert_int_equal(a.code, TN_ECANCELLED);
    assert_null(a.wanted.address);
    assert_true(tn_responsibility_is_cancelled(m.kept));
    stop_maker(&m, TN_ECANCELLED);
    assert_int_equal(m.destroyed, 0);
    m.code = 0;
    assert_int_equal(call(&f, "f"), 3);
    assert_int_equal(m.made, 2);
    assert_int_equal(m.destroyed, 1);
    assert_int_equal(errors, 0);
    assert_int_equal(a.calls, 1);
    close_fixture(&f);
}

/* One that does not look, or goes on, has made the symbol for later lookups. */
static void made_all_the_same(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .value = 4, .code = TN_LATER};
    struct asked a = {0};
    promise_maker(&f, &m);
    start_lookup(&f, &a, "f");
    cancel_lookup(&a);
    assert_true(tn_responsibility_is_cancelled(m.kept));
    finish_maker(&m);
    assert_int_equal(call(&f, "f"), 4);
    assert_int_equal(m.made, 1);
    close_fixture(&f);
}

/* TN_ECANCELLED from one that was not told so is a failure like any other: it is not called again and again. */
static void stopped_without_reason(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .code = TN_ECANCELLED};
    void *address;
    promise_maker(&f, &m);
    assert_error(tn_lookup(f.library, "f", &address, &err), TN_ECANCELLED, &err, "'f'", "f stops");
    assert_error(tn_lookup(f.library, "f", &address, &err), TN_ECANCELLED, &err, "'f'", "f stops");
    assert_int_equal(m.made, 1);
    close_fixture(&f);
}

static void needed_by_another(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .value = 5, .code = TN_LATER};
    struct asked a = {0}, b = {0};
    promise_maker(&f, &m);
    start_lookup(&f, &a, "f");
    start_lookup(&f, &b, "f");
    cancel_lookup(&a);
    assert_false(tn_responsibility_is_cancelled(m.kept));
    finish_maker(&m);
    assert_int_equal(b.calls, 1);
    assert_int_equal(b.code, 0);
    assert_non_null(b.wanted.address);
    cancel_lookup(&b);
    close_fixture(&f);
}

/* A lookup that comes after the materializer was told waits until it has stopped, and has it called again. */
static void needed_again(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .value = 6, .code = TN_LATER};
    struct asked a = {0}, b = {0};
    promise_maker(&f, &m);
    start_lookup(&f, &a, "f");
    cancel_lookup(&a);
    assert_true(tn_responsibility_is_cancelled(m.kept));
    start_lookup(&f, &b, "f");
    assert_false(tn_responsibility_is_cancelled(m.kept));
    m.code = 0;
    stop_maker(&m, TN_ECANCELLED);
    assert_int_equal(m.made, 2);
    assert_int_equal(b.calls, 1);
    assert_int_equal(b.code, 0);
    cancel_lookup(&b);
    close_fixture(&f);
}

/* a needs b needs c: when nobody waits for a any more, c is cancelled too; not while somebody waits for b. */
static void needed_through_others(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker a = {.name = "a", .needs = "b", .code = TN_LATER}, b = {.name = "b", .needs = "c", .code = TN_LATER};
    struct maker c = {.name = "c", .code = TN_LATER};
    struct asked first = {0}, second = {0};
    promise_maker(&f, &a);
    promise_maker(&f, &b);
    promise_maker(&f, &c);
    start_lookup(&f, &first, "a");
    start_lookup(&f, &second, "b");
    assert_int_equal(c.made, 1);
    cancel_lookup(&first);
    assert_true(tn_responsibility_is_cancelled(a.kept));
    assert_false(tn_responsibility_is_cancelled(b.kept));
    assert_false(tn_responsibility_is_cancelled(c.kept));
    cancel_lookup(&second);
    assert_true(tn_responsibility_is_cancelled(b.kept));
    assert_true(tn_responsibility_is_cancelled(c.kept));
    stop_maker(&c, TN_ECANCELLED); /* and is not called again for b */
    assert_int_equal(c.made, 1);
    assert_int_equal(b.answered, 1);
    stop_maker(&b, TN_ECANCELLED);
    assert_int_equal(a.answered, 1);
    stop_maker(&a, TN_ECANCELLED);
    close_fixture(&f);
}

/* One that waits itself learns of it from its lookup, and fails with what that returns. */
static int wait_for_needs(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct maker *m = context;
    void *address;
    m->made++;
    int code = tn_lookup(tn_responsibility_library(responsibility), m->needs, &address, err);
    m->answered++;
    return code ? code : stage_made(m, responsibility, err);
}

static void waiting_itself(void **state)
{
    (void)state;
    enum { MS = 1000000 };
    struct tn_error err;
    _Atomic int errors = 0;
    struct fixture f = open_counting(&errors);
    struct maker a = {.name = "a", .needs = "b", .value = 20, .make = wait_for_needs};
    struct maker b = {.name = "b", .polls = true, .code = TN_ECANCELLED};
    struct tn_wanted wanted = {.name = "a"};
    promise_maker(&f, &a);
    promise_maker(&f, &b);
    assert_error(tn_lookup_until(f.library, &wanted, 1, now_ns() + 5 * MS, &err), TN_ECANCELLED, &err, "deadline");
    assert_int_equal(a.made, 1);
    assert_int_equal(b.made, 1);
    b.polls = false;
    b.code = 0;
    assert_int_equal(call(&f, "a"), 20);
    assert_int_equal(errors, 0);
    close_fixture(&f);
}

/* A failure ends a lookup at once; what else it waited for is not needed any more. */
static void left_by_a_failure(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct maker a = {.name = "a", .code = TN_LATER}, b = {.name = "b", .code = TN_LATER};
    promise_maker(&f, &a);
    promise_maker(&f, &b);
    struct maker asker = {.name = "asker"};
    struct tn_wanted wanted[] = {{.name = "a"}, {.name = "b"}};
    assert_ok(tn_lookup_async(f.library, wanted, COUNT(wanted), note_answer, &asker, &err), &err);
    assert_false(tn_responsibility_is_cancelled(b.kept));
    stop_maker(&a, TN_EIO);
    assert_int_equal(asker.answered, 1);
    assert_true(tn_responsibility_is_cancelled(b.kept));
    stop_maker(&b, TN_ECANCELLED);
    close_fixture(&f);
}

/* What is only queued when nobody needs it any more is not begun. */
static void put_in_queue(void *context, struct tn_task *task)
{
    *(struct tn_task **)context = task;
}

static void never_begun(void **state)
{
    (void)state;
    struct tn_task *task = NULL;
    const struct tn_session_options options = {.size = sizeof options, .dispatch = put_in_queue, .context = &task};
    struct fixture f = open_fixture(&options);
    struct maker m = {.name = "f", .value = 7};
    struct asked a = {0};
    promise_maker(&f, &m);
    start_lookup(&f, &a, "f");
    assert_non_null(task);
    cancel_lookup(&a);
    tn_task_run(task);
    assert_int_equal(m.made, 0);
    assert_int_equal(call(&f, "f"), 7);
    close_fixture(&f);
}

/* ---- handles ---- */

static void answered_before(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .value = 8};
    struct asked a = {0};
    promise_maker(&f, &m);
    start_lookup(&f, &a, "f");
    assert_int_equal(a.calls, 1);
    cancel_lookup(&a);
    assert_int_equal(a.code, 0);
    assert_int_equal(((int (*)(void))a.wanted.address)(), 8);
    close_fixture(&f);
}

static void cancelled_in_its_callback(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .code = TN_LATER};
    struct asked at_once = {.cancels = true}, later = {.cancels = true};
    define(&f, "g", &tn_version);
    promise_maker(&f, &m);
    start_lookup(&f, &later, "f");
    finish_maker(&m);
    assert_int_equal(later.calls, 1);
    at_once.wanted = (struct tn_wanted){.name = "g"};
    struct tn_error err;
    assert_ok(tn_lookup_start(f.library, &at_once.wanted, 1, note_done, &at_once, &at_once.handle, &err), &err);
    assert_int_equal(at_once.calls, 1);
    close_fixture(&f);
}

/* The session ends all lookups, and frees handles that were not taken back. */
static void ended_by_the_session(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .code = TN_LATER};
    struct asked waiting = {0}, cancels = {.cancels = true}, answered = {0};
    define(&f, "g", &tn_version);
    promise_maker(&f, &m);
    start_lookup(&f, &waiting, "f");
    start_lookup(&f, &cancels, "f");
    start_lookup(&f, &answered, "g");
    close_fixture(&f);
    assert_int_equal(waiting.calls, 1);
    assert_int_equal(waiting.code, TN_EREMOVED);
    assert_int_equal(cancels.calls, 1);
    assert_int_equal(answered.calls, 1);
}

static void wrong_arguments(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct asked a = {0};
    struct tn_lookup_handle *handle = (struct tn_lookup_handle *)&f;
    struct tn_wanted unknown = {.name = "f", .flags = 1u << 30};
    assert_error(tn_lookup_start(f.library, &a.wanted, 1, NULL, &a, &handle, &err), TN_EINVAL, &err, "function");
    assert_error(tn_lookup_start(f.library, &a.wanted, 1, note_done, &a, NULL, &err), TN_EINVAL, &err, "handle");
    assert_error(tn_lookup_start(NULL, &a.wanted, 1, note_done, &a, &handle, &err), TN_EINVAL, &err, "library");
    assert_error(tn_lookup_start(f.library, &unknown, 1, note_done, &a, &handle, &err), TN_EINVAL, &err, "flags");
    assert_null(handle);
    assert_error(tn_lookup_until(f.library, &unknown, 1, 0, &err), TN_EINVAL, &err, "flags");
    assert_int_equal(tn_lookup_cancel(NULL, &err), 0);
    assert_int_equal(a.calls, 0);
    close_fixture(&f);
}

/* ---- no memory ---- */

static void no_memory(void **state)
{
    (void)state;
    struct tn_error err;
    char plan[16];
    int codes[2] = {0}; /* how often it succeeded, and failed */
    for (int i = 1; !codes[0]; i++) {
        struct fixture f = open_fixture(NULL);
        struct maker m = {.name = "f", .code = TN_LATER};
        struct asked a = {.wanted = {.name = "f"}};
        promise_maker(&f, &m);
        snprintf(plan, sizeof plan, "a%d", i);
        assert_int_equal(tn__os_set_faults(plan), 0);
        int code = tn_lookup_start(f.library, &a.wanted, 1, note_done, &a, &a.handle, &err);
        tn__os_set_faults(NULL);
        assert_true(code == 0 || code == TN_ENOMEM);
        if (code) {
            assert_null(a.handle);
            assert_int_equal(a.calls, 0);
        } else {
            cancel_lookup(&a);
            assert_true(a.code == TN_ECANCELLED || a.code == TN_ENOMEM);
        }
        codes[code || a.code == TN_ENOMEM]++;
        if (m.kept)
            stop_maker(&m, TN_EIO);
        close_fixture(&f);
    }
    assert_in_range(codes[1], 3, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopped_and_made_again),
        cmocka_unit_test(made_all_the_same),
        cmocka_unit_test(stopped_without_reason),
        cmocka_unit_test(needed_by_another),
        cmocka_unit_test(needed_again),
        cmocka_unit_test(needed_through_others),
        cmocka_unit_test(waiting_itself),
        cmocka_unit_test(left_by_a_failure),
        cmocka_unit_test(never_begun),
        cmocka_unit_test(answered_before),
        cmocka_unit_test(cancelled_in_its_callback),
        cmocka_unit_test(ended_by_the_session),
        cmocka_unit_test(wrong_arguments),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests_name("cancel", tests, NULL, NULL);
}
