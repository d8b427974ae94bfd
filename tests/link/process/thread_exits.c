/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Destructors of loaded code's thread-local objects (data/thread_exits.c), in threads that outlive the code's
 * library, end while it is removed, or end it themselves. */

#include "support.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

/* ---- what was called ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char heard[1 << 12];
static void (*_Atomic while_noting)(const char *text);
static size_t allocations_left = SIZE_MAX; /* of sessions with an allocator of ours */

static void note(const char *text)
{
    void (*act)(const char *text) = while_noting;
    pthread_mutex_lock(&lock);
    if (strlen(heard) + strlen(text) + 2 < sizeof heard)
        strcat(strcat(heard, text), " ");
    pthread_mutex_unlock(&lock);
    if (act)
        act(text);
}

/* ---- sessions ---- */

struct loaded {
    struct fixture f;
    struct tn_tracker *tracker;
    struct bytes object;
    struct tn_stats before;
};

static int add_object(struct loaded *l)
{
    struct tn_error err;
    struct tn_input input = {.size = sizeof input,
                             .name = "thread_exits.o",
                             .bytes = l->object.at,
                             .length = l->object.size,
                             .owner = l->tracker};
    return tn_add_object(l->f.library, &input, &err) || tn_link(l->f.library, &err) ||
           tn_run_initializers(l->f.library, 0, NULL, NULL, &err);
}

static struct loaded open_loaded(const struct tn_session_options *options)
{
    struct loaded l = {.f = open_fixture(options), .object = read_bytes(data_file("thread_exits.o"))};
    struct tn_error err;
    define(&l.f, "note", note);
    assert_ok(tn_tracker_create(l.f.library, &l.tracker, &err), &err);
    l.before = stats_of(&l.f);
    assert_int_equal(add_object(&l), 0);
    heard[0] = 0;
    while_noting = NULL;
    return l;
}

static void close_loaded(struct loaded *l)
{
    while_noting = NULL;
    close_fixture(&l->f);
    free(l->object.at);
}

/* ---- threads ---- */

struct worker {
    pthread_t thread;
    void (*enter)(const char *text);
    const char *text;
    sem_t entered, go;
};

static void *work(void *argument)
{
    struct worker *worker = argument;
    worker->enter(worker->text);
    sem_post(&worker->entered);
    sem_wait(&worker->go);
    return NULL;
}

static void start(struct worker *worker, const struct fixture *f, const char *text)
{
    void *enter = lookup(f, "enter_thread");
    memcpy(&worker->enter, &enter, sizeof enter);
    worker->text = text;
    sem_init(&worker->entered, 0, 0);
    sem_init(&worker->go, 0, 0);
    assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
    sem_wait(&worker->entered);
}

static void finish(struct worker *worker)
{
    sem_post(&worker->go);
    assert_int_equal(pthread_join(worker->thread, NULL), 0);
}

static void enter_here(const struct fixture *f, const char *text)
{
    void (*enter)(const char *text);
    void *address = lookup(f, "enter_thread");
    memcpy(&enter, &address, sizeof enter);
    enter(text);
}

/* ---- threads that outlive the library ---- */

static int remove_tracker(struct loaded *l)
{
    return tn_tracker_remove(l->tracker, NULL);
}

static int retire_tracker(struct loaded *l)
{
    return tn_tracker_retire(l->tracker, NULL);
}

static int clear_library(struct loaded *l)
{
    int code = tn_library_clear(l->f.library, NULL);
    allocations_left = SIZE_MAX;
    if (!code)
        define(&l->f, "note", note);
    return code;
}

static int remove_library(struct loaded *l)
{
    int code = tn_library_remove(l->f.library, NULL);
    return code ? code : tn_library_destroy(l->f.library, NULL);
}

static const struct way {
    const char *name;
    int (*remove)(struct loaded *l);
    bool closes;
} ways[] = {
    {"tn_tracker_remove", remove_tracker, false},
    {"tn_tracker_retire", retire_tracker, false},
    {"tn_library_clear", clear_library, false},
    {"tn_library_remove", remove_library, true},
};

static void assert_memory_is_free(const struct loaded *l)
{
    struct tn_stats stats = stats_of(&l->f);
    assert_int_equal(stats.lingering_objects, 0);
    assert_int_equal(stats.lingering_bytes, 0);
    assert_int_equal(stats.code_bytes + stats.rodata_bytes + stats.data_bytes,
                     l->before.code_bytes + l->before.rodata_bytes + l->before.data_bytes);
}

static void assert_no_name(const struct fixture *f, const char *name)
{
    struct tn_error err;
    void *address;
    int code = tn_lookup(f->library, name, &address, &err);
    assert_true(code == TN_EUNDEF || code == TN_EREMOVED);
}

static void a_thread_outlives_the_code(void **state)
{
    const struct way *way = *state;
    struct loaded l = open_loaded(NULL);
    struct worker workers[2];
    start(&workers[0], &l.f, "one");
    start(&workers[1], &l.f, "two");
    enter_here(&l.f, "main"); /* what removes code runs its own destructors first */
    struct tn_stats full = stats_of(&l.f);
    assert_int_equal(way->remove(&l), 0);
    assert_string_equal(heard, "main later last finalizer ");
    assert_no_name(&l.f, "enter_thread");
    struct tn_stats stats = stats_of(&l.f);
    assert_int_equal(stats.lingering_objects, 1);
    assert_int_equal(stats.lingering_bytes, full.code_bytes + full.rodata_bytes + full.data_bytes);
    assert_int_equal(stats.code_bytes, full.code_bytes);
    finish(&workers[0]);
    assert_string_equal(heard, "main later last finalizer one later last ");
    assert_int_equal(stats_of(&l.f).lingering_objects, 1);
    if (!way->closes) { /* again, beside what still lingers */
        assert_int_equal(add_object(&l), 0);
        enter_here(&l.f, "again");
        assert_int_equal(way->remove(&l), 0);
        assert_int_equal(stats_of(&l.f).lingering_objects, 1);
    }
    heard[0] = 0;
    finish(&workers[1]);
    assert_string_equal(heard, "two later last ");
    assert_memory_is_free(&l);
    close_loaded(&l);
}

/* ---- sessions that end first ---- */

static void a_session_is_destroyed_before_its_threads_end(void **state)
{
    (void)state;
    for (int removed = 0; removed < 2; removed++) {
        struct loaded l = open_loaded(NULL);
        struct worker worker;
        start(&worker, &l.f, "one");
        enter_here(&l.f, "main");
        if (removed)
            assert_int_equal(remove_library(&l), 0);
        heard[0] = 0;
        close_loaded(&l);
        finish(&worker);
        assert_string_equal(heard, ""); /* as destructors of the program's own threads do not run when it ends */
    }
}

static sem_t noting, go_on;

static void pause_in_destructor(const char *text)
{
    if (!strcmp(text, "one")) {
        sem_post(&noting);
        sem_wait(&go_on);
    }
}

static _Atomic bool destroyed;

static void *destroy(void *session)
{
    tn_session_destroy(session);
    destroyed = true;
    return NULL;
}

static void the_end_of_a_session_waits_for_destructors_that_run(void **state)
{
    (void)state;
    struct loaded l = open_loaded(NULL);
    struct worker worker;
    pthread_t other;
    sem_init(&noting, 0, 0);
    sem_init(&go_on, 0, 0);
    start(&worker, &l.f, "one");
    while_noting = pause_in_destructor;
    sem_post(&worker.go);
    sem_wait(&noting);
    assert_int_equal(pthread_create(&other, NULL, destroy, l.f.session), 0);
    for (int i = 0; i < 20; i++) {
        assert_false(destroyed);
        sched_yield();
    }
    while_noting = NULL;
    sem_post(&go_on);
    pthread_join(worker.thread, NULL);
    pthread_join(other, NULL);
    assert_true(destroyed);
    assert_int_equal(strncmp(heard, "one ", 4), 0);
    free(l.object.at);
}

static void code_is_removed_while_its_destructor_runs(void **state)
{
    const struct way *way = *state;
    struct loaded l = open_loaded(NULL);
    struct worker worker;
    sem_init(&noting, 0, 0);
    sem_init(&go_on, 0, 0);
    start(&worker, &l.f, "one");
    while_noting = pause_in_destructor;
    sem_post(&worker.go);
    sem_wait(&noting);
    assert_int_equal(way->remove(&l), 0);
    assert_int_equal(stats_of(&l.f).lingering_objects, 1);
    while_noting = NULL;
    sem_post(&go_on);
    pthread_join(worker.thread, NULL);
    assert_string_equal(heard, "one finalizer later last ");
    assert_memory_is_free(&l);
    close_loaded(&l);
}

/* ---- destructors that remove their own code ---- */

static struct loaded *removed_within;

static void remove_within(const char *text)
{
    if (!strcmp(text, "one")) {
        while_noting = NULL;
        removed_within->before.mappings = (uint64_t)remove_tracker(removed_within);
    }
}

static void a_destructor_removes_its_own_code(void **state)
{
    (void)state;
    struct loaded l = open_loaded(NULL);
    struct worker worker;
    start(&worker, &l.f, "one");
    removed_within = &l;
    while_noting = remove_within;
    finish(&worker);
    assert_int_equal(l.before.mappings, 0);
    assert_string_equal(heard, "one last finalizer later ");
    assert_int_equal(stats_of(&l.f).lingering_objects, 0);
    close_loaded(&l);
}

/* ---- whose a destructor is ---- */

/* The function is another object's, which is removed later. */
static void it_belongs_to_the_object_that_registers_it(void **state)
{
    (void)state;
    struct loaded l = open_loaded(NULL);
    struct tn_error err;
    struct tn_library *others;
    struct tn_search search = {.library = l.f.library};
    void *run;
    assert_ok(tn_library_create(l.f.session, "others", &others, &err), &err);
    assert_ok(tn_library_search(others, &search, 1, &err), &err);
    assert_ok(tn_add_file(others, data_file("thread_exits_user.o"), &err), &err);
    assert_ok(tn_lookup(others, "register_foreign", &run, &err), &err);
    void (*register_foreign)(void);
    memcpy(&register_foreign, &run, sizeof run);
    register_foreign();
    assert_ok(tn_library_remove(others, &err), &err);
    assert_string_equal(heard, "foreign: of a thread foreign: of the program ");
    close_loaded(&l);
}

/* ---- forks ---- */

static void in_the_child(void **state)
{
    struct loaded *l = *state;
    heard[0] = 0;
    assert_int_equal(stats_of(&l->f).lingering_objects, 1);
    assert_int_equal(add_object(l), 0);
    assert_int_equal(remove_tracker(l), 0); /* frees what stayed for threads that are not here */
    assert_string_equal(heard, "finalizer ");
    assert_int_equal(stats_of(&l->f).lingering_objects, 0);
}

static void a_child_has_no_other_threads(void **state)
{
    (void)state;
    struct loaded l = open_loaded(NULL);
    struct worker worker;
    start(&worker, &l.f, "one");
    assert_int_equal(remove_tracker(&l), 0);
    assert_int_equal(in_child(in_the_child, &l), 0);
    heard[0] = 0;
    finish(&worker);
    assert_string_equal(heard, "one later last ");
    close_loaded(&l);
}

/* ---- many of them ---- */

enum { THREADS = 6, ROUNDS = 40 };

static void *enter_and_end(void *argument)
{
    struct worker *worker = argument;
    worker->enter("x");
    sem_post(&worker->entered);
    return NULL;
}

static void threads_end_while_their_code_is_removed(void **state)
{
    const struct way *way = *state;
    struct loaded l = open_loaded(NULL);
    for (int i = 0; i < (way->closes ? 1 : ROUNDS); i++) {
        struct worker workers[THREADS];
        void *enter = lookup(&l.f, "enter_thread");
        for (int t = 0; t < THREADS; t++) {
            memcpy(&workers[t].enter, &enter, sizeof enter);
            sem_init(&workers[t].entered, 0, 0);
            assert_int_equal(pthread_create(&workers[t].thread, NULL, enter_and_end, &workers[t]), 0);
        }
        for (int t = 0; t < THREADS; t++)
            sem_wait(&workers[t].entered);
        assert_int_equal(way->remove(&l), 0);
        if (!way->closes)
            assert_int_equal(add_object(&l), 0);
        for (int t = 0; t < THREADS; t++)
            pthread_join(workers[t].thread, NULL);
        assert_int_equal(stats_of(&l.f).lingering_objects, 0);
    }
    close_loaded(&l);
}

/* ---- no memory ---- */

static void *allocate(void *context, size_t size)
{
    (void)context;
    return allocations_left ? allocations_left--, malloc(size) : NULL;
}

static void *reallocate(void *context, void *at, size_t size)
{
    (void)context;
    return allocations_left ? allocations_left--, realloc(at, size) : NULL;
}

static void release(void *context, void *at)
{
    (void)context;
    free(at);
}

static void a_removal_without_memory_can_be_tried_again(void **state)
{
    const struct way *way = *state;
    const struct tn_allocator allocator = {NULL, allocate, reallocate, release};
    const struct tn_session_options options = {.size = sizeof options, .allocator = &allocator};
    struct loaded l = open_loaded(&options);
    struct worker worker;
    start(&worker, &l.f, "one");
    int code = TN_ENOMEM;
    for (size_t enough = 0; code == TN_ENOMEM && enough < 20; enough++) {
        allocations_left = enough;
        code = way->remove(&l);
        assert_true(code == 0 || code == TN_ENOMEM);
        allocations_left = SIZE_MAX;
    }
    assert_int_equal(code, 0);
    finish(&worker);
    assert_string_equal(heard, "finalizer one later last ");
    assert_int_equal(stats_of(&l.f).lingering_objects, 0);
    close_loaded(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_is_destroyed_before_its_threads_end),
        cmocka_unit_test(the_end_of_a_session_waits_for_destructors_that_run),
        cmocka_unit_test(a_destructor_removes_its_own_code),
        cmocka_unit_test(it_belongs_to_the_object_that_registers_it),
        cmocka_unit_test(a_child_has_no_other_threads),
    };
    int failed = RUN_ROWS("a thread outlives the code", ways, a_thread_outlives_the_code);
    failed += RUN_ROWS("removed while a destructor runs", ways, code_is_removed_while_its_destructor_runs);
    failed += RUN_ROWS("threads end during a removal", ways, threads_end_while_their_code_is_removed);
    failed += RUN_ROWS("no memory for a removal", ways, a_removal_without_memory_can_be_tried_again);
    return failed + cmocka_run_group_tests_name("link/thread_exits", tests, NULL, NULL);
}
