/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Removals that do not wait, and do not come to their usual end: the session is destroyed, the process forks, memory or
 * the thread is refused. Also run under ThreadSanitizer. */

#include "reclaiming.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "functions.h"

/* ---- the session ends ---- */

static void again(struct told *told)
{
    struct tn_error err;
    told->code += tn_tracker_retire_start(told->tracker, note_removed, told, &err) == TN_ECANCELLED ? 0 : 100;
    tn_tracker_destroy(told->tracker);
}

static int nothing(void)
{
    return 0;
}

/* One is being waited for, others are in all other states; the thread that destroys the session is attached. */
static void the_session_is_destroyed(void **state)
{
    (void)state;
    struct tn_tracker *tracker;
    struct fixture f = open_version(&tracker);
    struct tn_library *library = f.library, *other;
    struct tn_error err;
    struct holder holder;
    struct told told[3] = {{.also = again, .tracker = tracker}};
    tn_thread_attach();
    begin_holding(&holder, &f);
    assert_int_equal(call_at(holder.address), 1);
    retire_start(tracker, &told[0]);
    usleep(2000);
    add_version(f.library, 2, tracker);
    assert_int_equal(call(&f, "version"), 2);
    assert_ok(tn_library_create(f.session, "other", &other, &err), &err);
    add_version(other, 3, NULL);
    retire_start(tn_library_tracker(other), &told[1]);
    remove_start(library, &told[2]);
    tn_session_destroy(f.session);
    for (size_t i = 0; i < COUNT(told); i++)
        assert_int_equal(await_removed(&told[i]), TN_ECANCELLED);
    assert_true(told[0].order < told[1].order && told[1].order < told[2].order);
    assert_int_equal(finalized, 0);
    tn_thread_detach();
    holder.address = (void *)(uintptr_t)nothing; /* the code is gone, before the thread has left it */
    end_holding(&holder, 0);
}

/* At every moment after the call. */
static void at_any_moment(void **state)
{
    (void)state;
    for (unsigned wait = 0; wait < 300; wait++) {
        struct tn_tracker *tracker;
        struct fixture f = open_version(&tracker);
        struct told told = {0}, of_library = {0};
        retire_start(tracker, &told);
        remove_start(f.library, &of_library);
        for (uint64_t end = tn__os_now_ns() + wait * 500; tn__os_now_ns() < end;)
            ;
        tn_session_destroy(f.session);
        int code = await_removed(&told), last = await_removed(&of_library);
        assert_true((!code && finalized == 1) || (code == TN_ECANCELLED && finalized == 0));
        assert_true(!last || last == TN_ECANCELLED);
        assert_true(told.order < of_library.order);
        sem_destroy(&told.called);
        sem_destroy(&of_library.called);
    }
}

/* ---- forks ---- */

struct forked {
    struct fixture f;
    struct tn_tracker *tracker;
    struct told told, next;
};

#ifndef __SANITIZE_THREAD__

/* The child's own removal takes up those of before. */
static void child_goes_on(void **state)
{
    struct forked *forked = *state;
    struct tn_tracker *next = new_tracker(&forked->f);
    assert_int_equal(forked->told.calls, 0);
    add_version(forked->f.library, 2, next);
    assert_int_equal(call(&forked->f, "version"), 2);
    retire_start(next, &forked->next);
    assert_int_equal(await_removed(&forked->told), 0);
    assert_int_equal(await_removed(&forked->next), 0);
    assert_int_equal(finalized, 1);
    assert_int_equal(stats_of(&forked->f).code_bytes, 0);
    close_fixture(&forked->f);
}

static void child_destroys(void **state)
{
    struct forked *forked = *state;
    tn_session_destroy(forked->f.session);
    assert_int_equal(await_removed(&forked->told), TN_ECANCELLED);
    assert_int_equal(finalized, 0);
}

static void a_child_of_a_fork(void **state)
{
    static const CMUnitTestFunction children[] = {child_goes_on, child_destroys};
    (void)state;
    struct forked forked = {0};
    struct holder holder;
    forked.f = open_version(&forked.tracker);
    begin_holding(&holder, &forked.f);
    retire_start(forked.tracker, &forked.told);
    usleep(2000);
    for (size_t i = 0; i < COUNT(children); i++)
        assert_int_equal(in_child(children[i], &forked), 0);
    end_holding(&holder, 1);
    assert_int_equal(await_removed(&forked.told), 0);
    assert_int_equal(finalized, 1);
    close_fixture(&forked.f);
}

/* A finalizer, or a callback, forks; or runs while another thread does. */
static struct {
    sem_t entered, leave;
    int status;
} meeting;

static void wait_inside(void)
{
    sem_post(&meeting.entered);
    sem_wait(&meeting.leave);
    finalized++;
}

static void callback_waits(struct told *told)
{
    (void)told;
    wait_inside();
}

static void open_meeting(struct forked *forked, void (*finalizer)(void))
{
    struct tn_error err;
    *forked = (struct forked){.f = open_fixture(NULL)};
    sem_init(&meeting.entered, 0, 0);
    sem_init(&meeting.leave, 0, 0);
    meeting.status = -1;
    finalized = 0;
    forked->tracker = new_tracker(&forked->f);
    add_version(forked->f.library, 1, forked->tracker);
    if (finalizer)
        add_finalizer_function(&forked->f, forked->tracker, finalizer);
    link_all(&forked->f);
    assert_ok(tn_run_initializers(forked->f.library, 0, NULL, NULL, &err), &err);
}

/* The code goes without the rest of its finalizers; a callback that was running is not called again. */
static void child_of_another_thread(void **state)
{
    struct forked *forked = *state;
    bool called = forked->told.calls;
    struct tn_tracker *next = new_tracker(&forked->f);
    retire_start(next, &forked->next);
    assert_int_equal(await_removed(&forked->next), 0);
    assert_int_equal(forked->told.calls, 1);
    assert_int_equal(forked->told.code, 0);
    assert_true(called || finalized == 0);
    assert_int_equal(stats_of(&forked->f).code_bytes, 0);
    close_fixture(&forked->f);
}

static void forked_meanwhile(void **state)
{
    const bool in_callback = *state != NULL;
    struct forked forked;
    open_meeting(&forked, in_callback ? NULL : wait_inside);
    forked.told.also = in_callback ? callback_waits : NULL;
    retire_start(forked.tracker, &forked.told);
    sem_wait(&meeting.entered);
    assert_int_equal(in_child(child_of_another_thread, &forked), 0);
    sem_post(&meeting.leave);
    assert_int_equal(await_removed(&forked.told), 0);
    assert_int_equal(finalized, 1);
    close_fixture(&forked.f);
}

/* In the child the thread goes on to its end. */
static void callback_forks(struct told *told)
{
    pid_t child = fork();
    if (!child) {
        tn_session_destroy(told->f->session);
        _exit(told->calls == 1 ? 7 : 8);
    }
    waitpid(child, &meeting.status, 0);
}

static void forked_inside(void **state)
{
    (void)state;
    struct forked forked;
    open_meeting(&forked, NULL);
    forked.told.also = callback_forks;
    forked.told.f = &forked.f;
    retire_start(forked.tracker, &forked.told);
    assert_int_equal(await_removed(&forked.told), 0);
    assert_int_equal(WEXITSTATUS(meeting.status), 7);
    close_fixture(&forked.f);
}

#endif

/* ---- refusals ---- */

static int start_tracker(struct fixture *f, struct tn_tracker *tracker, struct told *told, struct tn_error *err)
{
    (void)f;
    return tn_tracker_retire_start(tracker, note_removed, told, err);
}

static int start_library(struct fixture *f, struct tn_tracker *tracker, struct told *told, struct tn_error *err)
{
    (void)tracker;
    return tn_library_remove_start(f->library, note_removed, told, err);
}

static const struct refused {
    const char *name;
    int (*start)(struct fixture *f, struct tn_tracker *tracker, struct told *told, struct tn_error *err);
    int allocations;
} refused[] = {
    {"a tracker", start_tracker, 4}, /* itself, a hidden tracker, the places, the finalizers */
    {"a library", start_library, 3},
};

static void without_memory_nothing_is_removed(void **state)
{
    const struct refused *row = *state;
    struct tn_error err;
    struct tn_tracker *tracker;
    struct fixture f = open_version(&tracker);
    struct told told = {0};
    int failures = 0, code = TN_ENOMEM;
    sem_init(&told.called, 0, 0);
    while (code) {
        char plan[16];
        snprintf(plan, sizeof plan, "a%d", failures + 1);
        tn__os_set_faults(plan);
        code = row->start(&f, tracker, &told, &err);
        tn__os_set_faults(NULL);
        if (!code)
            break;
        failures++;
        assert_int_equal(code, TN_ENOMEM);
        assert_int_equal(call(&f, "version"), 1);
        assert_int_equal(finalized, 0);
        assert_int_equal(told.calls, 0);
    }
    assert_int_equal(failures, row->allocations);
    assert_int_equal(await_removed(&told), 0);
    assert_int_equal(finalized, 1);
    assert_int_equal(stats_of(&f).code_bytes, 0);
    close_fixture(&f);
}

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* these have no address space left then, either */

/* Without address space for its stack; it can be had later. */
static void no_thread_to_be_had(void **state)
{
    struct forked *forked = *state;
    struct rlimit none = {1 << 20, 1 << 20}, before;
    struct tn_error err;
    getrlimit(RLIMIT_AS, &before);
    none.rlim_max = before.rlim_max;
    setrlimit(RLIMIT_AS, &none);
    int code = tn_tracker_retire_start(forked->tracker, note_removed, &forked->told, &err);
    setrlimit(RLIMIT_AS, &before);
    assert_error(code, TN_ENOMEM, &err, "thread");
    assert_int_equal(call(&forked->f, "version"), 1);
    retire_start(forked->tracker, &forked->told);
    assert_int_equal(await_removed(&forked->told), 0);
    close_fixture(&forked->f);
}

static void the_thread_is_refused(void **state)
{
    (void)state;
    struct forked forked = {0};
    forked.f = open_version(&forked.tracker);
    assert_int_equal(in_child(no_thread_to_be_had, &forked), 0);
    close_fixture(&forked.f);
}

#endif

int main(void)
{
#ifndef __SANITIZE_THREAD__
    static int in_callback;
#endif
    const struct CMUnitTest tests[] = {
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
        cmocka_unit_test(the_thread_is_refused), /* first: a stack of an ended thread would be used again */
#endif
        cmocka_unit_test(the_session_is_destroyed),
        cmocka_unit_test(at_any_moment),
#ifndef __SANITIZE_THREAD__ /* ThreadSanitizer does not support starting threads after a fork */
        cmocka_unit_test(a_child_of_a_fork),
        cmocka_unit_test(forked_meanwhile),
        {.name = "forked_in_a_callback", .test_func = forked_meanwhile, .initial_state = &in_callback},
        cmocka_unit_test(forked_inside),
#endif
    };
    return cmocka_run_group_tests_name("link/reclaim_ends", tests, NULL, NULL) +
           RUN_ROWS("link/reclaim_ends without memory for", refused, without_memory_nothing_is_removed);
}
