/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The allocator of address ranges, checked against a simple model: a map of granules. */

#include "support.h"

#include <stdlib.h>

#include "base/os.h"
#include "link/ranges.h"

enum { REGION = 1 << 20, GRANULES = REGION / TN__RANGE_GRANULE, LIVE = 300 };

static const uint64_t BASE = 0x7000000;
static uint8_t write_base[2 * REGION]; /* never accessed: only its addresses matter */

static struct {
    bool taken[GRANULES];
    struct tn__range *live[LIVE];
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
    struct tn__range *range = tn__ranges_take(ranges, size, alignment, &no_memory);
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
    const struct tn__range *range = model.live[slot];
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
        struct tn__ranges ranges = {0};
        memset(&model, 0, sizeof model);
        seed = round;
        /* Adjacent regions must not merge: they may be written at different addresses. */
        assert_true(tn__ranges_add(&ranges, BASE, REGION / 4, write_base));
        assert_true(tn__ranges_add(&ranges, BASE + REGION / 4, REGION - REGION / 4, write_base + REGION / 4));
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
        struct tn__range *large = tn__ranges_take(&ranges, REGION - REGION / 4, 1, &no_memory);
        struct tn__range *small = tn__ranges_take(&ranges, REGION / 4, 1, &no_memory);
        assert_non_null(large);
        assert_non_null(small);
        assert_null(tn__ranges_take(&ranges, 1, 1, &no_memory));
        assert_false(no_memory);
        tn__ranges_close(&ranges);
    }
}

static void what_was_never_handed_out_is_fresh(void **state)
{
    (void)state;
    struct tn__ranges ranges = {0};
    bool no_memory;
    assert_true(tn__ranges_add(&ranges, BASE, REGION, write_base));
    struct tn__range *a = tn__ranges_take(&ranges, 1024, 16, &no_memory);
    struct tn__range *b = tn__ranges_take(&ranges, 1024, 16, &no_memory);
    assert_true(a->fresh && b->fresh);
    tn__ranges_give(&ranges, a);
    a = tn__ranges_take(&ranges, 1024, 16, &no_memory);
    struct tn__range *c = tn__ranges_take(&ranges, 1024, 16, &no_memory);
    assert_false(a->fresh);
    assert_true(c->fresh);
    tn__ranges_give(&ranges, c);
    tn__ranges_give(&ranges, b);
    tn__ranges_give(&ranges, a);
    struct tn__range *all = tn__ranges_take(&ranges, REGION, 1, &no_memory);
    assert_non_null(all);
    assert_false(all->fresh);
    tn__ranges_close(&ranges);
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
        struct tn__ranges ranges = {0};
        bool no_memory;
        assert_true(tn__ranges_add(&ranges, BASE, REGION, write_base));
        assert_int_equal(tn__ranges_take(&ranges, rows[i].size, rows[i].alignment, &no_memory) != NULL, rows[i].there);
        assert_false(no_memory);
        tn__ranges_close(&ranges);
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
        struct tn__ranges ranges = {0};
        bool no_memory;
        assert_true(tn__ranges_add(&ranges, BASE + 16, 4080, write_base));
        assert_int_equal(tn__ranges_take(&ranges, rows[i].size, rows[i].alignment, &no_memory) != NULL, rows[i].there);
        tn__ranges_close(&ranges);
    }
}

static void a_new_era_hands_out_nothing_old(void **state)
{
    (void)state;
    struct tn__ranges ranges = {0};
    bool no_memory;
    assert_true(tn__ranges_add(&ranges, BASE, REGION, write_base));
    struct tn__range *before = tn__ranges_take(&ranges, 100, 16, &no_memory);
    tn__ranges_new_era(&ranges);
    assert_null(tn__ranges_take(&ranges, 16, 16, &no_memory));
    assert_true(tn__ranges_add(&ranges, BASE + REGION, REGION, write_base));
    tn__ranges_give(&ranges, before);
    assert_int_equal(ranges.used, 0);
    for (int i = 0; i < 16; i++) {
        const struct tn__range *range = tn__ranges_take(&ranges, REGION / 16, 16, &no_memory);
        assert_non_null(range);
        assert_true(range->address >= BASE + REGION);
    }
    assert_null(tn__ranges_take(&ranges, 16, 16, &no_memory));
    tn__ranges_close(&ranges);
}

static void running_out_of_memory_cuts_nothing(void **state)
{
    (void)state;
    for (int n = 1; n <= 3; n++) {
        struct tn__ranges ranges = {0};
        char plan[8];
        snprintf(plan, sizeof plan, "a%d", n);
        assert_int_equal(tn__os_set_faults(plan), 0);
        bool added = tn__ranges_add(&ranges, BASE, REGION, write_base), no_memory = false;
        assert_int_equal(added, n > 1);
        if (!added)
            assert_true(tn__ranges_add(&ranges, BASE, REGION, write_base));
        int failures = 0;
        for (int i = 0; i < 200; i++) {
            failures += !tn__ranges_take(&ranges, 100, 256, &no_memory);
            assert_true(!no_memory || failures);
        }
        tn__os_set_faults(NULL);
        assert_int_equal(failures, n > 1);
        assert_int_equal(ranges.used, (200 - failures) * 112);
        tn__ranges_close(&ranges);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_operations_agree_with_the_model),
        cmocka_unit_test(what_was_never_handed_out_is_fresh),
        cmocka_unit_test(limits),
        cmocka_unit_test(a_region_of_an_odd_size_is_used_up),
        cmocka_unit_test(a_new_era_hands_out_nothing_old),
        cmocka_unit_test(running_out_of_memory_cuts_nothing),
    };
    return cmocka_run_group_tests_name("link/ranges", tests, NULL, NULL);
}
