/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Sessions in threads of their own at the same time, and one session used by several threads. */

#include "support.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 12 };

/* cmocka's assertions belong to the main thread: a worker answers NULL, or what went wrong. */
#define TRY(condition)                                                                                                 \
    do                                                                                                                 \
        if (!(condition))                                                                                              \
            return #condition;                                                                                         \
    while (0)

static char matrix_a[256], matrix_b[256], archive[256];

static int host(int x)
{
    return x + 1;
}

static const char *use_library(struct tn_session *session)
{
    struct tn_library *library;
    struct tn_error err;
    void *address;
    int (*run)(int (*)(int));
    TRY(!tn_library_create(session, "library", &library, &err));
    TRY(!tn_add_resolver(library, tn_resolve_dlsym, NULL, &err));
    TRY(!tn_add_file(library, matrix_a, &err));
    TRY(tn_lookup(library, "run", &address, &err) == TN_EUNDEF);
    TRY(!tn_add_file(library, matrix_b, &err));
    TRY(!tn_link(library, &err));
    TRY(!tn_run_initializers(library, 0, NULL, NULL, &err));
    TRY(!tn_lookup(library, "run", &address, &err));
    memcpy(&run, &address, sizeof run);
    TRY(run(host) == 0);
    tn_run_finalizers(library);
    struct tn_stats stats = {.size = sizeof stats};
    tn_session_stats(session, &stats);
    TRY(stats.objects >= 2);
    return NULL;
}

static void *own_sessions(void *argument)
{
    for (int i = 0; i < ROUNDS; i++) {
        const struct tn_session_options options = {
            .size = sizeof options, .window_size = 64 << 20, .strategy = (enum tn_strategy)(i % 4)};
        struct tn_session *session;
        struct tn_error err;
        const char *wrong = tn_session_create(&options, &session, &err) ? "no session" : use_library(session);
        if (wrong)
            return (void *)(uintptr_t)wrong;
        tn_session_destroy(session);
    }
    (void)argument;
    return NULL;
}

static void *one_session(void *session)
{
    for (int i = 0; i < ROUNDS; i++) {
        const char *wrong = use_library(session);
        if (wrong)
            return (void *)(uintptr_t)wrong;
    }
    return NULL;
}

/* Adds, uses and removes objects in a library of its own, while others do the same in theirs. */
static const char *use_tracker(struct tn_session *session)
{
    struct tn_library *library;
    struct tn_tracker *tracker;
    struct tn_error err;
    TRY(!tn_library_create(session, "library", &library, &err));
    TRY(!tn_add_resolver(library, tn_resolve_dlsym, NULL, &err));
    TRY(!tn_tracker_create(library, &tracker, &err));
    struct bytes a = read_bytes(matrix_a), b = read_bytes(matrix_b);
    for (int i = 0; i < ROUNDS; i++) {
        struct tn_input input = {.size = sizeof input, .name = "a", .bytes = a.at, .length = a.size, .owner = tracker};
        void *address;
        int (*run)(int (*)(int));
        TRY(!tn_add_object(library, &input, &err));
        input.name = "b", input.bytes = b.at, input.length = b.size;
        TRY(!tn_add_object(library, &input, &err));
        TRY(!tn_lookup(library, "run", &address, &err));
        TRY(!tn_run_initializers(library, 0, NULL, NULL, &err));
        memcpy(&run, &address, sizeof run);
        TRY(run(host) == 0);
        TRY(!tn_tracker_remove(tracker, &err));
        TRY(tn_lookup(library, "run", &address, &err) == TN_EUNDEF);
    }
    tn_tracker_destroy(tracker);
    free(a.at);
    free(b.at);
    return NULL;
}

static void *one_session_trackers(void *session)
{
    return (void *)(uintptr_t)use_tracker(session);
}

static const char *ask(struct tn_library *library)
{
    static const struct {
        const char *name;
        int answer;
    } names[] = {{"first", 111}, {"second", 110}, {"third", 100}};
    for (size_t i = 0; i < 3 * ROUNDS; i++) {
        struct tn_error err;
        void *address;
        int (*function)(void);
        TRY(!tn_lookup(library, names[i % 3].name, &address, &err));
        memcpy(&function, &address, sizeof function);
        TRY(function() == names[i % 3].answer);
        TRY(tn_lookup(library, "optional", &address, &err) == TN_EUNDEF);
    }
    return NULL;
}

static void *one_library(void *library)
{
    return (void *)(uintptr_t)ask(library);
}

static void in_threads(void *(*work)(void *), void *argument)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, argument), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *wrong = NULL;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        if (wrong)
            fail_msg("%s", (const char *)wrong);
    }
    check_maps();
}

static void each_thread_its_own_sessions(void **state)
{
    (void)state;
    in_threads(own_sessions, NULL);
}

static void all_threads_one_session(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    in_threads(one_session, f.session);
    assert_int_equal(stats_of(&f).objects, 2 * THREADS * ROUNDS);
    close_fixture(&f);
}

static void all_threads_remove(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_stats before = stats_of(&f);
    in_threads(one_session_trackers, f.session);
    struct tn_stats after = stats_of(&f);
    assert_int_equal(after.objects, 2 * THREADS * ROUNDS);
    assert_int_equal(after.code_bytes, before.code_bytes);
    assert_int_equal(after.data_bytes, before.data_bytes);
    assert_int_equal(after.rodata_bytes, before.rodata_bytes);
    close_fixture(&f);
}

static void all_threads_one_library(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    add_file(&f, archive);
    in_threads(one_library, f.library);
    assert_int_equal(stats_of(&f).objects, 3);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_its_own_sessions),
        cmocka_unit_test(all_threads_one_session),
        cmocka_unit_test(all_threads_remove),
        cmocka_unit_test(all_threads_one_library),
    };
    snprintf(matrix_a, sizeof matrix_a, "%s", data_file("matrix_a.o"));
    snprintf(matrix_b, sizeof matrix_b, "%s", data_file("matrix_b.o"));
    snprintf(archive, sizeof archive, "%s", data_file("gnu.a"));
    return cmocka_run_group_tests_name("link/threads", tests, NULL, NULL);
}
