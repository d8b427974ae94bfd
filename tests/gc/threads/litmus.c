/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Litmus programs over what threads and the collector publish to each other: whether a thread is in managed code, the
 * request to stop, and the remembered set. */

#include "litmus.h"
#include "support.h"

struct scene {
    struct tn_heap *heap;
    struct tn_handle *kept;
};

static void *turns(uint64_t n)
{
    return (void *)(uintptr_t)n;
}

/* The state names a collector that runs while all threads have stopped. */
static struct scene open_scene(void **state)
{
    const struct tn_heap_options options = {
        .size = sizeof options, .flags = TN_HEAP_VERIFY, .collector = *state, .minimum = 1 << 20};
    struct scene s;
    assert_int_equal(tn_heap_create(&options, &s.heap, &err), 0);
    assert_int_equal(tn_heap_attach(s.heap, &err), 0);
    return s;
}

static void close_scene(struct scene *s)
{
    tn_handle_free(s->kept);
    tn_heap_destroy(s->heap);
}

/* ---- store buffering: the thread's state, and the request ---- */

static _Atomic uint64_t inside, stopped;

/* Called in the middle of a collection. */
static void look_inside(void *object, tn_visit_slot *slot, void *context)
{
    (void)object, (void)slot, (void)context;
    litmus_store(&stopped, 1);
    for (int i = 0; i < 50; i++)
        litmus_check(!litmus_load(&inside), "a collection runs while a thread is in managed code");
    litmus_store(&stopped, 0);
}

static const struct tn_type watch_type = {.kind = TN_KIND_CUSTOM, .alignment = 8, .size = 8, .visit = look_inside};

static void be_inside(void)
{
    litmus_store(&inside, 1);
    for (int i = 0; i < 4; i++)
        litmus_check(!litmus_load(&stopped), "a thread is in managed code while a collection runs");
    litmus_store(&inside, 0);
}

static intptr_t be_outside(intptr_t a, intptr_t b, intptr_t c, intptr_t d)
{
    return a + b + c + d;
}

/* Through the two calls, and through transitions, which come back without a fence of their own. */
static void *come_and_go(void *argument)
{
    const struct scene *s = argument;
    uint64_t n = 0;
    litmus_check(!tn_heap_attach(s->heap, &err), "not attached");
    for (; litmus_goes_on(); n++) {
        tn_managed_begin();
        for (int i = 0; i < 8; i++) {
            be_inside();
            litmus_check(tn_call_blocking((void *)(intptr_t)be_outside, 1, 2, 3, 4) == 10, "another result");
        }
        tn_managed_end();
    }
    tn_heap_detach();
    return turns(n);
}

static void *collect(void *argument)
{
    const struct scene *s = argument;
    uint64_t n = 0;
    litmus_check(!tn_heap_attach(s->heap, &err), "not attached");
    for (; litmus_goes_on(); n++)
        tn_heap_collect(s->heap, n % 8 ? TN_COLLECT_PARTIAL : TN_COLLECT_FULL);
    tn_heap_detach();
    return turns(n);
}

static void collections_and_managed_code_exclude_each_other(void **state)
{
    struct scene s = open_scene(state);
    s.kept = make(s.heap, &watch_type, 0);
    litmus_run(come_and_go, collect, &s);
    close_scene(&s);
}

/* ---- message passing: the remembered set ---- */

/* The table is old, what is stored into it is new. A node whose entry in the remembered set were overlooked would be
 * overwritten; verification looks for that as well. */
static void *store_new_nodes(void *argument)
{
    const struct scene *s = argument;
    uint64_t n = 1;
    litmus_check(!tn_heap_attach(s->heap, &err), "not attached");
    for (; litmus_goes_on(); n++) {
        tn_scope_begin();
        struct tn_handle *node = make_node(s->heap, &node_type, n, NULL);
        litmus_check(!tn_handle_store(s->kept, sizeof(struct table) + 8 * (n % 4), node, &err), "not stored");
        tn_scope_end();
    }
    tn_heap_detach();
    return turns(n - 1);
}

static void *collect_and_look(void *argument)
{
    const struct scene *s = argument;
    uint64_t n = 0, last[4] = {0};
    litmus_check(!tn_heap_attach(s->heap, &err), "not attached");
    for (; litmus_goes_on(); n++) {
        tn_heap_collect(s->heap, n % 64 ? TN_COLLECT_PARTIAL : TN_COLLECT_FULL);
        tn_scope_begin();
        for (uint64_t i = 0; i < 4; i++) {
            struct tn_handle *node = copy_of(s->heap, NULL);
            litmus_check(!tn_handle_load(s->kept, sizeof(struct table) + 8 * i, node, &err), "not loaded");
            uint64_t value = tn_handle_is_null(node) ? 0 : value_of(node);
            litmus_check(value >= last[i] && (!value || value % 4 == i), "a node that was stored is lost");
            last[i] = value;
        }
        tn_scope_end();
    }
    tn_heap_detach();
    return turns(n);
}

static void stores_into_old_objects_are_seen(void **state)
{
    struct scene s = open_scene(state);
    s.kept = make(s.heap, &table_type, 4);
    tn_heap_collect(s.heap, TN_COLLECT_FULL);
    tn_heap_collect(s.heap, TN_COLLECT_FULL);
    litmus_run(store_new_nodes, collect_and_look, &s);
    close_scene(&s);
}

#define WITH(test, collector)                                                                                          \
    {                                                                                                                  \
#test ", " #collector, test, NULL, NULL, (void *)&tn_collector_##collector                                     \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(collections_and_managed_code_exclude_each_other, copying),
        WITH(collections_and_managed_code_exclude_each_other, generational),
        WITH(stores_into_old_objects_are_seen, copying),
        WITH(stores_into_old_objects_are_seen, generational),
        WITH(stores_into_old_objects_are_seen, concurrent),
    };
    return cmocka_run_group_tests_name("gc/litmus", tests, NULL, NULL);
}
