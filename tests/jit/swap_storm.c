/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Threads call while tiers swap, the client redirects, assumptions are broken, modules retired, lookups cancelled. */

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tiered.h"

enum { THREADS = 8, ROUNDS = 150 };

static struct {
    struct tn_jit *jit;
    const void *first, *second;
    atomic_bool ends;
    atomic_long newest, broken;
} storm;

static long own_first(long x)
{
    return x + 5000;
}

static const void *address_of(long (*function)(long))
{
    const void *address;
    memcpy(&address, &function, sizeof address);
    return address;
}

/* Versions are even numbers from 2; 0 rests on nothing. */
static void *call_on(void *unused)
{
    (void)unused;
    tn_thread_attach();
    while (!storm.ends) {
        long broken = storm.broken, got = call(storm.first, 1), version = got % 1000 - 42;
        if (got != own_first(1) && (got < 42 || (version && version <= broken) || version > storm.newest))
            fail_msg("first(1) is %ld; versions up to %ld are broken", got, broken);
        got = call(storm.second, 4);
        if (got != 8)
            fail_msg("second(4) is %ld", got);
        tn_thread_quiescent();
        usleep(20); /* otherwise they would keep the others from the processors */
    }
    tn_thread_detach();
    return NULL;
}

static void looked_up(void *context, struct tn_wanted *wanted, size_t count, const struct tn_error *why)
{
    (void)wanted, (void)count;
    assert_true(!why || why->code == TN_ECANCELLED);
    atomic_fetch_add((atomic_int *)context, 1);
}

/* A module comes, is raised, looked up, and retired while its lookup is cancelled. */
static void come_and_go(struct tn_library *others, long number)
{
    static atomic_int answers;
    struct tn_error err;
    struct tn_tracker *tracker;
    struct tn_lookup_handle *lookup;
    char program[40];
    struct tn_wanted wanted = {"first", 0, NULL};
    snprintf(program, sizeof program, "program %ld", number);
    int before = answers;
    check(tn_tracker_create(others, &tracker, &err), &err);
    add(storm.jit, others, program, tracker);
    request(storm.jit, "first");
    check(tn_lookup_start(others, &wanted, 1, looked_up, &answers, &lookup, &err), &err);
    check(tn_lookup_cancel(lookup, &err), &err);
    assert_int_equal(answers, before + 1);
    check(tn_tracker_retire(tracker, &err), &err);
    tn_tracker_destroy(tracker);
}

static void *break_again(void *context)
{
    break_it(context);
    return NULL;
}

static void rest_and_break(long number)
{
    struct tn_assumption *a = assume(storm.jit);
    char program[40];
    pthread_t breaker;
    storm.newest = number;
    snprintf(program, sizeof program, "program %ld", number);
    replace(storm.jit, program, a);
    request(storm.jit, "first");
    assert_int_equal(pthread_create(&breaker, NULL, break_again, a), 0);
    break_it(a);
    storm.broken = number;
    pthread_join(breaker, NULL);
    tn_assumption_destroy(a);
}

static void storm_of(bool retires)
{
    struct tn_error err;
    pthread_t threads[THREADS];
    const void *const own[] = {address_of(twice), address_of(own_first)}; /* `first` calls the former */
    storm.jit = create_tiered(retires);
    storm.ends = false;
    storm.newest = storm.broken = 0;
    struct tn_library *library = tn_jit_library(storm.jit), *others;
    add(storm.jit, NULL, "program", NULL);
    storm.first = find(storm.jit, "first");
    storm.second = find(storm.jit, "second");
    check(tn_library_create(tn_jit_session(storm.jit), "others", &others, &err), &err);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_on, NULL), 0);
    for (long round = 1; round <= ROUNDS; round++) {
        const char *name = round % 2 ? "first" : "second";
        check(tn_redirect(library, name, own[round % 2], &err), &err);
        come_and_go(others, round);
        rest_and_break(2 * round);
        check(tn_redirect(library, name, NULL, &err), &err);
    }
    storm.ends = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(call(storm.first, 1) % 1000, 42);
    assert_int_equal(toy_reported, 0);
    end(storm.jit);
}

static void storms(void **state)
{
    (void)state;
    storm_of(false);
    storm_of(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(storms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
