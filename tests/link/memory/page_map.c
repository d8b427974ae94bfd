/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The map of a window's pages, checked against an array. */

#include "support.h"

#include "base/os.h"
#include "link/memory/page_map.h"

enum { PAGE = 4096, MOST = 1000 };

static const uint64_t BASE = 0x7000000;
static bool taken[MOST];
static uint64_t seed;

static size_t next_random(size_t below)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (size_t)(seed >> 33) % below;
}

/* The first `count` free pages in [at, pages), or `pages`. */
static size_t find(size_t at, size_t pages, size_t count)
{
    for (; at + count <= pages; at++) {
        size_t n = 0;
        while (n < count && !taken[at + n])
            n++;
        if (n == count)
            return at;
    }
    return pages;
}

static void take_some(struct tn__page_map *map, size_t pages)
{
    size_t count = 1 + next_random(next_random(4) ? 10 : 200), near = next_random(pages + 1), wanted;
    uint64_t address;
    bool no_memory;
    wanted = find(near, pages, count);
    wanted = wanted == pages ? find(0, pages, count) : wanted;
    bool took = tn__page_map_take(map, NULL, count * PAGE, BASE + near * PAGE, &address, &no_memory);
    assert_false(no_memory);
    assert_int_equal(took, wanted != pages);
    if (!took)
        return;
    assert_int_equal(address, BASE + wanted * PAGE);
    memset(taken + wanted, true, count);
}

/* Parts of what was taken, and of several pieces at once. */
static void give_some(struct tn__page_map *map, size_t pages)
{
    size_t at = next_random(pages), count = 0, most = 1 + next_random(100);
    while (at + count < pages && taken[at + count] && count < most)
        count++;
    if (!count)
        return;
    tn__page_map_give(map, BASE + at * PAGE, count * PAGE);
    memset(taken + at, false, count);
}

static void random_operations_agree_with_the_model(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 3, 63, 64, 65, 128, 500, MOST};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct tn__page_map map;
        memset(taken, 0, sizeof taken);
        seed = i;
        tn__page_map_open(&map, BASE, sizes[i] * PAGE, PAGE);
        for (int step = 0; step < 20000; step++)
            if (next_random(2))
                take_some(&map, sizes[i]);
            else
                give_some(&map, sizes[i]);
        tn__page_map_close(&map, NULL);
    }
}

static void tiny_pages_are_taken_together(void **state)
{
    (void)state;
    struct tn__page_map map;
    uint64_t address;
    bool no_memory;
    tn__page_map_open(&map, BASE, (size_t)1 << 30, 1);
    assert_int_equal(tn__page_map_round(&map, 1), PAGE);
    for (uint64_t i = 0; i < 1000; i++) {
        assert_true(tn__page_map_take(&map, NULL, PAGE, BASE, &address, &no_memory));
        assert_int_equal(address, BASE + i * PAGE);
    }
    assert_false(tn__page_map_take(&map, NULL, (size_t)1 << 30, BASE, &address, &no_memory));
    tn__page_map_close(&map, NULL);
    tn__page_map_open(&map, BASE, 100, 1);
    assert_int_equal(tn__page_map_round(&map, 7), 7);
    tn__page_map_close(&map, NULL);
}

static void memory_may_be_out(void **state)
{
    (void)state;
    struct tn__page_map map;
    uint64_t address;
    bool no_memory;
    tn__page_map_open(&map, BASE, 100 * PAGE, PAGE);
    assert_int_equal(tn__os_set_faults("a1"), 0);
    assert_false(tn__page_map_take(&map, NULL, PAGE, BASE, &address, &no_memory));
    assert_true(no_memory);
    tn__os_set_faults(NULL);
    assert_true(tn__page_map_take(&map, NULL, PAGE, BASE, &address, &no_memory));
    assert_false(no_memory);
    tn__page_map_close(&map, NULL);
}

enum { PART = 1 << 14, WINDOW = 1 << 18 }; /* pages of a part of the map, and of a window */

static uint64_t take_at(struct tn__page_map *map, size_t page, size_t count)
{
    uint64_t address;
    bool no_memory;
    if (tn__page_map_take(map, NULL, count * PAGE, BASE + page * PAGE, &address, &no_memory))
        return (address - BASE) / PAGE;
    assert_false(no_memory);
    return UINT64_MAX;
}

/* The bits of a window are in parts, which are allocated one by one. */
static void pieces_may_lie_in_several_parts(void **state)
{
    (void)state;
    struct tn__page_map map;
    tn__page_map_open(&map, BASE, (size_t)WINDOW * PAGE, PAGE);
    assert_int_equal(take_at(&map, PART - 3, 2 * PART + 5), PART - 3); /* the ends of two, all of one between */
    assert_int_equal(take_at(&map, PART - 4, 1), PART - 4);
    assert_int_equal(take_at(&map, PART - 4, 1), 3 * PART + 2);
    assert_int_equal(take_at(&map, PART - 3, WINDOW - 3 * PART - 3), 3 * PART + 3); /* to the end */
    assert_int_equal(take_at(&map, PART, PART - 3), UINT64_MAX);                    /* one more than there are before */
    assert_int_equal(take_at(&map, PART, PART - 4), 0);
    assert_int_equal(take_at(&map, 0, 1), UINT64_MAX);
    tn__page_map_give(&map, BASE + (2 * PART - 1) * PAGE, 2 * PAGE);
    assert_int_equal(take_at(&map, 0, 3), UINT64_MAX);
    assert_int_equal(take_at(&map, 0, 2), 2 * PART - 1);
    tn__page_map_close(&map, NULL);
}

/* A piece that lacks the bits of one of its parts is not taken. */
static void memory_may_be_out_for_one_part(void **state)
{
    (void)state;
    struct tn__page_map map;
    uint64_t address;
    bool no_memory;
    tn__page_map_open(&map, BASE, (size_t)WINDOW * PAGE, PAGE);
    assert_int_equal(tn__os_set_faults("a3"), 0);
    assert_false(tn__page_map_take(&map, NULL, 2 * PART * PAGE, BASE + 5 * PAGE, &address, &no_memory));
    assert_true(no_memory);
    tn__os_set_faults(NULL);
    assert_int_equal(take_at(&map, 5, 2 * PART), 5);
    tn__page_map_close(&map, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations_agree_with_the_model), cmocka_unit_test(tiny_pages_are_taken_together),
        cmocka_unit_test(pieces_may_lie_in_several_parts),        cmocka_unit_test(memory_may_be_out),
        cmocka_unit_test(memory_may_be_out_for_one_part),
    };
    return cmocka_run_group_tests_name("link/page_map", tests, NULL, NULL);
}
