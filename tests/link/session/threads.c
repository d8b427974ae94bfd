/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Concurrent sessions in threads of their own, and one session used by several threads. */

#include "elf_builder.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 12 };

/* cmocka's assertions only work in the main thread: a worker returns NULL, or what went wrong. */
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

/* Adds, uses and removes objects in a library of its own, while other threads do the same in theirs. */
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

/* ---- one library whose names come and go while others link what mentions them ---- */

static int newest; /* numbers the threads */

static struct bytes make_part(int number, const char *needs)
{
    struct elf *elf = calloc(1, sizeof *elf); /* too large for a thread's stack */
    uint8_t code[ANSWER_SIZE];
    const uint64_t words[THREADS + 1] = {0};
    char name[16];
    put_answer(code, (uint32_t)number);
    unsigned text = elf_code(elf, code, sizeof code);
    unsigned data = elf_section(elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, words, sizeof words);
    for (int i = 0; i < THREADS; i++) {
        snprintf(name, sizeof name, "part_%d", i);
        unsigned symbol = i == number ? elf_function(elf, name, text, 0)
                                      : elf_symbol(elf, name, STB_WEAK, STT_NOTYPE, SHN_UNDEF, 0, 0);
        elf_reloc(elf, data, 8 * (unsigned)i, symbol, MACHINE_ADDRESS, 0);
    }
    if (needs)
        elf_reloc(elf, data, 8 * THREADS, elf_undefined(elf, needs), MACHINE_ADDRESS, 0);
    struct bytes object = elf_finish(elf);
    free(elf);
    return object;
}

/* `nothing` is undefined; a link may include other threads' parts. */
static int try_part(struct tn_library *library, struct tn_tracker *tracker, int number, struct bytes part,
                    struct tn_error *err)
{
    const struct tn_input input = {
        .size = sizeof input, .name = "part", .bytes = part.at, .length = part.size, .owner = tracker};
    char name[16];
    void *address;
    int (*function)(void);
    snprintf(name, sizeof name, "part_%d", number);
    int code = tn_add_object(library, &input, err);
    if (!code)
        code = tn_lookup(library, name, &address, err);
    if (code)
        return code;
    memcpy(&function, &address, sizeof function);
    return function() == number ? 0 : 1;
}

static const char *come_and_go(struct tn_library *library)
{
    int number = __atomic_fetch_add(&newest, 1, __ATOMIC_RELAXED);
    struct bytes good = make_part(number, NULL), bad = make_part(number, "nothing");
    struct tn_tracker *tracker;
    struct tn_error err;
    TRY(!tn_tracker_create(library, &tracker, &err));
    for (int i = 0; i < 8 * ROUNDS; i++) {
        int code = try_part(library, tracker, number, good, &err);
        TRY(!code || code == TN_EUNDEF);
        code = try_part(library, tracker, number, good, &err); /* while the first copy exists */
        TRY(code == TN_EDUP);
        TRY(!tn_tracker_remove(tracker, &err));
        TRY(try_part(library, tracker, number, bad, &err) == TN_EUNDEF);
        TRY(!tn_tracker_remove(tracker, &err));
    }
    tn_tracker_destroy(tracker);
    free(good.at);
    free(bad.at);
    return NULL;
}

static void *one_library_in_parts(void *library)
{
    return (void *)(uintptr_t)come_and_go(library);
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

static void count_undefined(void *context, const char *symbol, const char *needed_by)
{
    (void)symbol, (void)needed_by;
    ++*(long *)context;
}

static void names_come_and_go(void **state)
{
    (void)state;
    long undefined = 0;
    const struct tn_session_options options = {
        .size = sizeof options, .on_undefined = count_undefined, .context = &undefined};
    struct fixture f = open_fixture(&options);
    newest = 0;
    in_threads(one_library_in_parts, f.library);
    assert_in_range(undefined, THREADS * 8 * ROUNDS, LONG_MAX);
    assert_int_equal(stats_of(&f).code_bytes, 0);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_its_own_sessions),
        cmocka_unit_test(all_threads_one_session),
        cmocka_unit_test(all_threads_remove),
        cmocka_unit_test(all_threads_one_library),
        cmocka_unit_test(names_come_and_go),
    };
    snprintf(matrix_a, sizeof matrix_a, "%s", data_file("matrix_a.o"));
    snprintf(matrix_b, sizeof matrix_b, "%s", data_file("matrix_b.o"));
    snprintf(archive, sizeof archive, "%s", data_file("gnu.a"));
    return cmocka_run_group_tests_name("link/threads", tests, NULL, NULL);
}
