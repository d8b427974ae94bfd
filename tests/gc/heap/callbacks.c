/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What functions of the client may call (doc/GC.md, "Callbacks"): each function of a heap in each callback, in a child,
 * which must not hang. */

#include "support.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* How a child ends. */
enum result { FINE, REFUSED, REPORTED, OTHER };

static struct {
    struct tn_heap *heap, *other;
    struct tn_handle *node, *spare, *of_other;
    enum result (*call)(void);
} here;

static enum result of(int code)
{
    return code == TN_ECYCLE ? REFUSED : code ? OTHER : FINE;
}

/* ---- the functions ---- */

static enum result call_stats(void)
{
    struct tn_heap_stats stats = {.size = sizeof stats};
    tn_heap_stats(here.heap, &stats);
    return stats.threads == 1 && tn_heap_current() == here.heap ? FINE : OTHER;
}

static enum result call_stats_of_other(void)
{
    struct tn_heap_stats stats = {.size = sizeof stats};
    tn_heap_stats(here.other, &stats);
    return FINE;
}

static enum result call_create(void)
{
    return of(tn_heap_create(NULL, &(struct tn_heap *){NULL}, &err));
}

static enum result call_destroy(void)
{
    tn_heap_destroy(here.other);
    return FINE;
}

static enum result call_attach(void)
{
    return of(tn_heap_attach(here.heap, &err));
}

static enum result call_detach(void)
{
    tn_heap_detach();
    return FINE;
}

static enum result call_collect(void)
{
    tn_heap_collect(here.heap, TN_COLLECT_PARTIAL);
    return FINE;
}

static enum result call_collect_other(void)
{
    tn_heap_collect(here.other, TN_COLLECT_FULL);
    return FINE;
}

static enum result call_trim(void)
{
    tn_heap_trim(here.heap);
    return FINE;
}

static enum result call_walk(void)
{
    take_census(here.heap);
    return FINE;
}

static enum result call_finalizers(void)
{
    tn_run_pending_finalizers(here.heap);
    return FINE;
}

static enum result call_new(void)
{
    return of(tn_handle_new(here.heap, &node_type, 0, &(struct tn_handle *){NULL}, &err));
}

static enum result call_of(void)
{
    struct tn_handle *handle;
    int code = tn_handle_of(here.heap, NULL, &handle, &err);
    return of(code);
}

static enum result call_free(void)
{
    tn_handle_free(here.spare);
    return FINE;
}

static enum result call_scope(void)
{
    tn_scope_begin();
    tn_scope_end();
    return FINE;
}

static enum result call_set(void)
{
    return of(tn_handle_set(here.spare, here.node));
}

static enum result call_same(void)
{
    return tn_handle_same(here.node, here.spare) || tn_handle_is_null(here.node) ? OTHER : FINE;
}

static enum result call_type(void)
{
    return tn_handle_type(here.node) == &node_type ? FINE : OTHER;
}

static enum result call_type_of_other(void)
{
    return tn_handle_type(here.of_other) == &node_type ? FINE : OTHER;
}

static enum result call_hash(void)
{
    return tn_handle_hash(here.node) ? FINE : OTHER;
}

static enum result call_read(void)
{
    uint64_t value = 0;
    int code = tn_handle_read(here.node, offsetof(struct node, value), &value, sizeof value, &err);
    return code || value == 5 ? of(code) : OTHER;
}

static enum result call_read_other(void)
{
    uint64_t value;
    return of(tn_handle_read(here.of_other, offsetof(struct node, value), &value, sizeof value, &err));
}

static enum result call_write(void)
{
    return of(tn_handle_write(here.node, offsetof(struct node, value), &(uint64_t){5}, 8, &err));
}

static enum result call_load(void)
{
    return of(tn_handle_load(here.node, 0, here.spare, &err));
}

static enum result call_store(void)
{
    return of(tn_handle_store(here.node, 0, here.node, &err));
}

static enum result call_pin(void)
{
    void *address;
    int code = tn_handle_pin(here.node, &address, &err);
    if (!code)
        tn_handle_unpin(here.node);
    return of(code);
}

static enum result call_finalize(void)
{
    return of(tn_handle_finalize(here.node, (void (*)(void *, struct tn_handle *))abort, NULL, &err));
}

static enum result call_roots(void)
{
    static void *words[1];
    int code = tn_roots_add(words, 1, &err);
    if (!code)
        tn_roots_remove(words);
    return of(code);
}

static uint64_t permanent[2];

static enum result call_add(void)
{
    return of(tn_heap_add_permanent(here.heap, permanent, sizeof permanent, 0, &err));
}

static enum result call_remove(void)
{
    return of(tn_heap_remove_permanent(here.heap, permanent, &err));
}

static const struct {
    const char *name;
    enum result (*call)(void);
    enum result under_lock, in_visitor;
} rows[] = {
    {"tn_heap_stats", call_stats, FINE, REPORTED},
    {"tn_heap_stats, other heap", call_stats_of_other, REPORTED, REPORTED},
    {"tn_heap_create", call_create, REFUSED, REFUSED},
    {"tn_heap_destroy", call_destroy, REPORTED, REPORTED},
    {"tn_heap_attach", call_attach, REFUSED, REFUSED},
    {"tn_heap_detach", call_detach, REPORTED, REPORTED},
    {"tn_heap_collect", call_collect, REPORTED, REPORTED},
    {"tn_heap_collect, other heap", call_collect_other, REPORTED, REPORTED},
    {"tn_heap_trim", call_trim, REPORTED, REPORTED},
    {"tn_heap_walk", call_walk, REPORTED, REPORTED},
    {"tn_run_pending_finalizers", call_finalizers, REPORTED, REPORTED},
    {"tn_handle_new", call_new, REFUSED, REFUSED},
    {"tn_handle_of", call_of, FINE, REFUSED},
    {"tn_handle_free", call_free, FINE, REPORTED},
    {"tn_scope_end", call_scope, FINE, REPORTED},
    {"tn_handle_set", call_set, FINE, REFUSED},
    {"tn_handle_same", call_same, FINE, REPORTED},
    {"tn_handle_type", call_type, FINE, REPORTED},
    {"tn_handle_type, other heap", call_type_of_other, REPORTED, REPORTED},
    {"tn_handle_hash", call_hash, FINE, REPORTED},
    {"tn_handle_read", call_read, FINE, REFUSED},
    {"tn_handle_read, other heap", call_read_other, REFUSED, REFUSED},
    {"tn_handle_write", call_write, FINE, REFUSED},
    {"tn_handle_load", call_load, FINE, REFUSED},
    {"tn_handle_store", call_store, FINE, REFUSED},
    {"tn_handle_pin", call_pin, FINE, REFUSED},
    {"tn_handle_finalize", call_finalize, REFUSED, REFUSED},
    {"tn_roots_add", call_roots, FINE, REFUSED},
    {"tn_heap_add_permanent", call_add, REFUSED, REFUSED},
    {"tn_heap_remove_permanent", call_remove, REFUSED, REFUSED},
};

/* ---- the callbacks ---- */

/* The first time; all else must go on as if it had not been called. */
static enum result call_once(void)
{
    static bool was_called;
    static enum result result;
    if (!was_called) {
        was_called = true;
        result = here.call();
    }
    return result;
}

static void report(void *context, const char *what)
{
    (void)context;
    _exit(strstr(what, "a callback calls a function of a heap") ? REPORTED : OTHER);
}

/* on_corruption itself calls what it must not: that is not reported once more. */
static void report_and_collect(void *context, const char *what)
{
    (void)context, (void)what;
    here.call();
}

static void on_collection(void *context, const struct tn_collection *collection)
{
    (void)context, (void)collection;
    call_once();
}

static void visit_in_walk(void *context, void *object, const struct tn_type *type, size_t payload)
{
    (void)context, (void)object, (void)type, (void)payload;
    call_once();
}

static bool is_visiting;

static void visit_custom(void *object, tn_visit_slot *slot, void *context)
{
    if (is_visiting)
        call_once();
    slot(context, object);
}

static const struct tn_type custom_type = {
    .kind = TN_KIND_CUSTOM, .alignment = 8, .size = sizeof(struct node), .visit = visit_custom};

static void in_on_collection(void)
{
    tn_heap_collect(here.heap, TN_COLLECT_FULL);
}

static void in_walk(void)
{
    tn_heap_walk(here.heap, visit_in_walk, NULL);
}

static void in_visitor(void)
{
    struct tn_handle *custom = make(here.heap, &custom_type, 0);
    is_visiting = true;
    tn_heap_collect(here.heap, TN_COLLECT_FULL);
    is_visiting = false;
    tn_handle_free(custom);
}

static void in_managed_code(void)
{
    tn_managed_begin();
    tn_heap_collect(here.heap, TN_COLLECT_FULL);
    tn_managed_end();
}

/* ---- on_delay ---- */

static int waiting, released;

static void *delay(void *unused)
{
    (void)unused;
    assert_int_equal(tn_heap_attach(here.heap, &err), 0);
    tn_managed_begin();
    __atomic_store_n(&waiting, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&released, __ATOMIC_SEQ_CST))
        usleep(1000);
    tn_managed_end();
    tn_heap_detach();
    return NULL;
}

static void on_delay(void *context, const struct tn_delay *delay)
{
    (void)context, (void)delay;
    call_once();
    __atomic_store_n(&released, 1, __ATOMIC_SEQ_CST);
}

static void in_on_delay(void)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, delay, NULL), 0);
    while (!__atomic_load_n(&waiting, __ATOMIC_SEQ_CST))
        usleep(1000);
    tn_heap_collect(here.heap, TN_COLLECT_FULL);
    pthread_join(thread, NULL);
}

/* ---- children ---- */

static uint64_t flags;
static uint32_t workers; /* 0: as many as the machine has processors for */

static struct tn_handle *open_heap(struct tn_heap **heap, bool hooks,
                                   void (*on_corruption)(void *context, const char *what))
{
    struct tn_heap_options options = {.size = sizeof options, .flags = flags, .collector = chosen_collector()};
    options.workers = workers;
    options.on_corruption = on_corruption;
    options.on_collection = hooks ? on_collection : NULL;
    options.on_delay = hooks ? on_delay : NULL;
    assert_int_equal(tn_heap_create(&options, heap, &err), 0);
    return make_node(*heap, &node_type, 5, NULL);
}

/* Whether the heap works is seen after the callback. */
static enum result run(enum result (*call)(void), void (*callback)(void), bool hooks,
                       void (*on_corruption)(void *context, const char *what))
{
    here.of_other = open_heap(&here.other, false, on_corruption);
    here.node = open_heap(&here.heap, hooks, on_corruption);
    assert_int_equal(tn_heap_attach(here.heap, &err), 0);
    assert_int_equal(tn_handle_of(here.heap, NULL, &here.spare, &err), 0);
    here.call = call;
    callback();
    enum result result = call_once();
    return value_of(here.node) == 5 && take_census(here.heap).count >= 1 ? result : OTHER;
}

static enum result in_process(enum result (*call)(void), void (*callback)(void), bool hooks,
                              void (*on_corruption)(void *context, const char *what))
{
    enum { SECONDS = 60 };
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        alarm(SECONDS);
        signal(SIGILL, SIG_DFL); /* cmocka's */
        _exit(run(call, callback, hooks, on_corruption));
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? (enum result)WEXITSTATUS(status) : OTHER + 1 + (enum result)WTERMSIG(status);
}

static void check(const char *callback, size_t row, enum result got, enum result wanted)
{
    if (got != wanted)
        fail_msg("%s in %s: %d instead of %d", rows[row].name, callback, (int)got, (int)wanted);
}

/* ---- tests ---- */

static void under_the_lock(void **state)
{
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        flags = 0; /* no collection but that of the test */
        check("on_collection", i, in_process(rows[i].call, in_on_collection, true, report), rows[i].under_lock);
        check("on_collection, managed code", i, in_process(rows[i].call, in_managed_code, true, report),
              rows[i].under_lock);
        flags = *(uint64_t *)*state;
        check("a walk", i, in_process(rows[i].call, in_walk, false, report), rows[i].under_lock);
    }
}

static void in_visitors(void **state)
{
    flags = *(uint64_t *)*state;
    for (size_t i = 0; i < TN_COUNT(rows); i++)
        check("a visitor", i, in_process(rows[i].call, in_visitor, false, report), rows[i].in_visitor);
}

static void in_delays(void **state)
{
    (void)state;
    flags = 0;
    assert_int_equal(in_process(call_new, in_on_delay, true, report), REFUSED);
    assert_int_equal(in_process(call_collect, in_on_delay, true, report), REPORTED);
    assert_int_equal(in_process(call_store, in_on_delay, true, report), FINE);
}

static enum result call_managed(void)
{
    tn_managed_begin();
    tn_managed_end();
    return FINE;
}

static enum result call_fork(void)
{
    if (!fork())
        _exit(FINE);
    return FINE;
}

/* A thread that goes back to managed code would wait until the world runs, which is stopped by itself. */
static void managed_code(void **state)
{
    (void)state;
    flags = 0;
    assert_int_equal(in_process(call_managed, in_walk, false, report), REPORTED);
    assert_int_equal(in_process(call_managed, in_visitor, false, report), REPORTED);
    assert_int_equal(in_process(call_managed, in_on_collection, true, report), FINE);
}

static void trapped(void **state)
{
    enum { TRAPPED = OTHER + 1 + SIGILL };
    (void)state;
    flags = 0;
    assert_int_equal(in_process(call_collect, in_on_collection, true, NULL), TRAPPED);
    assert_int_equal(in_process(call_collect, in_on_collection, true, report_and_collect), TRAPPED);
}

/* A single thread visits the object while it holds the lock of the handles; with more, another one may take it. */
static void forks_in_visitors(void **state)
{
    (void)state;
    flags = 0;
    for (workers = 0; workers <= 2; workers++)
        assert_int_equal(in_process(call_fork, in_visitor, false, report), REPORTED);
    workers = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(under_the_lock),           BOTH(in_visitors),         cmocka_unit_test(in_delays),
        cmocka_unit_test(managed_code), cmocka_unit_test(trapped), cmocka_unit_test(forks_in_visitors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
