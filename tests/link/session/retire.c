/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code is removed while other threads run it. Each version of a function returns its number and reuses the memory of a
 * removed one, so running removed code gives a wrong result or crashes. */

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os.h"
#include "functions.h"
#include "stubs.h"
#include "versions.h"
#include "waits.h"

enum { THREADS = 4, VERSIONS = 1000, CALLS = 200, GENERIC = -2 };

static void retire(struct tn_tracker *tracker)
{
    struct tn_error err;
    assert_ok(tn_tracker_retire(tracker, &err), &err);
}

static int generic(void)
{
    return GENERIC;
}

/* ---- threads that call, and code that goes ---- */

struct storm {
    struct fixture f; /* has the versions */
    struct tn_library *stubs;
    struct tn_instance instance;
    void *stub;
    const struct way *way;
    uint32_t stop, calls, wrong; /* `wrong`: a thread has ended before it was told */
};

struct way {
    const char *name;
    int (*reach)(struct storm *s); /* calls the function; returns its result, or a negative number if there is none */
    void (*offer)(struct storm *s, struct tn_tracker *tracker); /* called after a version was added */
    bool has_gaps;                                              /* there is no version between one and the next */
};

/* The same code returns the same, however often it is called; -100 if it did not. */
static int call_often(const void *address)
{
    int answer = call_at(address);
    for (int i = 1; i < CALLS; i++)
        if (call_at(address) != answer)
            return -100;
    return answer;
}

static int reach_by_name(struct storm *s)
{
    void *address;
    return tn_lookup(s->f.library, "version", &address, NULL) ? -1 : call_often(address);
}

static int reach_by_stub(struct storm *s)
{
    return call_at(s->stub);
}

static int reach_by_instance(struct storm *s)
{
    struct tn_instance_code code = tn_instance_read(&s->instance, 0);
    return call_often(code.specptr ? code.specptr : code.invoke);
}

/* Its stub is removed together with its target. */
static int reach_by_own_stub(struct storm *s)
{
    void *address;
    return tn_lookup(s->stubs, "own", &address, NULL) ? -1 : call_often(address);
}

static void offer_instance(struct storm *s, struct tn_tracker *tracker)
{
    struct tn_error err;
    void *address = lookup(&s->f, "version");
    const struct tn_instance_code code = {address, address, TN_INSTANCE_SPECSIG};
    assert_ok(tn_instance_publish(&s->instance, &code, tracker, &err), &err);
}

static void offer_stub(struct storm *s, struct tn_tracker *tracker)
{
    struct tn_error err;
    struct tn_stub_options options = stub_options;
    options.owner = tracker;
    const struct tn_lazy_symbol symbol = {.name = "own", .target = "version"};
    assert_ok(tn_define_lazy(s->f.library, &symbol, 1, s->f.library, &options, &err), &err);
}

static const struct way ways[] = {
    {"by name", reach_by_name, NULL, false},
    {"through a lazy function", reach_by_stub, NULL, false},
    {"through a code instance", reach_by_instance, offer_instance, true},
    {"through a stub that goes as well", reach_by_own_stub, offer_stub, true},
};

/* Returns what was wrong, or 0. */
static void *call_until_the_end(void *argument)
{
    struct storm *s = argument;
    intptr_t wrong = 0;
    int newest = 0;
    tn_thread_attach();
    while (!__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE) && !wrong) {
        int answer = s->way->reach(s);
        if (answer < 0 ? !s->way->has_gaps || answer == -100 : answer < newest) /* older code never returns */
            wrong = answer ? answer : -1000;
        else if (answer > 0)
            newest = answer;
        __atomic_add_fetch(&s->calls, 1, __ATOMIC_RELAXED);
        tn_thread_quiescent();
        usleep(20); /* otherwise they would keep each other, and the removing thread, from the session's lock */
    }
    tn_thread_detach();
    if (wrong)
        __atomic_store_n(&s->wrong, 1, __ATOMIC_RELAXED);
    return (void *)wrong;
}

static void await_call(struct storm *s)
{
    uint32_t before = __atomic_load_n(&s->calls, __ATOMIC_RELAXED);
    while (__atomic_load_n(&s->calls, __ATOMIC_RELAXED) == before && !__atomic_load_n(&s->wrong, __ATOMIC_RELAXED))
        sched_yield();
}

/* If there must be no gap, the new version is added before the old one is removed, and yields to it until then. */
static void replace(struct storm *s, struct tn_tracker **tracker, int version)
{
    struct tn_tracker *old = *tracker;
    if (old && s->way->has_gaps)
        retire(old);
    *tracker = new_tracker(&s->f);
    add_version(s->f.library, version, *tracker);
    if (old && !s->way->has_gaps)
        retire(old);
    tn_tracker_destroy(old);
    if (s->way->offer)
        s->way->offer(s, *tracker);
    assert_int_equal(s->way->reach(s), version);
}

static void replaced_while_threads_call(void **state)
{
    const struct tn_instance_entries entries = {(void *)(uintptr_t)generic, NULL};
    struct storm s = {.f = open_fixture(NULL), .way = *state, .instance = {.entries = &entries}};
    struct tn_tracker *tracker = NULL;
    struct tn_error err;
    pthread_t threads[THREADS];
    struct tn_stats first;
    assert_ok(tn_library_create(s.f.session, "stubs", &s.stubs, &err), &err);
    assert_ok(tn_library_search(s.stubs, &(struct tn_search){.library = s.f.library}, 1, &err), &err);
    const struct tn_lazy_symbol symbol = {.name = "stub", .target = "version"};
    assert_ok(tn_define_lazy(s.stubs, &symbol, 1, s.f.library, &stub_options, &err), &err);
    assert_ok(tn_lookup(s.stubs, "stub", &s.stub, &err), &err);
    tn_instance_fall_back(&s.instance);
    replace(&s, &tracker, 1);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_until_the_end, &s), 0);
    for (int version = 2; version <= VERSIONS; version++) {
        if (version == 3)
            first = stats_of(&s.f);
        await_call(&s);
        replace(&s, &tracker, version);
    }
    struct tn_stats last = stats_of(&s.f);
    __atomic_store_n(&s.stop, 1, __ATOMIC_RELEASE);
    for (size_t i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_int_equal((intptr_t)wrong, 0);
    }
    assert_int_equal(first.code_bytes, last.code_bytes); /* removed code was freed */
    close_fixture(&s.f);
}

/* ---- one step after the other ---- */

/* A thread that holds the address of a function until it is told to release it, and the state of the test. */
static struct {
    struct fixture f;
    struct tn_tracker *tracker;
    void *address;
    void (*meanwhile)(void);
    sem_t held;
    uint32_t retired;
} scene;

static struct tn_instance instance;

/* Runs between the start and the end of a removal. */
static void *hold(void *unused)
{
    tn_thread_attach();
    scene.address = lookup(&scene.f, "version");
    sem_post(&scene.held);
    void *address;
    while (!tn_lookup(scene.f.library, "version", &address, NULL)) /* until it is not found any more */
        sched_yield();
    scene.meanwhile();
    usleep(1000);
    assert_false(__atomic_load_n(&scene.retired, __ATOMIC_ACQUIRE));
    assert_int_equal(call_at(scene.address), 1);
    assert_int_equal(finalized, 0);
    tn_thread_quiescent();
    tn_thread_detach();
    return unused;
}

static void open_scene(void)
{
    struct tn_error err;
    scene.f = open_fixture(NULL);
    scene.tracker = new_tracker(&scene.f);
    scene.retired = 0;
    finalized = 0;
    add_version(scene.f.library, 1, scene.tracker);
    add_finalizer(&scene.f, scene.tracker);
    link_all(&scene.f);
    assert_ok(tn_run_initializers(scene.f.library, 0, NULL, NULL, &err), &err);
}

static void play(void (*meanwhile)(void))
{
    pthread_t holder;
    scene.meanwhile = meanwhile;
    sem_init(&scene.held, 0, 0);
    assert_int_equal(pthread_create(&holder, NULL, hold, NULL), 0);
    sem_wait(&scene.held);
    retire(scene.tracker);
    __atomic_store_n(&scene.retired, 1, __ATOMIC_RELEASE);
    pthread_join(holder, NULL);
    assert_int_equal(finalized, 1);
    sem_destroy(&scene.held);
}

static void do_nothing(void)
{
}

static void it_goes_when_nobody_runs_it_any_more(void **state)
{
    (void)state;
    open_scene();
    play(do_nothing);
    assert_int_equal(stats_of(&scene.f).code_bytes, 0);
    close_fixture(&scene.f);
}

static void add_next(void)
{
    add_function(scene.f.library, "next", 2, NULL, scene.tracker);
    assert_int_equal(call(&scene.f, "next"), 2);
}

static void what_is_added_meanwhile_stays(void **state)
{
    (void)state;
    open_scene();
    play(add_next);
    assert_int_equal(call(&scene.f, "next"), 2);
    retire(scene.tracker); /* the tracker is usable again */
    assert_int_equal(stats_of(&scene.f).code_bytes, 0);
    close_fixture(&scene.f);
}

/* A thread that found the code before the removal may publish it afterwards. */
static void publish_late(void)
{
    struct tn_error err;
    const struct tn_instance_code code = {scene.address, scene.address, TN_INSTANCE_SPECSIG};
    assert_ok(tn_instance_publish(&instance, &code, scene.tracker, &err), &err);
}

static void late_publications_are_withdrawn(void **state)
{
    (void)state;
    const struct tn_instance_entries entries = {(void *)(uintptr_t)generic, NULL};
    tn_instance_init(&instance, &entries);
    open_scene();
    play(publish_late);
    assert_null(tn_instance_read(&instance, 0).specptr);
    assert_ptr_equal(tn_instance_read(&instance, 0).invoke, (void *)(uintptr_t)generic);
    close_fixture(&scene.f);
}

/* The same for the slot of a lazy function, at the end of a first call. */
static void redirect_late(void)
{
    struct tn_error err;
    assert_ok(tn_redirect(scene.f.library, "stub", scene.address, &err), &err);
    assert_ok(tn_redirect(scene.f.library, "pointer", scene.address, &err), &err);
}

static void stubs_lead_elsewhere(void **state)
{
    (void)state;
    open_scene();
    struct tn_error err;
    const struct tn_lazy_symbol symbol = {.name = "stub", .target = "version"};
    assert_ok(tn_define_lazy(scene.f.library, &symbol, 1, scene.f.library, &stub_options, &err), &err);
    assert_ok(tn_define_redirectable(scene.f.library, "pointer", lookup(&scene.f, "version"), &stub_options, &err),
              &err);
    assert_int_equal(call(&scene.f, "stub"), 1);
    assert_int_equal(call(&scene.f, "pointer"), 1);
    play(redirect_late);
    failed_calls = 0;
    assert_int_equal(call(&scene.f, "stub"), -1);
    assert_int_equal(call(&scene.f, "pointer"), -1);
    assert_int_equal(failed_calls, 2);
    add_version(scene.f.library, 3, NULL);
    assert_int_equal(call(&scene.f, "stub"), 3);
    close_fixture(&scene.f);
}

/* A stub that leads to the code for a moment after the wait has begun. The thread that finds the code there is attached
 * later, so that wait does not wait for it. */
struct moment {
    const char *name, *stub;
    int (*lead)(struct tn_library *library, const char *stub, const void *address);
    pthread_t thread;
};

static int lead_old(struct tn_library *library, const char *stub, const void *address)
{
    return tn_redirect(library, stub, address, NULL);
}

static int lead_new(struct tn_library *library, const char *stub, const void *address)
{
    return tn_define_redirectable(library, stub, address, &stub_options, NULL);
}

static struct moment moments[] = {
    {.name = "a stub is redirected", .stub = "stub", .lead = lead_old},
    {.name = "a stub is defined", .stub = "new", .lead = lead_new},
};

static struct moment *moment;

/* Returns what was wrong, or 0. */
static void *call_at_that_moment(void *unused)
{
    (void)unused;
    tn_thread_attach();
    intptr_t wrong = call(&scene.f, moment->stub) != 1;
    wrong |= tn_redirect(scene.f.library, moment->stub, (void *)(uintptr_t)generic, NULL) != 0;
    sem_post(&scene.held);
    for (int i = 0; i < 50 && !__atomic_load_n(&scene.retired, __ATOMIC_ACQUIRE); i++)
        usleep(1000);
    wrong |= __atomic_load_n(&scene.retired, __ATOMIC_ACQUIRE) || finalized || call_at(scene.address) != 1;
    tn_thread_detach();
    return (void *)wrong;
}

static void lead_there_for_a_moment(void)
{
    await_quiesce();
    assert_int_equal(moment->lead(scene.f.library, moment->stub, scene.address), 0);
    assert_int_equal(pthread_create(&moment->thread, NULL, call_at_that_moment, NULL), 0);
    sem_wait(&scene.held);
}

static void found_for_a_moment(void **state)
{
    moment = *state;
    open_scene();
    struct tn_error err;
    void *wrong;
    assert_ok(tn_define_redirectable(scene.f.library, "stub", (void *)(uintptr_t)generic, &stub_options, &err), &err);
    play(lead_there_for_a_moment);
    pthread_join(moment->thread, &wrong);
    assert_null(wrong);
    close_fixture(&scene.f);
}

/* Stubs that lead to stubs of the tracker. */
static void stubs_that_lead_to_stubs(void **state)
{
    (void)state;
    open_scene();
    struct tn_error err;
    struct tn_stub_options options = stub_options;
    options.owner = scene.tracker;
    assert_ok(tn_define_redirectable(scene.f.library, "inner", (void *)(uintptr_t)generic, &options, &err), &err);
    assert_ok(tn_define_redirectable(scene.f.library, "outer", lookup(&scene.f, "inner"), &stub_options, &err), &err);
    assert_int_equal(call(&scene.f, "outer"), GENERIC);
    retire(scene.tracker);
    assert_int_equal(call(&scene.f, "outer"), -1);
    close_fixture(&scene.f);
}

/* ---- forks ---- */

#ifndef __SANITIZE_THREAD__ /* ThreadSanitizer does not support starting threads after a fork */

static void *retire_in_a_thread(void *unused)
{
    retire(scene.tracker);
    return unused;
}

static void *use_the_stack(void *unused)
{
    volatile char bytes[32 << 10];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = -1;
    return unused;
}

/* The removal lies in the frame of a thread that the child does not have, whose stack another one gets. */
static void use_stubs_in_child(void **state)
{
    (void)state;
    struct tn_error err;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, use_the_stack, NULL), 0);
    pthread_join(thread, NULL);
    assert_ok(tn_redirect(scene.f.library, "stub", scene.address, &err), &err);
    assert_int_equal(call(&scene.f, "stub"), 1);
    tn_tracker_destroy(scene.tracker);
    close_fixture(&scene.f);
}

static void forks_meanwhile(void **state)
{
    (void)state;
    open_scene();
    struct tn_error err;
    pthread_t thread;
    void *address;
    assert_ok(tn_define_redirectable(scene.f.library, "stub", (void *)(uintptr_t)generic, &stub_options, &err), &err);
    tn_thread_attach();
    scene.address = lookup(&scene.f, "version");
    assert_int_equal(pthread_create(&thread, NULL, retire_in_a_thread, NULL), 0);
    while (!tn_lookup(scene.f.library, "version", &address, NULL))
        sched_yield();
    assert_int_equal(in_child(use_stubs_in_child, NULL), 0);
    tn_thread_detach();
    pthread_join(thread, NULL);
    close_fixture(&scene.f);
}

#endif

/* ---- the rest ---- */

static int released;

static void note_release(void *unused, const void *bytes, size_t length)
{
    (void)unused, (void)length;
    free((void *)(uintptr_t)bytes);
    released++;
}

static void what_is_not_linked_goes_at_once(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_tracker *tracker = new_tracker(&f);
    struct tn_error err;
    struct tn_input input = input_of("pending.o", function_object("pending", 1, NULL));
    void *address;
    input.release = note_release;
    input.owner = tracker;
    released = 0;
    assert_ok(tn_add_object(f.library, &input, &err), &err);
    retire(tracker);
    assert_int_equal(released, 1);
    assert_error(tn_lookup(f.library, "pending", &address, &err), TN_EUNDEF, &err, "'pending'");
    close_fixture(&f);
}

static void errors(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_tracker *tracker = new_tracker(&f);
    struct tn_error err;
    assert_error(tn_tracker_retire(NULL, &err), TN_EINVAL, &err, "tracker");
    assert_ok(tn_library_remove(f.library, &err), &err);
    assert_error(tn_tracker_retire(tracker, &err), TN_EREMOVED, &err, "main");
    close_fixture(&f);
}

static void without_memory_nothing_is_removed(void **state)
{
    (void)state;
    open_scene();
    struct tn_error err;
    int failures = 0, code = TN_ENOMEM;
    for (char plan[16]; code; failures += code != 0) {
        snprintf(plan, sizeof plan, "a%d", failures + 1);
        tn__os_set_faults(plan);
        code = tn_tracker_retire(scene.tracker, &err);
        tn__os_set_faults(NULL);
        if (!code)
            break;
        assert_int_equal(code, TN_ENOMEM);
        assert_int_equal(call(&scene.f, "version"), 1);
        assert_int_equal(finalized, 0);
    }
    assert_int_equal(failures, 3); /* the tracker, the places, the finalizers */
    assert_int_equal(finalized, 1);
    assert_int_equal(stats_of(&scene.f).code_bytes, 0);
    close_fixture(&scene.f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_goes_when_nobody_runs_it_any_more),
        cmocka_unit_test(what_is_added_meanwhile_stays),
        cmocka_unit_test(late_publications_are_withdrawn),
        cmocka_unit_test(stubs_lead_elsewhere),
        cmocka_unit_test(stubs_that_lead_to_stubs),
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(forks_meanwhile),
#endif
        cmocka_unit_test(what_is_not_linked_goes_at_once),
        cmocka_unit_test(errors),
        cmocka_unit_test(without_memory_nothing_is_removed),
    };
    return cmocka_run_group_tests_name("link/retire", tests, NULL, NULL) +
           RUN_ROWS("link/retire", moments, found_for_a_moment) +
           RUN_ROWS("link/retire", ways, replaced_while_threads_call);
}
