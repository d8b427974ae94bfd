/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How an image is divided into shards. */

#include "codegen/image/image.h"
#include "support.h"

enum { MOST = 2000 };

static size_t plan(const uint64_t *weights, size_t count, size_t wanted, size_t *shard_of)
{
    size_t shards = tn__image_plan(weights, count, wanted, shard_of);
    for (size_t i = 0; i < count; i++)
        assert_in_range(shard_of[i], 0, shards - 1);
    return shards;
}

/* The heaviest goes first, each to the lightest shard, but part 0 into shard 0. */
static void heavy_parts_go_first(void **state)
{
    static const uint64_t weights[] = {1, 10, 70, 30, 20, 50, 0};
    static const size_t in_two[] = {0, 0, 1, 0, 1, 0, 1}, in_three[] = {0, 2, 1, 0, 0, 2, 0};
    size_t shard_of[7];
    (void)state;
    assert_int_equal(plan(weights, 7, 2, shard_of), 2);
    assert_memory_equal(shard_of, in_two, sizeof in_two);
    assert_int_equal(plan(weights, 7, 3, shard_of), 3);
    assert_memory_equal(shard_of, in_three, sizeof in_three);
}

/* One more for every 30,000, at most 64; as many as are wanted, but no more than there are parts. */
static void the_weight_decides(void **state)
{
    static const struct {
        size_t parts, weight, wanted, shards;
    } rows[] = {
        {1, 1000000, 0, 1},  {MOST, 14, 0, 1}, {MOST, 15, 0, 2}, {MOST, 29, 0, 2},   {MOST, 945, 0, 64},
        {MOST, 5000, 0, 64}, {MOST, 1, 7, 7},  {3, 1, 7, 3},     {MOST, 5000, 1, 1}, {MOST, 1, 1024, 1024},
    };
    static uint64_t weights[MOST];
    static size_t shard_of[MOST];
    (void)state;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        for (size_t i = 0; i < MOST; i++)
            weights[i] = rows[row].weight;
        assert_int_equal(plan(weights, rows[row].parts, rows[row].wanted, shard_of), rows[row].shards);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heavy_parts_go_first),
        cmocka_unit_test(the_weight_decides),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
