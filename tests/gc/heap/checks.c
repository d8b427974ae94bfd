/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Checking builds (with sanitizers) end a program whose collector has broken an invariant. */

#include "support.h"

#include "gc/generational/generational.h"

enum { LARGE = 100000 };

static void allocate_large(void **heap)
{
    make(*heap, &bytes_type, LARGE);
}

static void collect(void **heap)
{
    tn_heap_collect(*heap, TN_COLLECT_FULL);
}

/* Where the next large object goes, another one begins already. */
static void set_start_in_free_block(struct tn__generational *g)
{
    uint32_t block = g->first_free;
    while (g->blocks[block] != TN__BLOCK_FREE)
        block++;
    if (tn__gen_commit(g, (uint64_t)block << TN__BLOCK_SHIFT, TN__BLOCK))
        tn__set_bits(g, g->starts, tn__block_address(g, block) + TN__LINE, 1);
}

/* No phase leaves a part of an array. */
static void leave_part(struct tn__generational *g)
{
    static void *items[1];
    g->first.part = (struct tn__part){items, 1};
}

static const struct row {
    void (*do_break)(struct tn__generational *g);
    void (*use)(void **heap);
} rows[] = {{set_start_in_free_block, allocate_large}, {leave_part, collect}};
static size_t row;

static void use_broken(void **heap)
{
    rows[row].do_break(tn__generational_of(*heap));
    rows[row].use(heap);
}

static void broken_invariants_end_the_program(void **state)
{
    const struct tn_heap_options options = {
        .size = sizeof options, .limit = 64 << 20, .collector = &tn_collector_generational, .workers = 1};
    struct tn_heap *heap;
    (void)state;
#ifndef TN_CHECKING
    skip();
#endif
    assert_int_equal(tn_heap_create(&options, &heap, &err), 0);
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    for (row = 0; row < TN_COUNT(rows); row++) {
        assert_int_equal(in_child(rows[row].use, heap), 0);
        assert_int_not_equal(in_child(use_broken, heap), 0);
    }
    tn_heap_destroy(heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(broken_invariants_end_the_program)};
    return cmocka_run_group_tests_name("checks", tests, NULL, NULL);
}
