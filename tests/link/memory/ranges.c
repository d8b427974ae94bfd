/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The allocator of address ranges, checked against a simple model: a map of granules. */

#include "support.h"

#include <stdlib.h>

#include "base/os.h"
#include "link/memory/ranges.h"

enum { REGION = 1 << 20, GRANULES = REGION / TN__RANGE_GRANULE, LIVE = 300 };

static const uint64_t BASE = 0x7000000;
static uint8_t write_base[REGION]; /* never accessed: only its addresses matter */
static struct tn__range_pool pool;

static void open_region(struct tn__ranges *ranges, uint64_t address, size_t size)
{
    assert_true(tn__ranges_open(ranges, &pool, address, size, write_base));
}

static void close_pool(void)
{
    tn__arena_free(&pool.descriptors);
    memset(&pool, 0, sizeof pool);
}

static struct {
    bool taken[GRANULES];
    struct tn__mem_range *live[LIVE];
    struct {
        size_t first, count;
    } spans[LIVE];
    uint64_t used;
} model;

static uint64_t seed;

static size_t next_random(size_t below)
{
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return (size_t)(seed >> 33) % below;
}

/* Mostly small, like functions. */
static size_t random_size(void)
{
    return next_random(4) ? next_random(400) : next_random(40000);
}

static void take_one(struct tn__ranges *ranges, size_t slot)
{
    size_t size = random_size(), alignment = (size_t)1 << next_random(14);
    bool no_memory = true;
    struct tn__mem_range *range = tn__ranges_take(ranges, size, alignment, &no_memory);
    assert_false(no_memory);
    if (!range)
        return; /* fragmented; the check at the end shows that nothing is lost */
    assert_true(range->size >= size && range->size > 0);
    assert_true(range->address % alignment == 0 && range->address % TN__RANGE_GRANULE == 0);
    assert_true(range->address >= BASE && range->address + range->size <= BASE + REGION);
    assert_ptr_equal(range->write, write_base + (range->address - BASE));
    size_t first = (size_t)(range->address - BASE) / TN__RANGE_GRANULE, count = range->size / TN__RANGE_GRANULE;
    for (size_t i = 0; i < count; i++) {
        assert_false(model.taken[first + i]);
        model.taken[first + i] = true;
    }
    model.live[slot] = range;
    model.spans[slot].first = first;
    model.spans[slot].count = count;
    model.used += range->size;
}

static void give_one(struct tn__ranges *ranges, size_t slot)
{
    const struct tn__mem_range *range = model.live[slot];
    assert_int_equal((range->address - BASE) / TN__RANGE_GRANULE, model.spans[slot].first); /* it has not moved */
    memset(model.taken + model.spans[slot].first, 0, model.spans[slot].count);
    model.used -= range->size;
    tn__ranges_give(ranges, model.live[slot]);
    model.live[slot] = NULL;
}

static void random_operations_agree_with_the_model(void **state)
{
    (void)state;
    for (uint64_t round = 1; round <= 20; round++) {
        struct tn__ranges ranges;
        memset(&model, 0, sizeof model);
        seed = round;
        open_region(&ranges, BASE, REGION);
        for (int step = 0; step < 5000; step++) {
            size_t slot = next_random(LIVE);
            if (model.live[slot])
                give_one(&ranges, slot);
            else
                take_one(&ranges, slot);
            assert_int_equal(ranges.used, model.used);
        }
        for (size_t slot = 0; slot < LIVE; slot++)
            if (model.live[slot])
                give_one(&ranges, slot);
        assert_int_equal(ranges.used, 0);
        /* Everything has merged again. */
        bool no_memory;
        assert_non_null(tn__ranges_take(&ranges, REGION, 1, &no_memory));
        assert_null(tn__ranges_take(&ranges, 1, 1, &no_memory));
        assert_false(no_memory);
        close_pool();
    }
}

static void what_was_never_handed_out_is_fresh(void **state)
{
    (void)state;
    struct tn__ranges ranges;
    bool no_memory;
    open_region(&ranges, BASE, REGION);
    struct tn__mem_range *a = tn__ranges_take(&ranges, 1024, 16, &no_memory);
    struct tn__mem_range *b = tn__ranges_take(&ranges, 1024, 16, &no_memory);
    assert_true(a->fresh && b->fresh);
    tn__ranges_give(&ranges, a);
    a = tn__ranges_take(&ranges, 1024, 16, &no_memory);
    struct tn__mem_range *c = tn__ranges_take(&ranges, 1024, 16, &no_memory);
    assert_false(a->fresh);
    assert_true(c->fresh);
    tn__ranges_give(&ranges, c);
    tn__ranges_give(&ranges, b);
    tn__ranges_give(&ranges, a);
    struct tn__mem_range *all = tn__ranges_take(&ranges, REGION, 1, &no_memory);
    assert_non_null(all);
    assert_false(all->fresh);
    close_pool();
}

static void limits(void **state)
{
    (void)state;
    static const struct {
        size_t size, alignment;
        bool there;
    } rows[] = {
        {0, 1, true},
        {1, 1, true},
        {REGION, 1, true},
        {REGION, 16, true},
        {REGION + 1, 1, false},
        {SIZE_MAX, 1, false},
        {SIZE_MAX / 4, 1, false},
        {1, SIZE_MAX / 2 + 1, false},
        {1, REGION / 2, true},
        {REGION / 2, REGION / 2, true},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tn__ranges ranges;
        bool no_memory;
        open_region(&ranges, BASE, REGION);
        assert_int_equal(tn__ranges_take(&ranges, rows[i].size, rows[i].alignment, &no_memory) != NULL, rows[i].there);
        assert_false(no_memory);
        close_pool();
    }
}

static void a_region_of_an_odd_size_is_used_up(void **state)
{
    (void)state;
    static const struct {
        size_t size, alignment;
        bool there;
    } rows[] = {{4000, 16, true}, {4080, 16, true}, {4081, 16, false}, {4064, 32, true}, {4065, 32, false}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tn__ranges ranges;
        bool no_memory;
        open_region(&ranges, BASE + 16, 4080);
        assert_int_equal(tn__ranges_take(&ranges, rows[i].size, rows[i].alignment, &no_memory) != NULL, rows[i].there);
        close_pool();
    }
}

/* ---- abandoned regions ---- */

enum { PAGE = 4096, PAGES = REGION / PAGE };

/* Which pages have left the region. */
static bool gone[PAGES];

static void note_pages(const struct tn__pages *pages)
{
    assert_true(pages->address % PAGE == 0 && pages->size % PAGE == 0);
    size_t first = (size_t)(pages->address - BASE) / PAGE, count = pages->size / PAGE;
    if (!count)
        return;
    for (size_t i = first; i < first + count; i++) {
        assert_false(gone[i]);
        gone[i] = true;
    }
    assert_int_equal(pages->sides, (first && !gone[first - 1]) + (first + count < PAGES && !gone[first + count]));
}

/* Exactly the pages without a granule in use have left. */
static void check_gone(void)
{
    for (size_t page = 0; page < PAGES; page++) {
        bool used = false;
        for (size_t i = 0; i < PAGE / TN__RANGE_GRANULE; i++)
            used |= model.taken[page * (PAGE / TN__RANGE_GRANULE) + i];
        assert_int_equal(gone[page], !used);
    }
}

static void abandon(struct tn__ranges *ranges)
{
    struct tn__pages pages;
    memset(gone, 0, sizeof gone);
    while (tn__ranges_abandon(ranges, PAGE, &pages))
        note_pages(&pages);
}

static void give_abandoned(struct tn__ranges *ranges, size_t slot)
{
    memset(model.taken + model.spans[slot].first, 0, model.spans[slot].count);
    struct tn__pages pages = tn__ranges_give_abandoned(ranges, model.live[slot], PAGE);
    model.live[slot] = NULL;
    note_pages(&pages);
}

static void abandoned_pages_leave_as_soon_as_they_are_free(void **state)
{
    (void)state;
    for (uint64_t round = 1; round <= 100; round++) {
        struct tn__ranges ranges;
        bool no_memory;
        memset(&model, 0, sizeof model);
        seed = round;
        open_region(&ranges, BASE, REGION);
        for (size_t step = 0; step < 50 * (round % 10); step++) {
            size_t slot = next_random(LIVE);
            if (model.live[slot])
                give_one(&ranges, slot);
            else
                take_one(&ranges, slot);
        }
        abandon(&ranges);
        check_gone();
        assert_null(tn__ranges_take(&ranges, 16, 16, &no_memory));
        for (size_t i = 0; i < LIVE; i++) {
            size_t slot = (i * 7 + round) % LIVE;
            if (model.live[slot])
                give_abandoned(&ranges, slot);
            check_gone();
        }
        assert_int_equal(ranges.used, 0);
        /* Nothing but descriptors remains: another region needs no new ones. */
        tn__os_set_faults("a1");
        open_region(&ranges, BASE, REGION);
        tn__os_set_faults(NULL);
        close_pool();
    }
}

/* A page in the middle of free space needs one more descriptor, without which it stays, but not for ever. */
static void abandoned_pages_wait_when_memory_is_out(void **state)
{
    (void)state;
    struct tn__ranges ranges;
    bool no_memory;
    struct tn__mem_range *taken[3];
    struct tn__pages pages;
    open_region(&ranges, BASE, REGION);
    taken[0] = tn__ranges_take(&ranges, 16, 16, &no_memory);
    taken[1] = tn__ranges_take(&ranges, 3 * PAGE, 16, &no_memory);
    taken[2] = tn__ranges_take(&ranges, 16, 16, &no_memory);
    while (tn__ranges_abandon(&ranges, PAGE, &pages))
        ;
    while (pool.spare)
        pool.spare = pool.spare->next;
    pool.descriptors.at = pool.descriptors.end;
    tn__os_set_faults("a1");
    pages = tn__ranges_give_abandoned(&ranges, taken[1], PAGE);
    tn__os_set_faults(NULL);
    assert_int_equal(pages.size, 0);
    pages = tn__ranges_give_abandoned(&ranges, taken[2], PAGE);
    assert_int_equal(pages.address, BASE + PAGE);
    assert_int_equal(pages.size, 3 * PAGE);
    assert_int_equal(pages.sides, 1);
    pages = tn__ranges_give_abandoned(&ranges, taken[0], PAGE);
    assert_int_equal(pages.address, BASE);
    assert_int_equal(pages.size, PAGE);
    assert_int_equal(pages.sides, 0);
    assert_int_equal(ranges.used, 0);
    close_pool();
}

static void running_out_of_memory_cuts_nothing(void **state)
{
    (void)state;
    for (int n = 1; n <= 3; n++) {
        struct tn__ranges ranges;
        char plan[8];
        snprintf(plan, sizeof plan, "a%d", n);
        assert_int_equal(tn__os_set_faults(plan), 0);
        bool added = tn__ranges_open(&ranges, &pool, BASE, REGION, write_base), no_memory = false;
        assert_int_equal(added, n > 1);
        if (!added)
            open_region(&ranges, BASE, REGION);
        int failures = 0;
        for (int i = 0; i < 200; i++) {
            failures += !tn__ranges_take(&ranges, 100, 256, &no_memory);
            assert_true(!no_memory || failures);
        }
        tn__os_set_faults(NULL);
        assert_int_equal(failures, n > 1);
        assert_int_equal(ranges.used, (200 - failures) * 112);
        close_pool();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations_agree_with_the_model),
        cmocka_unit_test(what_was_never_handed_out_is_fresh),
        cmocka_unit_test(limits),
        cmocka_unit_test(a_region_of_an_odd_size_is_used_up),
        cmocka_unit_test(abandoned_pages_leave_as_soon_as_they_are_free),
        cmocka_unit_test(abandoned_pages_wait_when_memory_is_out),
        cmocka_unit_test(running_out_of_memory_cuts_nothing),
    };
    return cmocka_run_group_tests_name("link/ranges", tests, NULL, NULL);
}
