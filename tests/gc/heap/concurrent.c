/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Full collections whose objects are marked beside threads. Where only one worker is allowed, marking goes on when a
 * thread gets new memory and at no other time, so these tests choose what is marked before a reference is moved from a
 * place that the marker has not seen to one that it does not look at again. */

#include "support.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "gc/generational/cycle.h"

enum { MB = 1 << 20 };

static struct {
    uint64_t concurrent, full, pauses;
} seen;

static void note(void *context, const struct tn_collection *collection)
{
    (void)context;
    seen.pauses++;
    seen.full += collection->full;
    seen.concurrent += collection->cycle_ns != 0;
}

static struct tn_heap *open_heap(uint64_t workers, uint64_t flags, uint64_t limit)
{
    struct tn_heap *heap;
    struct tn_heap_options options = {.size = sizeof options,
                                      .limit = limit,
                                      .minimum = 1 * MB,
                                      .flags = flags,
                                      .workers = workers,
                                      .on_collection = note,
                                      .collector = &tn_collector_concurrent};
    memset(&seen, 0, sizeof seen);
    assert_int_equal(tn_heap_create(&options, &heap, &err), 0);
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    return heap;
}

/* A pause; it may end a cycle. */
static void pause_now(struct tn_heap *heap)
{
    tn_heap_collect(heap, TN_COLLECT_PARTIAL);
}

static bool is_marking(struct tn_heap *heap)
{
    return tn__generational_of(heap)->marks;
}

/* New memory for the thread, which lasts for a while: so this marks all that the marker knows of. */
static void mark(struct tn_heap *heap)
{
    enum { ROUNDS = 10000 };
    for (int i = 0; i < ROUNDS && !tn__generational_of(heap)->cycle->is_dry; i++) {
        tn__heap_lock(heap);
        heap->collector->retire(tn__self());
        tn__heap_unlock(heap);
        tn_handle_free(make(heap, &bytes_type, 8));
    }
    assert_true(tn__generational_of(heap)->cycle->is_dry);
}

/* As if more had been allocated since the last one. */
static void begin_cycle(struct tn_heap *heap)
{
    struct tn__generational *g = tn__generational_of(heap);
    uint64_t budget = g->budget;
    while (!is_marking(heap)) {
        g->budget = 0;
        pause_now(heap);
    }
    g->budget = budget;
}

static void end_cycle(struct tn_heap *heap)
{
    uint64_t before = seen.concurrent;
    begin_cycle(heap); /* if there is none */
    for (int i = 0; i < 4 && seen.concurrent == before; i++) {
        mark(heap);
        pause_now(heap);
    }
    assert_true(seen.concurrent > before); /* one more, if a slow machine had pauses of its own meanwhile */
}

/* ---- hiding ---- */

/* `black` is reached first, from a handle, and `white` only by a chain from `grey`. */
struct scene {
    struct tn_heap *heap;
    struct tn_handle *black, *grey, *moved;
};

static void load_next(const struct tn_handle *from, struct tn_handle *to)
{
    assert_int_equal(tn_handle_load(from, offsetof(struct node, next), to, &err), 0);
}

static void store_next(struct tn_handle *to, const struct tn_handle *value)
{
    assert_int_equal(tn_handle_store(to, offsetof(struct node, next), value, &err), 0);
}

static struct scene open_scene(void **state)
{
    struct scene s = {.heap = open_heap(1, *(uint64_t *)*state, 0)};
    struct tn_handle *last = make_node(s.heap, &node_type, 42, NULL), *white = make_node(s.heap, &node_type, 41, last);
    s.black = make_node(s.heap, &node_type, 1, NULL);
    s.grey = make_node(s.heap, &node_type, 2, white);
    s.moved = copy_of(s.heap, NULL);
    tn_handle_free(white);
    tn_handle_free(last);
    tn_heap_collect(s.heap, TN_COLLECT_FULL);
    begin_cycle(s.heap);
    return s;
}

/* The only reference to the white object goes into a handle, before the object that had it is marked. */
static void hide(struct scene *s)
{
    load_next(s->grey, s->moved);
    store_next(s->grey, NULL);
    mark(s->heap);
}

static void close_scene(struct scene *s, struct tn_handle *holder, bool steps)
{
    end_cycle(s->heap);
    struct tn_handle *got = copy_of(s->heap, holder);
    if (steps)
        assert_true(step(got));
    tn_managed_begin();
    assert_true(tn__gen_is_object(tn__generational_of(s->heap), tn_handle_object(got))); /* not only memory as it was */
    tn_managed_end();
    assert_int_equal(value_of(got), 41);
    assert_true(step(got));
    assert_int_equal(value_of(got), 42);
    tn_heap_collect(s->heap, TN_COLLECT_FULL);
    assert_int_equal(value_of(got), 42);
    tn_heap_destroy(s->heap);
}

static struct tn_handle *make_weak(struct tn_heap *heap, const struct tn_handle *target)
{
    struct tn_handle *weak = make(heap, &tn_weak_type, 0);
    assert_int_equal(tn_handle_store(weak, 0, target, &err), 0);
    return weak;
}

/* So many that the thread's buffer of logged stores is full again and again. */
static void hidden_among_many_stores(void **state)
{
    enum { STORES = 20000, LENGTH = 900 };
    struct scene s = open_scene(state);
    struct tn_handle *table = make(s.heap, &table_type, LENGTH);
    end_cycle(s.heap);
    begin_cycle(s.heap);
    hide(&s);
    store_next(s.black, s.moved);
    for (uint64_t i = 0; i < STORES; i++)
        assert_int_equal(tn_handle_store(table, sizeof(struct table) + 8 * (i * 7 % LENGTH), s.grey, &err), 0);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    close_scene(&s, s.black, true);
}

/* Threads have allocated these objects in holes of the old space, without the mark that barriers look for. */
static void hidden_in_an_object_from_a_hole(void **state)
{
    enum { NODES = 60000, MOST = 2000000 };
    struct scene s = {.heap = open_heap(1, 0, 0)};
    struct tn_handle *list = copy_of(s.heap, NULL), *last;
    (void)state;
    for (uint64_t i = 0; i < MOST && (i < NODES || !tn__generational_of(s.heap)->is_direct); i++) {
        last = make_node(s.heap, &node_type, i, list);
        assert_int_equal(tn_handle_set(list, last), 0);
        tn_handle_free(last);
    }
    assert_true(tn__generational_of(s.heap)->is_direct);
    last = make_node(s.heap, &node_type, 42, NULL);
    s.moved = make_node(s.heap, &node_type, 41, last);
    tn_handle_free(last);
    s.grey = make_node(s.heap, &node_type, 2, s.moved);
    s.black = make_node(s.heap, &node_type, 1, NULL);
    struct tn_handle *weak = make_weak(s.heap, s.black);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    begin_cycle(s.heap);
    assert_false(tn__generational_of(s.heap)->is_direct);
    hide(&s);
    store_next(s.black, s.moved);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    end_cycle(s.heap);
    assert_int_equal(tn_handle_load(weak, 0, s.moved, &err), 0);
    assert_true(tn_handle_same(s.moved, s.black));
    uint64_t count = 0;
    for (; !tn_handle_is_null(list); step(list))
        count++;
    assert_true(count >= NODES);
    begin_cycle(s.heap);
    close_scene(&s, s.black, true);
}

static void hidden_in_a_handle(void **state)
{
    struct scene s = open_scene(state);
    hide(&s);
    close_scene(&s, s.moved, false);
}

static void hidden_in_a_marked_object(void **state)
{
    struct scene s = open_scene(state);
    hide(&s);
    store_next(s.black, s.moved);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    close_scene(&s, s.black, true);
}

static void hidden_in_a_new_object(void **state)
{
    struct scene s = open_scene(state);
    hide(&s);
    struct tn_handle *holder = make_node(s.heap, &node_type, 3, s.moved);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    close_scene(&s, holder, true);
}

/* The new object is old after the first pause, and a young one refers to the white object until the second. */
static void hidden_in_a_promoted_object(void **state)
{
    struct scene s = open_scene(state);
    hide(&s);
    struct tn_handle *holder = make_node(s.heap, &node_type, 3, NULL);
    pause_now(s.heap);
    if (!is_marking(s.heap))
        begin_cycle(s.heap);
    store_next(holder, s.moved);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    close_scene(&s, holder, true);
}

static void hidden_in_an_array(void **state)
{
    enum { LENGTH = 3000 }; /* old at once, and looked at in parts */
    struct scene s = open_scene(state);
    struct tn_handle *table = make(s.heap, &table_type, LENGTH), *other = make(s.heap, &table_type, LENGTH);
    pause_now(s.heap);
    begin_cycle(s.heap);
    hide(&s);
    assert_int_equal(tn_handle_store(other, sizeof(struct table) + 8 * 7, s.moved, &err), 0);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    tn_managed_begin();
    struct table *to = tn_handle_object(table), *from = tn_handle_object(other);
    tn__gc_move(to, &to->items[5], &from->items[6], 3 * sizeof *to->items);
    from->items[7] = NULL;
    tn_managed_end();
    assert_int_equal(tn_handle_load(table, sizeof(struct table) + 8 * 6, s.moved, &err), 0);
    assert_int_equal(value_of(s.moved), 41);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    end_cycle(s.heap);
    assert_int_equal(tn_handle_load(table, sizeof(struct table) + 8 * 6, s.moved, &err), 0);
    assert_int_equal(value_of(s.moved), 41);
    tn_heap_destroy(s.heap);
}

/* A pinned object that is new stays in the nursery, and is old from the next pause on. */
static void hidden_in_a_pinned_object(void **state)
{
    struct scene s = open_scene(state);
    void *address;
    hide(&s);
    struct tn_handle *holder = make_node(s.heap, &node_type, 3, s.moved);
    assert_int_equal(tn_handle_pin(holder, &address, &err), 0);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    end_cycle(s.heap);
    begin_cycle(s.heap);
    tn_handle_unpin(holder);
    close_scene(&s, holder, true);
}

/* Loads from weak references have no barrier: what they load is on the stack or in a handle in the next pause. */
static void loaded_from_a_weak_reference(void **state)
{
    struct scene s = open_scene(state);
    load_next(s.grey, s.moved);
    struct tn_handle *weak = make_weak(s.heap, s.moved);
    end_cycle(s.heap);
    begin_cycle(s.heap);
    store_next(s.grey, NULL);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    mark(s.heap);
    assert_int_equal(tn_handle_load(weak, 0, s.moved, &err), 0);
    assert_int_equal(value_of(s.moved), 41);
    close_scene(&s, s.moved, false);
}

static void weak_references_are_cleared(void **state)
{
    struct scene s = open_scene(state);
    load_next(s.grey, s.moved);
    struct tn_handle *weak = make_weak(s.heap, s.moved), *live = make_weak(s.heap, s.black);
    store_next(s.grey, NULL);
    assert_int_equal(tn_handle_set(s.moved, NULL), 0);
    end_cycle(s.heap);
    begin_cycle(s.heap);
    end_cycle(s.heap);
    assert_int_equal(tn_handle_load(weak, 0, s.moved, &err), 0);
    assert_true(tn_handle_is_null(s.moved));
    assert_int_equal(tn_handle_load(live, 0, s.moved, &err), 0);
    assert_true(tn_handle_same(s.moved, s.black));
    tn_heap_destroy(s.heap);
}

/* A chain of ephemerons, each of which has the next one's key as its value; the values of dead keys die. */
static void ephemerons_follow_their_keys(void **state)
{
    enum { COUNT = 100 };
    struct scene s = open_scene(state);
    struct tn_handle *ephemerons[COUNT], *key = copy_of(s.heap, s.black), *first;
    for (int round = 0; round < 2; round++) {
        tn_handle_set(key, s.black);
        for (int i = 0; i < COUNT; i++) {
            struct tn_handle *value = make_node(s.heap, &node_type, 100 + (uint64_t)i, NULL);
            ephemerons[i] = make(s.heap, &tn_ephemeron_type, 0);
            assert_int_equal(tn_handle_store(ephemerons[i], 0, key, &err), 0);
            assert_int_equal(tn_handle_store(ephemerons[i], 8, value, &err), 0);
            tn_handle_set(key, value);
            tn_handle_free(value);
        }
        tn_handle_set(key, NULL);
        end_cycle(s.heap);
        begin_cycle(s.heap);
        if (round) {
            first = s.black;
            s.black = copy_of(s.heap, NULL);
            tn_handle_free(first);
            end_cycle(s.heap);
            begin_cycle(s.heap);
        }
        end_cycle(s.heap);
        for (int i = 0; i < COUNT; i++) {
            assert_int_equal(tn_handle_load(ephemerons[i], 8, key, &err), 0);
            assert_int_equal(tn_handle_is_null(key), round);
            if (!round)
                assert_int_equal(value_of(key), 100 + i);
            tn_handle_free(ephemerons[i]);
        }
        if (!round)
            begin_cycle(s.heap);
    }
    tn_heap_destroy(s.heap);
}

static void take_back(void *context, struct tn_handle *object)
{
    tn_handle_set(context, object);
}

static void finalizers_get_whole_objects(void **state)
{
    struct scene s = open_scene(state);
    struct tn_handle *got = copy_of(s.heap, NULL), *object = copy_of(s.heap, s.grey);
    assert_int_equal(tn_handle_finalize(object, take_back, got, &err), 0);
    end_cycle(s.heap);
    tn_handle_free(object);
    tn_handle_free(s.grey);
    begin_cycle(s.heap);
    end_cycle(s.heap);
    if (tn_handle_is_null(got))
        tn_run_pending_finalizers(s.heap);
    assert_false(tn_handle_is_null(got));
    close_scene(&s, got, true);
}

/* ---- long arrays, types with visitors ---- */

static void visit_one(void *object, tn_visit_slot *slot, void *context)
{
    slot(context, object);
}

static const struct tn_type custom_type = {.kind = TN_KIND_CUSTOM, .alignment = 8, .size = 8, .visit = visit_one};
static const uint32_t second[] = {8};
static const struct tn_type listed_type = {
    .kind = TN_KIND_FIXED, .alignment = 8, .size = 16, .offsets = second, .offset_count = 1};

static void every_kind_is_marked(void **state)
{
    enum { COUNT = 2000 };
    struct scene s = open_scene(state);
    struct tn_handle *nodes = make(s.heap, &nodes_type, COUNT), *got = copy_of(s.heap, NULL),
                     *table = make(s.heap, &table_type, COUNT);
    for (int i = 0; i < COUNT; i++) {
        struct tn_handle *holder = make(s.heap, i % 2 ? &custom_type : &listed_type, 0);
        struct tn_handle *leaf = make_node(s.heap, &node_type, (uint64_t)i, NULL);
        assert_int_equal(tn_handle_store(holder, i % 2 ? 0 : 8, leaf, &err), 0);
        if (i % 2 == 0)
            assert_int_equal(tn_handle_store(nodes, 8 + sizeof(struct node) * (uint64_t)i, leaf, &err), 0);
        assert_int_equal(tn_handle_store(table, sizeof(struct table) + 8 * (uint64_t)i, holder, &err), 0);
        tn_handle_free(holder);
        tn_handle_free(leaf);
    }
    for (int round = 0; round < 3; round++) {
        if (is_marking(s.heap))
            end_cycle(s.heap);
        begin_cycle(s.heap);
        end_cycle(s.heap);
    }
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(tn_handle_load(nodes, 8 + sizeof(struct node) * (uint64_t)i, got, &err), 0);
        assert_true(i % 2 ? tn_handle_is_null(got) : value_of(got) == (uint64_t)i);
        assert_int_equal(tn_handle_load(table, sizeof(struct table) + 8 * (uint64_t)i, got, &err), 0);
        assert_int_equal(tn_handle_load(got, i % 2 ? 0 : 8, got, &err), 0);
        assert_int_equal(value_of(got), i);
    }
    tn_heap_destroy(s.heap);
}

/* ---- memory ---- */

/* Dead objects of a cycle are free after it; what a cycle counts is what a stopped collection counts. */
static void memory_is_reclaimed(void **state)
{
    enum { COUNT = 40000 };
    struct tn_heap *heap = open_heap(1, TN_HEAP_VERIFY, 0);
    struct tn_heap_stats before = {.size = sizeof before}, after = {.size = sizeof after};
    struct tn_handle *list = copy_of(heap, NULL);
    (void)state;
    tn_heap_collect(heap, TN_COLLECT_FULL);
    tn_heap_stats(heap, &before);
    for (int i = 0; i < COUNT; i++) {
        struct tn_handle *node = make_node(heap, &node_type, (uint64_t)i, list);
        tn_handle_set(list, node);
        tn_handle_free(node);
    }
    begin_cycle(heap);
    end_cycle(heap);
    tn_heap_stats(heap, &after);
    assert_true(after.in_use >= before.in_use + COUNT * 24ull);
    tn_handle_set(list, NULL);
    begin_cycle(heap);
    end_cycle(heap);
    tn_heap_stats(heap, &after);
    assert_true(after.in_use < before.in_use + 4 * MB / 10);
    assert_int_equal(after.marked > 0, 1);
    tn_heap_destroy(heap);
}

/* A collection that is asked for drops the cycle: nothing that died since it began stays. */
static void full_collections_drop_a_cycle(void **state)
{
    struct scene s = open_scene(state);
    load_next(s.grey, s.moved);
    struct tn_handle *weak = make_weak(s.heap, s.moved);
    mark(s.heap);
    store_next(s.grey, NULL);
    tn_handle_set(s.moved, NULL);
    tn_heap_collect(s.heap, TN_COLLECT_FULL);
    assert_int_equal(tn_handle_load(weak, 0, s.moved, &err), 0);
    assert_true(tn_handle_is_null(s.moved));
    begin_cycle(s.heap);
    mark(s.heap);
    tn_heap_trim(s.heap);
    begin_cycle(s.heap);
    end_cycle(s.heap);
    assert_int_equal(value_of(s.black), 1);
    tn_heap_destroy(s.heap);
}

/* ---- threads, forks ---- */

/* A list whose nodes change places all the time; a lost or a doubled one changes the sum. */
static void churn(struct tn_heap *heap, uint64_t rounds)
{
    enum { SLOTS = 512 };
    struct tn_handle *table = make(heap, &table_type, SLOTS), *a = copy_of(heap, NULL), *b = copy_of(heap, NULL);
    uint64_t random = 1, sum = 0;
    for (uint64_t i = 0; i < SLOTS; i++) {
        struct tn_handle *node = make_node(heap, &node_type, i, NULL);
        assert_int_equal(tn_handle_store(table, sizeof(struct table) + 8 * i, node, &err), 0);
        tn_handle_free(node);
    }
    for (uint64_t i = 0; i < rounds; i++) {
        if (i % 500 == 0)
            pause_now(heap);
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t x = sizeof(struct table) + (random >> 33) % SLOTS * 8,
                 y = sizeof(struct table) + (random >> 45) % SLOTS * 8;
        assert_int_equal(tn_handle_load(table, x, a, &err), 0);
        assert_int_equal(tn_handle_load(table, y, b, &err), 0);
        assert_int_equal(tn_handle_store(table, x, b, &err), 0);
        assert_int_equal(tn_handle_store(table, y, a, &err), 0);
        if (i % 4 == 0) { /* the same node anew, with the old one behind it for a while */
            struct tn_handle *node = make_node(heap, &node_type, value_of(a), a);
            assert_int_equal(tn_handle_store(table, y, node, &err), 0);
            store_next(node, NULL);
            tn_handle_free(node);
        }
    }
    for (uint64_t i = 0; i < SLOTS; i++) {
        assert_int_equal(tn_handle_load(table, sizeof(struct table) + 8 * i, a, &err), 0);
        sum += value_of(a);
    }
    assert_int_equal(sum, SLOTS * (SLOTS - 1) / 2);
    tn_handle_free(a);
    tn_handle_free(b);
    tn_handle_free(table);
}

static void *run_thread(void *heap)
{
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    churn(heap, 60000);
    tn_heap_detach();
    return NULL;
}

static void threads_beside_the_marker(void **state)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    (void)state;
    struct tn_heap *heap = open_heap(2, TN_HEAP_VERIFY, 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_thread, heap), 0);
    churn(heap, 20000);
    struct tn_gc_anchor *outside = tn__outside_begin();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    tn__outside_end(outside);
    assert_true(seen.concurrent > 0);
    tn_heap_destroy(heap);
}

static void a_fork_while_marking(void **state)
{
    (void)state;
    struct tn_heap *heap = open_heap(2, TN_HEAP_VERIFY, 0);
    for (int i = 0; i < 6; i++) {
        churn(heap, 3000);
        begin_cycle(heap);
        pid_t child = fork();
        if (!child) {
            alarm(60);
            uint64_t before = seen.concurrent;
            churn(heap, 20000);
            tn_heap_collect(heap, TN_COLLECT_FULL);
            churn(heap, 3000);
            bool good = seen.concurrent > before;
            tn_heap_destroy(heap);
            _exit(!good);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    churn(heap, 20000);
    tn_heap_destroy(heap);
}

/* The thread cannot be started, or there is no memory for what marking needs at some time: all the same. */
static void without_memory(void **state)
{
    char plan[16];
    (void)state;
    for (int n = 1; n < 40; n++) {
        struct tn_heap *heap = open_heap(1 + (uint64_t)n % 2, TN_HEAP_VERIFY, 0);
        struct tn_handle *list = copy_of(heap, NULL);
        for (uint64_t i = 0; i < 3000; i++) {
            struct tn_handle *node = make_node(heap, &node_type, i, list);
            tn_handle_set(list, node);
            tn_handle_free(node);
        }
        begin_cycle(heap);
        snprintf(plan, sizeof plan, n % 3 ? "a%d" : "F*", n / 3 + 1);
        assert_int_equal(tn__os_set_faults(plan), 0);
        for (int i = 0; i < 3; i++)
            pause_now(heap);
        assert_int_equal(tn__os_set_faults(NULL), 0);
        uint64_t count = 0;
        for (struct tn_handle *at = copy_of(heap, list); !tn_handle_is_null(at); step(at))
            count++;
        assert_int_equal(count, 3000);
        tn_heap_destroy(heap);
    }
}

/* Each with the heap verified, and without, because then fewer stores are logged. */
static uint64_t verified = TN_HEAP_VERIFY, bare = 0;

#define VERIFIED(test)                                                                                                 \
    {#test, test, NULL, NULL, &verified},                                                                              \
    {                                                                                                                  \
#test ", not verified", test, NULL, NULL, &bare                                                                \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        VERIFIED(hidden_in_a_handle),
        VERIFIED(hidden_in_a_marked_object),
        VERIFIED(hidden_in_a_new_object),
        VERIFIED(hidden_among_many_stores),
        cmocka_unit_test(hidden_in_an_object_from_a_hole),
        VERIFIED(hidden_in_a_promoted_object),
        VERIFIED(hidden_in_an_array),
        VERIFIED(hidden_in_a_pinned_object),
        VERIFIED(loaded_from_a_weak_reference),
        VERIFIED(weak_references_are_cleared),
        VERIFIED(ephemerons_follow_their_keys),
        VERIFIED(finalizers_get_whole_objects),
        VERIFIED(every_kind_is_marked),
        cmocka_unit_test(memory_is_reclaimed),
        VERIFIED(full_collections_drop_a_cycle),
        cmocka_unit_test(threads_beside_the_marker),
        cmocka_unit_test(a_fork_while_marking),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
