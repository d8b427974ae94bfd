/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Forks in callbacks under the locks of several heaps, at the same time as other forks: each child has all heaps. A
 * failure here is usually a hang. */

#include "support.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HEAPS = 3, ROUNDS = 12, SECONDS = 60 };

struct part {
    struct tn_heap *heap;
    struct tn_handle *kept; /* a node with the value 5 */
    pthread_t thread;
    bool forks; /* its next callback does */
    pid_t child;
};

static struct part parts[HEAPS];
static _Atomic int ready, ended, at_work, released;

/* ---- in the callbacks ---- */

static void fork_in(struct part *part)
{
    if (!part->forks)
        return;
    part->forks = false;
    part->child = fork();
    if (!part->child)
        alarm(SECONDS);
}

static void on_collection(void *context, const struct tn_collection *collection)
{
    (void)collection;
    fork_in(context);
}

static void visit(void *context, void *object, const struct tn_type *type, size_t payload)
{
    (void)object, (void)type, (void)payload;
    fork_in(context);
}

/* The other thread is waited for in the parent, and does not exist in the child. */
static void on_delay(void *context, const struct tn_delay *delay)
{
    (void)delay;
    fork_in(context);
    released = 1;
}

/* ---- both processes ---- */

static bool works(const struct part *part)
{
    struct tn_handle *node = make_node(part->heap, &node_type, 7, part->kept);
    tn_heap_collect(part->heap, TN_COLLECT_FULL);
    bool good = value_of(node) == 7 && step(node) && value_of(node) == 5 && take_census(part->heap).count >= 2;
    tn_handle_free(node);
    tn_managed_begin(); /* of the thread's own heap: it runs */
    tn_managed_end();
    return good;
}

static void end(pid_t child)
{
    int status;
    if (!child) {
        bool good = true;
        for (int i = 0; i < HEAPS; i++)
            good &= works(&parts[i]);
        for (int i = 0; i < HEAPS; i++)
            tn_heap_destroy(parts[i].heap);
        _exit(!good);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void *fork_often(void *argument)
{
    struct part *part = argument;
    assert_int_equal(tn_heap_attach(part->heap, &err), 0);
    ready++;
    while (ready < HEAPS)
        usleep(100);
    for (int i = 0; i < ROUNDS; i++) {
        part->forks = true;
        if (i % 2)
            tn_heap_walk(part->heap, visit, part);
        else
            tn_heap_collect(part->heap, TN_COLLECT_FULL);
        end(part->child);
    }
    ended++;
    tn_heap_detach();
    return NULL;
}

static void open_parts(void **state)
{
    ready = ended = at_work = released = 0;
    for (int i = 0; i < HEAPS; i++) {
        struct part *part = &parts[i];
        *part = (struct part){.child = -1};
        struct tn_heap_options options = {.size = sizeof options,
                                          .flags = *(uint64_t *)*state,
                                          .collector = chosen_collector(),
                                          .on_collection = on_collection,
                                          .on_delay = on_delay,
                                          .context = part};
        assert_int_equal(tn_heap_create(&options, &part->heap, &err), 0);
        part->kept = make_node(part->heap, &node_type, 5, NULL);
    }
}

static void close_parts(void)
{
    for (int i = 0; i < HEAPS; i++)
        tn_heap_destroy(parts[i].heap);
}

static void fork_here(void)
{
    pid_t child = fork();
    if (!child)
        alarm(SECONDS);
    end(child);
}

static void in_callbacks_of_several_heaps(void **state)
{
    open_parts(state);
    assert_int_equal(tn_heap_attach(parts->heap, &err), 0);
    for (int i = 0; i < HEAPS; i++)
        assert_int_equal(pthread_create(&parts[i].thread, NULL, fork_often, &parts[i]), 0);
    do
        fork_here();
    while (ended < HEAPS);
    for (int i = 0; i < HEAPS; i++)
        pthread_join(parts[i].thread, NULL);
    tn_heap_detach();
    close_parts();
}

/* ---- on_delay ---- */

static void *delay(void *unused)
{
    (void)unused;
    assert_int_equal(tn_heap_attach(parts->heap, &err), 0);
    tn_managed_begin();
    at_work = 1;
    while (!released)
        usleep(100);
    tn_managed_end();
    tn_heap_detach();
    return NULL;
}

static void in_on_delay(void **state)
{
    open_parts(state);
    assert_int_equal(pthread_create(&parts->thread, NULL, delay, NULL), 0);
    while (!at_work)
        usleep(100);
    parts->forks = true;
    tn_heap_collect(parts->heap, TN_COLLECT_FULL);
    end(parts->child);
    pthread_join(parts->thread, NULL);
    close_parts();
}

int main(void)
{
    const struct CMUnitTest tests[] = {BOTH(in_callbacks_of_several_heaps), BOTH(in_on_delay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
