/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Forks of processes with heaps: whatever other threads are doing, both processes continue with a heap that is in
 * order. A failure here is usually a hang. */

#include "support.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, FORKS = 6, FORKS_IN_STRESS = 2 };

/* ---- threads that go on during forks ---- */

struct crowd {
    struct tn_heap *heap;
    struct tn_handle *kept; /* a node with the value 5 */
    void (*act)(struct crowd *c);
    _Atomic bool end;
    _Atomic int working; /* threads that have acted once */
    pthread_t threads[THREADS];
    int count;
};

static void *act(void *argument)
{
    struct crowd *c = argument;
    bool first = true;
    while (!c->end) {
        c->act(c);
        c->working += first;
        first = false;
    }
    tn_heap_detach();
    return NULL;
}

static void start(struct crowd *c, void **state, int count, void (*what)(struct crowd *c))
{
    *c = (struct crowd){.heap = make_heap(state, 0), .act = what, .count = count};
    c->kept = make_node(c->heap, &node_type, 5, NULL);
    for (int i = 0; i < count; i++)
        assert_int_equal(pthread_create(&c->threads[i], NULL, act, c), 0);
    while (c->working < count)
        usleep(100);
}

static void stop(struct crowd *c)
{
    c->end = true;
    for (int i = 0; i < c->count; i++)
        pthread_join(c->threads[i], NULL);
    tn_heap_destroy(c->heap);
}

/* ---- what they do ---- */

static void attach(const struct crowd *c)
{
    if (!tn_heap_current())
        assert_int_equal(tn_heap_attach(c->heap, &err), 0);
}

/* The scope is open at most moments. */
static void allocate(struct crowd *c)
{
    attach(c);
    tn_scope_begin();
    struct tn_handle *list = NULL;
    for (uint64_t i = 0; i < 20; i++)
        list = make_node(c->heap, &node_type, i, list);
    tn_scope_end();
}

static void collect(struct crowd *c)
{
    attach(c);
    tn_heap_collect(c->heap, TN_COLLECT_FULL);
}

/* Raw references, which nothing may move before the end. */
static void use_raw(struct crowd *c)
{
    attach(c);
    tn_managed_begin();
    const volatile struct node *node = tn_handle_object(c->kept);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(node->value, 5);
    tn_managed_end();
}

static void come_and_go(struct crowd *c)
{
    assert_int_equal(tn_heap_attach(c->heap, &err), 0);
    make(c->heap, &node_type, 0);
    tn_heap_detach();
}

static void use_without_attaching(struct crowd *c)
{
    struct tn_handle *node = make_node(c->heap, &node_type, 1, NULL);
    tn_handle_free(node);
}

static void pin(struct crowd *c)
{
    attach(c);
    void *address;
    struct tn_handle *node = make_node(c->heap, &node_type, 1, NULL);
    assert_int_equal(tn_handle_pin(node, &address, &err), 0);
    tn_handle_unpin(node);
    tn_handle_free(node);
}

static void count_run(void *context, struct tn_handle *object)
{
    (void)context, (void)object;
}

static void finalize(struct crowd *c)
{
    attach(c);
    struct tn_handle *node = make_node(c->heap, &node_type, 1, NULL);
    assert_int_equal(tn_handle_finalize(node, count_run, NULL, &err), 0);
    tn_handle_free(node);
    tn_heap_collect(c->heap, TN_COLLECT_FULL);
}

static void make_heaps(struct crowd *c)
{
    struct tn_heap *heap, *chosen;
    (void)c;
    assert_int_equal(tn_heap_create(NULL, &heap, &err), 0);
    assert_int_equal(tn_heap_default(&chosen, &err), 0);
    tn_heap_destroy(heap);
}

static void add_roots(struct crowd *c)
{
    static void *words[4];
    (void)c;
    assert_int_equal(tn_roots_add(words, 4, &err), 0);
    tn_roots_remove(words);
}

/* ---- what children do ---- */

/* Everything that is left belongs to the thread that forked, and the heap works. */
static void use_heap(void **state)
{
    const struct crowd *c = *state;
    struct tn_heap_stats stats = {.size = sizeof stats};
    assert_int_equal(value_of(c->kept), 5);
    for (int round = 0; round < 3; round++) {
        tn_scope_begin();
        struct tn_handle *list = NULL;
        for (uint64_t i = 0; i < 100; i++)
            list = make_node(c->heap, &node_type, i, list);
        tn_heap_collect(c->heap, TN_COLLECT_FULL);
        for (uint64_t i = 100; i-- > 0; step(list))
            assert_int_equal(value_of(list), i);
        tn_scope_end();
    }
    tn_heap_stats(c->heap, &stats);
    assert_int_equal(stats.threads, 1);
    assert_int_equal(stats.finalizers_waiting, 0);
    tn_heap_collect(c->heap, TN_COLLECT_FULL);
    tn_heap_collect(c->heap, TN_COLLECT_FULL);
    struct tn_handle *more;
    assert_int_equal(tn_handle_of(c->heap, NULL, &more, &err), 0);
    tn_handle_free(more);
    assert_int_equal(value_of(c->kept), 5);
}

static void use_and_destroy(void **state)
{
    const struct crowd *c = *state;
    use_heap(state);
    assert_int_equal(take_census(c->heap).count, 1);
    tn_heap_destroy(c->heap);
    assert_int_equal(tn_heap_create(NULL, &(struct tn_heap *){NULL}, &err), 0);
}

static void descend(void **state)
{
    static int depth;
    use_heap(state);
    if (++depth < 4)
        assert_int_equal(in_child(descend, *state), 0);
    use_heap(state);
}

/* ---- the table ---- */

struct row {
    const char *name;
    void (*act)(struct crowd *c);
    CMUnitTestFunction child;
};

static const struct row rows[] = {
    {"allocate", allocate, use_and_destroy},
    {"allocate, and grandchildren", allocate, descend},
    {"collect", collect, use_and_destroy},
    {"use raw references", use_raw, use_and_destroy},
    {"come and go", come_and_go, use_heap},
    {"use handles without attaching", use_without_attaching, use_heap},
    {"pin", pin, use_heap},
    {"have finalizers", finalize, use_heap},
    {"make heaps", make_heaps, use_and_destroy},
    {"add roots", add_roots, use_and_destroy},
};

static const struct row *row_now;

static void forks(void **state)
{
    struct crowd c;
    start(&c, state, THREADS, row_now->act);
    for (int i = *state == &stress ? FORKS_IN_STRESS : FORKS; i > 0; i--) {
        assert_int_equal(in_child(row_now->child, &c), 0);
        assert_int_equal(value_of(c.kept), 5);
    }
    stop(&c);
}

/* The forking thread is in managed code: the fork is a safepoint. */
static void forks_in_managed_code(void **state)
{
    struct crowd c;
    start(&c, state, THREADS, row_now->act);
    for (int i = FORKS_IN_STRESS; i > 0; i--) {
        tn_managed_begin();
        assert_int_equal(in_child(row_now->child, &c), 0);
        assert_int_equal(((struct node *)tn_handle_object(c.kept))->value, 5);
        tn_managed_end();
    }
    stop(&c);
}

/* ---- forks in callbacks ---- */

static struct {
    struct tn_heap *heap;
    struct tn_handle *kept;
    struct crowd crowd;
    pid_t child;
} here;

/* Both processes return from the callback. */
static void fork_here(void)
{
    here.child = fork();
    assert_int_not_equal(here.child, -1);
    if (!here.child)
        alarm(60);
}

/* Ends the child; the parent checks how it ended. */
static void end_here(bool good)
{
    if (!here.child)
        _exit(!good);
    int status;
    assert_int_equal(waitpid(here.child, &status, 0), here.child);
    assert_int_equal(status, 0);
    assert_true(good);
}

static bool works(void)
{
    struct tn_heap_stats stats = {.size = sizeof stats};
    tn_scope_begin();
    struct tn_handle *node = make_node(here.heap, &node_type, 7, NULL);
    tn_heap_collect(here.heap, TN_COLLECT_FULL);
    bool good = value_of(node) == 7 && value_of(here.kept) == 5;
    tn_scope_end();
    tn_heap_stats(here.heap, &stats);
    return good && (here.child || stats.threads == 1);
}

static void fork_once(void *context, const struct tn_collection *collection)
{
    static bool done;
    (void)context, (void)collection;
    if (!done && pthread_equal(*(pthread_t *)context, pthread_self())) {
        done = true;
        fork_here();
    }
}

static void in_on_collection(void **state)
{
    pthread_t self = pthread_self();
    struct tn_heap_options options = {
        .size = sizeof options, .collector = chosen_collector(), .on_collection = fork_once, .context = &self};
    (void)state;
    assert_int_equal(tn_heap_create(&options, &here.heap, &err), 0);
    assert_int_equal(tn_heap_attach(here.heap, &err), 0);
    here.kept = make_node(here.heap, &node_type, 5, NULL);
    tn_heap_collect(here.heap, TN_COLLECT_FULL);
    end_here(works());
    tn_heap_destroy(here.heap);
}

static void fork_at_first(void *context, void *object, const struct tn_type *type, size_t payload)
{
    size_t *count = context;
    (void)object, (void)type, (void)payload;
    if (!(*count)++)
        fork_here();
}

static void open_crowd(void **state, int count, void (*what)(struct crowd *c))
{
    start(&here.crowd, state, count, what);
    here.heap = here.crowd.heap;
    here.kept = here.crowd.kept;
}

/* The world stays stopped until the walk ends. */
static void in_a_walk(void **state)
{
    size_t count = 0;
    open_crowd(state, 2, allocate);
    tn_heap_walk(here.heap, fork_at_first, &count);
    end_here(count > 0 && works());
    stop(&here.crowd);
}

static void fork_in_finalizer(void *context, struct tn_handle *object)
{
    assert_int_equal(value_of(object), 9);
    fork_here();
    ++*(int *)context;
}

static void in_a_finalizer(void **state)
{
    int count = 0;
    open_crowd(state, 2, use_raw); /* which runs no finalizers */
    struct tn_handle *node = make_node(here.heap, &node_type, 9, NULL);
    assert_int_equal(tn_handle_finalize(node, fork_in_finalizer, &count, &err), 0);
    tn_handle_free(node);
    tn_heap_collect(here.heap, TN_COLLECT_FULL);
    assert_int_equal(count, 1);
    end_here(works());
    stop(&here.crowd);
}

/* A finalizer that another thread was running is over in the child: its object dies there. */
static _Atomic int at_the_gate, gate;

static void wait_at_the_gate(void *context, struct tn_handle *object)
{
    (void)context, (void)object;
    at_the_gate = 1;
    while (!gate)
        usleep(100);
}

static void wait_in_finalizer(struct crowd *c)
{
    attach(c);
    if (at_the_gate)
        return;
    struct tn_handle *node = make_node(c->heap, &node_type, 1, NULL);
    assert_int_equal(tn_handle_finalize(node, wait_at_the_gate, NULL, &err), 0);
    tn_handle_free(node);
    while (!at_the_gate)
        tn_heap_collect(c->heap, TN_COLLECT_FULL);
}

static void finds_no_trace(void **state)
{
    const struct crowd *c = *state;
    struct tn_heap_stats stats = {.size = sizeof stats};
    tn_heap_collect(c->heap, TN_COLLECT_FULL);
    tn_heap_stats(c->heap, &stats);
    assert_int_equal(take_census(c->heap).count, 1);
    assert_int_equal(stats.finalizers + stats.finalizers_waiting, 0);
    gate = 1;
    use_heap(state);
}

static void during_a_finalizer_of_another(void **state)
{
    struct crowd c = {.heap = make_heap(state, 0), .act = wait_in_finalizer, .count = 1};
    at_the_gate = gate = 0;
    c.kept = make_node(c.heap, &node_type, 5, NULL);
    assert_int_equal(pthread_create(&c.threads[0], NULL, act, &c), 0);
    while (!at_the_gate)
        usleep(100);
    assert_int_equal(in_child(finds_no_trace, &c), 0);
    gate = 1;
    stop(&c);
}

/* ---- two threads fork at the same time ---- */

static void fork_and_wait(struct crowd *c)
{
    attach(c);
    tn_managed_begin();
    pid_t pid = fork();
    tn_managed_end();
    if (!pid) {
        alarm(60);
        tn_scope_begin();
        struct tn_handle *node = make_node(c->heap, &node_type, 7, NULL);
        tn_heap_collect(c->heap, TN_COLLECT_FULL);
        _exit(value_of(node) != 7);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void by_several_threads(void **state)
{
    struct crowd c;
    start(&c, state, 3, fork_and_wait);
    for (int i = 0; i < FORKS; i++)
        fork_and_wait(&c);
    stop(&c);
}

static int run_special(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_on_collection),
        BOTH(in_a_walk),
        {"in_a_finalizer", in_a_finalizer, NULL, NULL, &plain},
        {"during_a_finalizer_of_another", during_a_finalizer_of_another, NULL, NULL, &plain},
        BOTH(by_several_threads),
    };
    return cmocka_run_group_tests_name("forks", tests, NULL, NULL);
}

int main(void)
{
    int failed = run_special();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char name[100];
        row_now = &rows[i];
        snprintf(name, sizeof name, "while threads %s", row_now->name);
        const struct CMUnitTest tests[] = {
            {"forks", forks, NULL, NULL, &plain},
            {"forks, stress", forks, NULL, NULL, &stress},
            {"forks in managed code", forks_in_managed_code, NULL, NULL, &plain},
        };
        failed += cmocka_run_group_tests_name(name, tests, NULL, NULL);
    }
    return failed;
}
