/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions that are led to bodies of a higher tier, and away from them, below LLVM. */

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "resident.h"
#include "tiered.h"

static bool is_done(const void *flag)
{
    return atomic_load((const atomic_bool *)flag);
}

/* ---- assumptions ---- */

/* The function falls from one body of a higher tier to the other: general code is compiled for it while the better
 * code lies on top. */
static void breaks_at_a_higher_tier(void **state)
{
    (void)state;
    struct tn_jit *jit = create_tiered(false);
    struct tn_assumption *a = assume(jit);
    replace(jit, "program 1", NULL);
    void *first = find(jit, "first");
    assert_int_equal(call(first, 1), 43);
    request(jit, "first");
    wait_for(is_raised, first);
    replace(jit, "program 2", a);
    assert_int_equal(call(first, 1), 44);
    request(jit, "first");
    wait_for(is_raised, first);
    assert_int_equal(call(first, 1), 1044);
    break_it(a);
    assert_int_equal(call(first, 1), 1043);
    tn_assumption_destroy(a);
    assert_int_equal(toy_reported, 0);
    end(jit);
}

/* Over a lazy function of a module that was added, it is as if that was called for the first time. */
static void falls_to_the_lowest_body(void **state)
{
    (void)state;
    struct tn_jit *jit = create_tiered(false);
    struct tn_assumption *a = assume(jit);
    add(jit, NULL, "program 1", NULL);
    void *first = find(jit, "first");
    assert_int_equal(call(first, 1), 43);
    replace(jit, "program 2", a);
    request(jit, "first"); /* of the newest */
    wait_for(is_raised, first);
    break_it(a);
    assert_int_equal(call(first, 1), 43);
    tn_assumption_destroy(a);
    end(jit);
}

static atomic_bool has_broken;

/* The first compilation of this version is that for the higher tier. */
static void break_while_raised(const char *program, long number)
{
    (void)program;
    if (number == 2 && !has_broken) {
        break_it(shared);
        has_broken = true;
    }
}

struct raised {
    int compiled, led;
};

static int count_raised(void *context, const struct tn_jit_function *function)
{
    struct raised *raised = context;
    raised->compiled += function->tiers[1].bytes != 0;
    raised->led += function->swaps != 0;
    return 0;
}

static bool has_counted(const void *jit)
{
    struct raised raised = {0};
    struct tn_error err;
    check(tn_jit_each_function((struct tn_jit *)(uintptr_t)jit, count_raised, &raised, &err), &err);
    return raised.led;
}

/* A body that is ready after the break is not entered. A request is for the general code then, and as there is one
 * thread, what it was doing before has ended when that is there. */
static void raised_too_late(void **state)
{
    (void)state;
    struct tn_jit *jit = create_tiered(false);
    struct tn_error err;
    struct raised raised = {0};
    shared = assume(jit);
    replace(jit, "program 1", NULL);
    void *first = find(jit, "first");
    assert_int_equal(call(first, 1), 43);
    replace(jit, "program 2", shared);
    toy_calls.before = break_while_raised;
    request(jit, "first");
    wait_for(is_done, &has_broken);
    assert_int_equal(call(first, 1), 43);
    request(jit, "first");
    wait_for(is_raised, first);
    assert_int_equal(call(first, 1), 1043);
    wait_for(has_counted, jit); /* after the function was led there */
    check(tn_jit_each_function(jit, count_raised, &raised, &err), &err);
    assert_int_equal(raised.compiled, 2);
    assert_int_equal(raised.led, 1);
    tn_assumption_destroy(shared);
    assert_int_equal(toy_reported, 0);
    end(jit);
}

/* ---- bodies that have given way ---- */

struct question {
    const char *name;
    struct tn_jit_function answer;
};

static int answer(void *context, const struct tn_jit_function *function)
{
    struct question *q = context;
    if (strcmp(function->name, q->name) == 0)
        q->answer = *function;
    return 0;
}

static struct tn_jit_function about(struct tn_jit *jit, const char *name)
{
    struct tn_error err;
    struct question q = {.name = name};
    check(tn_jit_each_function(jit, answer, &q, &err), &err);
    return q.answer;
}

static uint64_t bytes_without;

/* The code that `first` has at both levels, and a byte less. */
static bool has_less(const void *jit)
{
    return code_bytes((struct tn_jit *)(uintptr_t)jit) < bytes_without;
}

/* The names go at once, the code when the caller says that it is in none of it. A stub that is reset leads to what is
 * there. */
static void lower_bodies_go(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_jit *jit;
    tn_thread_attach();
    for (int retires = 0; retires < 2; retires++) {
        jit = create_tiered(retires);
        add(jit, NULL, "program 1", NULL);
        void *first = find(jit, "first");
        assert_int_equal(call(first, 1), 43);
        request(jit, "first");
        wait_for(is_raised, first);
        request(jit, "second");
        while (!about(jit, "second").swaps)
            tn__os_relax();
        assert_int_equal(about(jit, "first").tiers[0].bytes == 0, retires);
        assert_true(about(jit, "second").tiers[0].bytes != 0); /* it has constants, which may be in use */
        if (!retires)
            bytes_without = code_bytes(jit);
        else {
            assert_int_equal(code_bytes(jit), bytes_without);
            tn_thread_detach();
            wait_for(has_less, jit);
        }
        int compiles = toy_calls.compiles;
        check(tn_redirect(tn_jit_library(jit), "first", NULL, &err), &err);
        assert_int_equal(call(first, 1), retires ? 1043 : 43);
        assert_int_equal(toy_calls.compiles, compiles);
        assert_int_equal(toy_reported, 0);
        end(jit);
    }
}

/* Where bodies are freed, only attached threads may run them. */
static long call_attached(const void *function, long x)
{
    tn_thread_attach();
    long result = call(function, x);
    tn_thread_detach();
    return result;
}

static bool is_raised_attached(const void *first)
{
    return call_attached(first, 1) >= 1000;
}

/* The module goes before its bodies have; another one of the same names comes, and is not raised because that was. */
static void modules_go_too(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_jit *jit = create_tiered(true);
    struct tn_tracker *owner;
    enum { ROUNDS = KEEPS_WHAT_WAS_FREED ? 200 : 1000 }; /* there each takes ten times as long */
    for (int round = 0; round < ROUNDS; round++) {
        check(tn_tracker_create(tn_jit_library(jit), &owner, &err), &err);
        add(jit, NULL, "program 1", owner);
        void *first = find(jit, "first");
        assert_int_equal(call_attached(first, 1), 43);
        request(jit, "first");
        if (round % 20 == 0)
            wait_for(is_raised_attached, first);
        for (int i = 0; i < round * 7 % 200; i++)
            tn__os_relax();
        check(tn_tracker_retire(owner, &err), &err);
        tn_tracker_destroy(owner);
    }
    assert_int_equal(toy_reported, 0);
    end(jit);
}

static struct tn_tracker *anew;
static atomic_int times_anew;

/* Defines a body that is looked up and not there, and does not say so. */
static int define_anew(void *context, struct tn_library *library, const char *const *names, size_t count,
                       struct tn_error *err)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], "first$body.t2") == 0) {
            const struct tn_definition definition = {names[i], &times_anew, 0};
            assert_int_equal(tn_define_all(library, &definition, 1, anew, err), 0);
            times_anew++;
        }
    return tn__fail(err, TN_EUNDEF, "'%s' is not defined", names[0]);
}

/* What the one thread of tiers was doing has ended when it has raised a function of another module. */
static void raise_another(struct tn_jit *jit, struct tn_library *library)
{
    struct tn_error err;
    struct tn_tracker *owner;
    void *first;
    check(tn_tracker_create(library, &owner, &err), &err);
    add(jit, library, "program 2", owner);
    check(tn_lookup(library, "first", &first, &err), &err);
    request(jit, "first");
    wait_for(is_raised, first);
    check(tn_tracker_remove(owner, &err), &err);
    tn_tracker_destroy(owner);
}

static int make_nothing(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    (void)context, (void)responsibility;
    return tn__fail(err, TN_EUNDEF, "nothing");
}

static void end_late(void *context)
{
    (void)context;
    usleep(2000);
}

/* A time between that when a tracker has lost its names and that when what was added to it before is told so. */
static void add_a_pause(struct tn_library *library, struct tn_tracker *owner)
{
    struct tn_error err;
    const struct tn_promised name = {"pause", 0};
    const struct tn_materializer pause = {.size = sizeof pause,
                                          .name = "pause",
                                          .symbols = &name,
                                          .count = 1,
                                          .materialize = make_nothing,
                                          .destroy = end_late,
                                          .owner = owner};
    check(tn_add_materializer(library, &pause, &err), &err);
}

/* A module goes after one of its functions was chosen, and before its body is looked up. That is not reported, even if
 * something of the same name is there then. Repeated until it has happened. */
static void names_come_back(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_jit *jit = create_tiered(false);
    struct tn_library *library, *another;
    struct tn_tracker *owner;
    check(tn_library_create(tn_jit_session(jit), "library", &library, &err), &err);
    check(tn_library_create(tn_jit_session(jit), "another", &another, &err), &err);
    check(tn_add_generator(library, define_anew, NULL, &err), &err);
    times_anew = 0;
    for (int round = 0; times_anew < 3; round++) {
        check(tn_tracker_create(library, &owner, &err), &err);
        check(tn_tracker_create(library, &anew, &err), &err);
        add(jit, library, "program 1", owner);
        if (round % 2)
            add_a_pause(library, owner);
        request(jit, "first");
        for (int i = 0; i < round % 200; i++)
            tn__os_relax();
        check(tn_tracker_remove(owner, &err), &err);
        raise_another(jit, another);
        check(tn_tracker_remove(anew, &err), &err);
        tn_tracker_destroy(owner);
        tn_tracker_destroy(anew);
    }
    assert_int_equal(toy_reported, 0);
    end(jit);
}

/* What waits to be freed when the thread of tiers is late comes to a megabyte or two; the more redefinitions, the less
 * each may leave. */
static void thirty_thousand(void **state)
{
    (void)state;
    enum { WARM = 2000, ALL = KEEPS_WHAT_WAS_FREED ? 10000 : 30000, LIMIT_KB = 3072 };
    struct tn_jit *jit = create_tiered(true);
    long before = 0;
    for (long i = 0; i < ALL; i++) {
        char program[40];
        if (i == WARM)
            before = resident_kb();
        snprintf(program, sizeof program, "program %ld", i % 500);
        replace(jit, program, NULL);
        void *first = find(jit, "first");
        assert_int_equal(call_attached(first, 1) % 1000, 42 + i % 500);
        request(jit, "first");
        if (i % 10 == 0)
            wait_for(is_raised_attached, first);
    }
    long grown = resident_kb() - before;
    if (grown > LIMIT_KB && !KEEPS_WHAT_WAS_FREED)
        fail_msg("%ld KB more", grown);
    assert_int_equal(toy_reported, 0);
    end(jit);
}

/* ---- faults in the thread of tiers ---- */

static bool is_settled(const void *jit)
{
    struct tn_jit_function first = about((struct tn_jit *)(uintptr_t)jit, "first");
    return first.swaps || first.failed;
}

/* One request refused while the function is compiled again: its answer stays right, whichever body that comes from,
 * and what could not be had is reported once. The rest of the module goes on. True if it was refused. */
static bool attempt(const char *plan, bool was_called)
{
    struct tn_jit *jit = create_tiered(true);
    struct tn_assumption *a = assume(jit);
    replace(jit, "program 1", NULL);
    replace(jit, "program 2", a);
    void *first = find(jit, "first");
    assert_int_equal(was_called ? call_attached(first, 1) : 44, 44);
    assert_int_equal(tn__os_set_faults(plan), 0);
    request(jit, "first");
    wait_for(is_settled, jit);
    tn__os_set_faults(NULL);
    bool refused = __atomic_load_n(&toy_reported, __ATOMIC_ACQUIRE) != 0;
    assert_int_equal(call_attached(first, 1), refused ? 44 : 1044);
    assert_true(!refused || toy_reported == TN_ENOMEM || toy_reported == TN_EPERM);
    break_it(a);
    toy_reported = 0;
    assert_int_equal(call_attached(first, 1), 43);
    request(jit, "first");
    wait_for(is_raised_attached, first);
    assert_int_equal(toy_reported, 0);
    tn_assumption_destroy(a);
    end(jit);
    return refused;
}

static void allocations_refused(void **state)
{
    (void)state;
    int refused = 0;
    for (int number = 1, granted = 0; granted < 16; number++) {
        char plan[16];
        snprintf(plan, sizeof plan, "a%d", number);
        bool was = attempt(plan, true);
        refused += was;
        granted = was ? 0 : granted + 1;
    }
    assert_true(refused > 10);
}

/* The thread links the first code of the session, for which there is no memory yet. */
static void system_calls_refused(void **state)
{
    (void)state;
    enum { MOST = 8 };
    int refused = 0;
    static const char faults[] = {'F', 'P'};
    for (size_t f = 0; f < sizeof faults; f++)
        for (int number = 0; number < MOST; number++) {
            char plan[2 * MOST + 3] = "";
            for (int i = 0; i < number; i++)
                memcpy(plan + 2 * i, ". ", 3);
            plan[2 * number] = faults[f]; /* and all further ones: a single one has something to fall back on */
            plan[2 * number + 1] = '*';
            refused += attempt(plan, false);
        }
    assert_true(refused > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(breaks_at_a_higher_tier), cmocka_unit_test(falls_to_the_lowest_body),
        cmocka_unit_test(raised_too_late),         cmocka_unit_test(lower_bodies_go),
        cmocka_unit_test(modules_go_too),          cmocka_unit_test(names_come_back),
        cmocka_unit_test(thirty_thousand),         cmocka_unit_test(allocations_refused),
        cmocka_unit_test(system_calls_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
