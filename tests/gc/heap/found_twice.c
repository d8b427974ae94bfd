/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Two workers of a full collection find the same object at the same time. Marking asks whether an object is marked and
 * then reads its header. Before the collection, the page with the header is made inaccessible: a worker that has found
 * the object unmarked faults, and waits in the handler until another worker faults too. Then both go on to mark it. */

#include "support.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ARRAYS = 6000, LARGE = 32 << 20, MOST_PAGE = 16 << 10 };

/* ---- the page ---- */

static uintptr_t page, page_size;
static uint32_t waiting;

static void await_other(int signal, siginfo_t *info, void *context)
{
    int saved = errno;
    (void)context;
    if ((uintptr_t)info->si_addr - page >= page_size) {
        struct sigaction usual = {.sa_handler = SIG_DFL};
        sigaction(signal, &usual, NULL); /* and the access faults again */
        return;
    }
    __atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&waiting, __ATOMIC_SEQ_CST) < 2)
        sched_yield();
    mprotect((void *)page, page_size, PROT_READ | PROT_WRITE);
    errno = saved;
}

static void collect_together(struct tn_heap *heap)
{
    struct sigaction action = {.sa_sigaction = await_other, .sa_flags = SA_SIGINFO}, before;
    waiting = 0;
    assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
    assert_int_equal(mprotect((void *)page, page_size, PROT_NONE), 0);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
    assert_true(waiting >= 2);
}

/* ---- objects ---- */

static uint32_t visits; /* of the object that is found twice */

static void visit_pair(void *object, tn_visit_slot *slot, void *context)
{
    if ((uintptr_t)object - page < page_size)
        __atomic_fetch_add(&visits, 1, __ATOMIC_RELAXED);
    slot(context, (void **)object);
}

static const struct tn_type pair_type = {.kind = TN_KIND_CUSTOM, .alignment = 8, .size = 16, .visit = visit_pair};

static void load_item(struct tn_handle *array, uint64_t index, struct tn_handle *into)
{
    assert_int_equal(tn_handle_load(array, 8 + 8 * index, into, &err), 0);
}

static void store_item(struct tn_handle *array, uint64_t index, struct tn_handle *item)
{
    assert_int_equal(tn_handle_store(array, 8 + 8 * index, item, &err), 0);
}

static uintptr_t address_of(struct tn_handle *object)
{
    void *address;
    assert_int_equal(tn_handle_pin(object, &address, &err), 0);
    tn_handle_unpin(object);
    return (uintptr_t)address;
}

/* `count` objects of the type, whose first words refer to nodes that nothing else refers to but `nodes`. */
static struct tn_handle *make_all(struct tn_heap *heap, const struct tn_type *type, uint64_t count,
                                  struct tn_handle *nodes)
{
    struct tn_handle *all = make(heap, &table_type, count);
    for (uint64_t i = 0; i < count; i++) {
        struct tn_handle *node = make_node(heap, &node_type, i, NULL), *object = make(heap, type, 0);
        assert_int_equal(tn_handle_store(object, 0, node, &err), 0);
        if (type->kind == TN_KIND_EPHEMERON)
            assert_int_equal(tn_handle_store(object, 8, node, &err), 0);
        store_item(nodes, i, node);
        store_item(all, i, object);
        tn_handle_free(object);
        tn_handle_free(node);
    }
    return all;
}

/* An object among `all` that has others of them before and after it in the whole of its page: in `into`. */
static void choose(struct tn_handle *all, uint64_t count, struct tn_handle *into)
{
    struct tn_handle *other = copy_of(tn_heap_current(), NULL);
    uint64_t each, others = 0;
    load_item(all, count / 2, into);
    load_item(all, count / 2 + 1, other);
    page = (address_of(into) - 8) & -page_size;
    each = address_of(other) > address_of(into) ? address_of(other) - address_of(into)
                                                : address_of(into) - address_of(other);
    for (uint64_t i = 0; i < count; i++) {
        load_item(all, i, other);
        others += address_of(other) - page < page_size;
    }
    tn_handle_free(other);
    assert_in_range(each, 24, 48); /* a node of its own follows one with a visitor */
    assert_in_range(others, page_size / each - 1, page_size / each + 1);
}

/* ---- tests ---- */

static const struct mode {
    const struct tn_type *type;
    uint32_t workers;
} modes[] = {{&tn_weak_type, 2}, {&tn_ephemeron_type, 2}, {&pair_type, 2},
             {&tn_weak_type, 4}, {&tn_ephemeron_type, 4}, {&pair_type, 4}};

/* Nothing of a list has been lost: the words of each object are null, as what they referred to is dead. */
static void check_cleared(const struct tn_type *type, struct tn_handle *object)
{
    uint64_t words[3];
    assert_int_equal(tn_handle_read(object, 0, words, type->size, &err), 0);
    for (uint64_t i = 0; i < type->size / 8; i++)
        assert_int_equal(words[i], 0);
}

/* Each array refers to an object of its own and to a common one, and is found by one worker, which finds the common one
 * after the other: so each worker's list has members when both enter the common one. The arrays are roots, more than
 * one worker's stack has room for. */
static void is_entered_once(void **state)
{
    const struct mode *mode = *state;
    const struct tn_heap_options options = {.size = sizeof options,
                                            .limit = 512 << 20,
                                            .minimum = 256 << 20,
                                            .collector = &tn_collector_generational,
                                            .workers = mode->workers};
    static struct tn_handle *arrays[ARRAYS];
    struct tn_heap *heap;
    page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (page_size > MOST_PAGE)
        skip();
    uint64_t count = 4 * page_size / 24;
    assert_int_equal(tn_heap_create(&options, &heap, &err), 0);
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    struct tn_handle *large = make(heap, &bytes_type, LARGE); /* so that several workers run */
    struct tn_handle *nodes = make(heap, &table_type, count), *own_nodes = make(heap, &table_type, ARRAYS);
    struct tn_handle *all = make_all(heap, mode->type, count, nodes);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    struct tn_handle *common = copy_of(heap, NULL), *item = copy_of(heap, NULL);
    choose(all, count, common);
    struct tn_handle *own = make_all(heap, mode->type, ARRAYS, own_nodes);
    for (int i = 0; i < ARRAYS; i++) {
        arrays[i] = make(heap, &table_type, 2);
        load_item(own, (uint64_t)i, item);
        store_item(arrays[i], 0, common);
        store_item(arrays[i], 1, item);
    }
    tn_heap_collect(heap, TN_COLLECT_FULL); /* now all are old, and remain where they are */
    struct tn_handle *const dropped[] = {nodes, own_nodes, all, own, common, item};
    for (size_t i = 0; i < TN_COUNT(dropped); i++)
        tn_handle_free(dropped[i]);
    visits = 0;
    collect_together(heap);
    assert_int_equal(visits, mode->type == &pair_type);
    item = copy_of(heap, NULL);
    for (int i = 0; i < ARRAYS && mode->type != &pair_type; i++)
        for (uint64_t k = 0; k < 2; k++) {
            load_item(arrays[i], k, item);
            check_cleared(mode->type, item);
        }
    tn_handle_free(large);
    tn_heap_destroy(heap);
}

int main(void)
{
    struct CMUnitTest tests[TN_COUNT(modes)];
    static const char *const names[TN_COUNT(modes)] = {
        "a weak reference, two",  "an ephemeron, two",  "an object with a visitor, two",
        "a weak reference, four", "an ephemeron, four", "an object with a visitor, four"};
    for (size_t i = 0; i < TN_COUNT(modes); i++)
        tests[i] = (struct CMUnitTest){names[i], is_entered_once, NULL, NULL, (void *)&modes[i]};
    return cmocka_run_group_tests_name("found_twice", tests, NULL, NULL);
}
