/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Eight threads do everything with one session at once: look up overlapping sets; add and remove modules and
 * materializers, of which every third fails or ends later; clear and remove libraries. Every function returns the right
 * value, and nothing hangs (a watchdog would end the program). Also run under ThreadSanitizer. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "functions.h"

enum { THREADS = 8, ROUNDS = 120, SHARED = 24, SECONDS = 240 };

struct storm {
    struct tn_session *session;
    struct tn_library *shared;
    pthread_barrier_t start;
    _Atomic int threads, wrong;
    _Atomic long answers, failures;
};

/* A function that returns its value, made in one of three ways. */
struct maker {
    char name[24];
    int value;
    bool fails, later;
    _Atomic int destroyed;
};

static int make(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct maker *m = context;
    if (m->fails) {
        snprintf(err->text, sizeof err->text, "every third fails");
        return TN_EIO;
    }
    struct tn_input input = input_of(m->name, function_object(m->name, m->value, NULL));
    int code = tn_responsibility_add_object(responsibility, &input, err);
    if (code || !m->later)
        return code;
    tn_responsibility_ready(responsibility, NULL);
    return TN_LATER;
}

static void destroy(void *context)
{
    ((struct maker *)context)->destroyed++;
}

static int promise(struct tn_library *library, struct maker *m, struct tn_tracker *owner)
{
    struct tn_error err;
    const struct tn_promised symbol = {m->name, 0};
    const struct tn_materializer materializer = {.size = sizeof materializer,
                                                 .name = m->name,
                                                 .context = m,
                                                 .symbols = &symbol,
                                                 .count = 1,
                                                 .materialize = make,
                                                 .destroy = destroy,
                                                 .owner = owner};
    return tn_add_materializer(library, &materializer, &err);
}

static bool answers(const void *address, int value)
{
    int (*function)(void);
    memcpy(&function, &address, sizeof function);
    return function() == value;
}

/* Looks up some of the shared functions, of which every third fails. */
static bool look_up_shared(struct storm *s, unsigned seed)
{
    struct tn_error err;
    char names[3][24];
    struct tn_wanted wanted[3];
    bool fails = false;
    for (unsigned i = 0; i < 3; i++) {
        unsigned number = (seed * 7 + i * 6) % SHARED;
        snprintf(names[i], sizeof names[i], "s%u", number);
        wanted[i] = (struct tn_wanted){.name = names[i]};
        fails |= number % 3 == 2;
    }
    int code = tn_lookup_all(s->shared, wanted, COUNT(wanted), &err);
    s->failures += code != 0;
    s->answers += code == 0;
    if (fails)
        return code == TN_EIO;
    for (int i = 0; !code && i < 3; i++)
        if (!answers(wanted[i].address, atoi(names[i] + 1)))
            return false;
    return code == 0;
}

/* Adds and removes a module of this thread that calls a shared function. */
static bool come_and_go(struct tn_library *library, struct tn_tracker *tracker, unsigned thread, unsigned round)
{
    struct tn_error err;
    void *address;
    char own[24], callee[24];
    unsigned number = (thread + round) % SHARED / 3 * 3;
    snprintf(own, sizeof own, "m%u", thread);
    snprintf(callee, sizeof callee, "s%u", number);
    add_function(library, own, (int)round, callee, tracker);
    return !tn_lookup(library, own, &address, &err) && answers(address, (int)(round + number)) &&
           !tn_tracker_remove(tracker, &err);
}

/* Creates a library with promises, looks up some of them, and removes or clears it. */
static bool library_comes_and_goes(struct storm *s, unsigned thread, unsigned round)
{
    struct tn_error err;
    struct tn_library *library;
    struct maker makers[4] = {0};
    void *address;
    const struct tn_search search = {.library = s->shared};
    bool right = !tn_library_create(s->session, "own", &library, &err) &&
                 !tn_library_search(library, &search, 1, &err) &&
                 come_and_go(library, tn_library_tracker(library), thread, round);
    for (unsigned i = 0; right && i < COUNT(makers); i++) {
        snprintf(makers[i].name, sizeof makers[i].name, "p%u", i);
        makers[i].value = (int)i;
        makers[i].fails = i == 1;
        makers[i].later = i == 2;
        right = !promise(library, &makers[i], NULL);
    }
    for (unsigned i = 0; right && i < 3; i++) {
        int code = tn_lookup(library, makers[i].name, &address, &err);
        right = makers[i].fails ? code == TN_EIO : !code && answers(address, makers[i].value);
    }
    right = right && !(round % 2 ? tn_library_clear(library, &err) : tn_library_remove(library, &err));
    right = right && (round % 2 || !tn_library_destroy(library, &err));
    for (unsigned i = 0; right && i < COUNT(makers); i++)
        while (!makers[i].destroyed) /* a task of the session may still hold it for a moment */
            usleep(100);
    return right;
}

static void *run(void *context)
{
    struct storm *s = context;
    struct tn_error err;
    struct tn_tracker *tracker = NULL;
    unsigned thread = (unsigned)s->threads++;
    pthread_barrier_wait(&s->start);
    bool right = !tn_tracker_create(s->shared, &tracker, &err);
    for (unsigned round = 0; right && round < ROUNDS; round++) {
        right = look_up_shared(s, thread * ROUNDS + round) && come_and_go(s->shared, tracker, thread, round);
        if (right && round % 8 == thread)
            right = library_comes_and_goes(s, thread, round);
    }
    s->wrong += !right;
    return NULL;
}

static void storm(size_t pool)
{
    struct tn_error err;
    const struct tn_session_options options = {.size = sizeof options, .threads = pool};
    struct fixture f = open_fixture(&options);
    struct storm s = {.session = f.session, .shared = f.library};
    struct maker makers[SHARED] = {0};
    for (int i = 0; i < SHARED; i++) {
        snprintf(makers[i].name, sizeof makers[i].name, "s%d", i);
        makers[i].value = i;
        makers[i].fails = i % 3 == 2;
        makers[i].later = i % 2;
        assert_int_equal(promise(s.shared, &makers[i], NULL), 0);
    }
    pthread_t threads[THREADS];
    assert_int_equal(pthread_barrier_init(&s.start, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run, &s), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&s.start);
    assert_int_equal(s.wrong, 0);
    assert_true(s.answers > 0 && s.failures > 0);
    assert_ok(tn_library_clear(s.shared, &err), &err);
    const struct tn_stats stats = stats_of(&f);
    assert_int_equal(stats.code_bytes + stats.rodata_bytes + stats.data_bytes, 0);
    close_fixture(&f);
    for (int i = 0; i < SHARED; i++)
        assert_int_equal(makers[i].destroyed, 1);
}

static void storms(void **state)
{
    (void)state;
    for (size_t pool = 0; pool <= 2; pool++)
        storm(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(storms)};
    alarm(SECONDS);
    return cmocka_run_group_tests_name("session_storm", tests, NULL, NULL);
}
