/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Which thread marks beside others: a thread that gets new memory starts the marker or marks itself, also if it only
 * makes objects that are old at once, and also in the child of a vfork. */

#include "support.h"

#include <sys/wait.h>
#include <unistd.h>

#include "gc/generational/cycle.h"

enum { MB = 1 << 20, NODE = 2048, TIME_LIMIT = 60 /* s */ };

static const struct tn_type large_node_type = {
    .name = "node", .kind = TN_KIND_FIXED, .alignment = 8, .size = NODE, .references = 1};

static struct {
    uint64_t concurrent, pauses, most;
} seen;

static void note(void *context, const struct tn_collection *collection)
{
    (void)context;
    seen.pauses++;
    seen.concurrent += collection->cycle_ns != 0;
    seen.most = collection->before > seen.most ? collection->before : seen.most;
}

/* Appends nodes in front of the list. */
static void extend(struct tn_heap *heap, struct tn_handle **list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct tn_handle *node = make(heap, &large_node_type, 0);
        assert_int_equal(tn_handle_store(node, 0, *list, &err), 0);
        tn_handle_free(*list);
        *list = node;
    }
}

static struct tn_heap *open_heap(uint64_t workers, struct tn_handle **list, size_t bytes)
{
    struct tn_heap *heap;
    const struct tn_heap_options options = {.size = sizeof options,
                                            .limit = 500 * MB,
                                            .minimum = 20 * MB,
                                            .workers = workers,
                                            .on_collection = note,
                                            .collector = &tn_collector_concurrent};
    assert_int_equal(tn_heap_create(&options, &heap, &err), 0);
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    *list = make(heap, &large_node_type, 0);
    extend(heap, list, bytes / NODE);
    memset(&seen, 0, sizeof seen);
    return heap;
}

static void objects_that_are_old_at_once(void **state)
{
    (void)state;
    enum { LIVE = 12 * MB, LARGE = 100000, ALL = 400 * MB, MOST = 80 * MB, PAUSES = 80 };
    struct tn_handle *list;
    struct tn_heap *heap = open_heap(1, &list, LIVE);
    for (size_t bytes = 0; bytes < ALL; bytes += LARGE)
        tn_handle_free(make(heap, &bytes_type, LARGE));
    assert_true(seen.concurrent > 0);
    if (seen.pauses > PAUSES || seen.most > MOST) /* 110 and 110 MB if no thread marks */
        fail_msg("%llu pauses, %llu MB", (unsigned long long)seen.pauses, (unsigned long long)seen.most / MB);
    tn_handle_free(list);
    tn_heap_destroy(heap);
}

/* The child shares the heap with its parent, which waits; its threads would end with it. */
static void the_child_of_a_vfork_starts_no_thread(void **state)
{
    (void)state;
    struct tn_handle *list;
    struct tn_heap *heap = open_heap(2, &list, 0);
    struct tn__generational *g = tn__generational_of(heap);
    int status;
    alarm(TIME_LIMIT);
    pid_t child = vfork();
    if (!child) {
        while (!g->marks)
            extend(heap, &list, 16);
        extend(heap, &list, 2 * MB / NODE);
        _exit(g->cycle->has_thread);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    while (!seen.concurrent || !g->cycle->has_thread)
        extend(heap, &list, 16);
    alarm(0);
    tn_handle_free(list);
    tn_heap_destroy(heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_that_are_old_at_once),
        cmocka_unit_test(the_child_of_a_vfork_starts_no_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
