/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Arenas and growing arrays, also when memory is out. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "base/os.h"

static bool aligned(const void *p)
{
    return (uintptr_t)p % 16 == 0;
}

static void blocks_are_aligned_and_do_not_overlap(void **state)
{
    (void)state;
    enum { BLOCKS = 2000 };
    static struct {
        unsigned char *at;
        size_t size;
    } blocks[BLOCKS];
    struct tn__arena arena = {0};
    srand(1);
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i].size = (size_t)rand() % (i % 100 ? 300 : 400000);
        blocks[i].at = tn__arena_alloc(&arena, blocks[i].size);
        assert_non_null(blocks[i].at);
        assert_true(aligned(blocks[i].at));
        memset(blocks[i].at, (int)(i & 0xff), blocks[i].size);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        for (size_t k = 0; k < blocks[i].size; k++)
            assert_int_equal(blocks[i].at[k], i & 0xff);
    tn__arena_free(&arena);
    assert_null(arena.chunks);
}

static void an_empty_block_is_no_failure(void **state)
{
    (void)state;
    struct tn__arena arena = {0};
    assert_non_null(tn__arena_alloc(&arena, 0));
    assert_non_null(tn__arena_array(&arena, 0, 8));
    assert_non_null(tn__arena_array(&arena, 8, 0));
    assert_string_equal(tn__arena_text(&arena, "", 0), "");
    tn__arena_free(&arena);
    tn__arena_free(&arena); /* freeing twice is harmless */
}

static void arrays_are_zeroed_and_texts_terminated(void **state)
{
    (void)state;
    struct tn__arena arena = {0};
    memset(tn__arena_alloc(&arena, 100), 0xff, 100);
    unsigned char *array = tn__arena_array(&arena, 10, 7);
    for (size_t i = 0; i < 70; i++)
        assert_int_equal(array[i], 0);
    assert_string_equal(tn__arena_text(&arena, "abcdef", 3), "abc");
    tn__arena_free(&arena);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    struct tn__arena arena = {0};
    static const struct {
        size_t count, size;
    } rows[] = {
        {SIZE_MAX, 1}, {SIZE_MAX - 15, 1}, {SIZE_MAX / 2 + 1, 2}, {SIZE_MAX, SIZE_MAX}, {1ULL << 33, 1ULL << 31}};
    for (size_t i = 0; i < TN_COUNT(rows); i++)
        assert_null(tn__arena_array(&arena, rows[i].count, rows[i].size));
    assert_null(tn__arena_text(&arena, "", SIZE_MAX));
    assert_non_null(tn__arena_alloc(&arena, 16)); /* still usable */
    tn__arena_free(&arena);
}

static void an_array_grows_and_keeps_its_contents(void **state)
{
    (void)state;
    uint32_t *array = NULL;
    size_t capacity = 0;
    assert_true(tn__grow(NULL, &array, &capacity, 0, sizeof *array));
    assert_null(array);
    for (uint32_t i = 0; i < 10000; i++) {
        assert_true(tn__grow(NULL, &array, &capacity, i + 1, sizeof *array));
        assert_true(capacity > i);
        array[i] = i;
    }
    for (uint32_t i = 0; i < 10000; i++)
        assert_int_equal(array[i], i);
    const uint32_t *before = array;
    assert_false(tn__grow(NULL, &array, &capacity, SIZE_MAX / 2, sizeof *array));
    assert_false(tn__grow(NULL, &array, &capacity, SIZE_MAX, sizeof *array));
    assert_ptr_equal(array, before);
    tn__free(NULL, array);
}

static void running_out_of_memory_leaves_things_as_they_were(void **state)
{
    (void)state;
    struct tn__arena arena = {0};
    char *first = tn__arena_text(&arena, "first", 5);
    assert_int_equal(tn__os_set_faults("a1"), 0);
    assert_null(tn__arena_alloc(&arena, 100000));
    assert_non_null(tn__arena_alloc(&arena, 100000)); /* the plan fails once */
    assert_string_equal(first, "first");

    uint64_t *array = NULL;
    size_t capacity = 0;
    assert_true(tn__grow(NULL, &array, &capacity, 8, sizeof *array));
    array[7] = 7;
    tn__os_set_faults("a1");
    assert_false(tn__grow(NULL, &array, &capacity, capacity + 1, sizeof *array));
    assert_int_equal(array[7], 7);
    tn__os_set_faults("a2");
    void *block = tn__alloc(NULL, 1);
    assert_non_null(block);
    assert_null(tn__alloc_zeroed(NULL, 1, 1));
    tn__os_set_faults(NULL);
    tn__free(NULL, block);
    tn__free(NULL, array);
    tn__arena_free(&arena);
}

static void little_helpers(void **state)
{
    (void)state;
    static const struct {
        uint64_t offset, length, size;
        bool inside;
    } rows[] = {
        {0, 0, 0, true},           {0, 1, 0, false},          {0, 8, 8, true},
        {1, 8, 8, false},          {8, 0, 8, true},           {9, 0, 8, false},
        {UINT64_MAX, 1, 8, false}, {1, UINT64_MAX, 8, false}, {UINT64_MAX, UINT64_MAX, UINT64_MAX, false},
    };
    for (size_t i = 0; i < TN_COUNT(rows); i++)
        assert_int_equal(tn__inside(rows[i].offset, rows[i].length, rows[i].size), rows[i].inside);
    assert_int_equal(tn__align_up(0, 16), 0);
    assert_int_equal(tn__align_up(16, 16), 16);
    assert_int_equal(tn__align_up(17, 16), 32);
    static const uint8_t bytes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
    assert_int_equal(tn__get16(bytes + 1), 0x0201);
    assert_int_equal(tn__get32(bytes + 1), 0x04030201);
    assert_true(tn__get64(bytes + 1) == 0x0807060504030201);
}

/* ---- pages that come at once ---- */

enum { PAGES = 100 };

/* How many pages of the block, which may begin and end within one, are in memory. */
static size_t resident(const void *block, size_t size)
{
    unsigned char there[PAGES + 1];
    uintptr_t page = tn__os_page_size(), start = (uintptr_t)block & -page,
              end = ((uintptr_t)block + size - 1) | (page - 1);
    size_t count = 0, pages = (end + 1 - start) / page;
    assert_true(pages <= sizeof there);
    assert_int_equal(mincore((void *)start, end + 1 - start, there), 0);
    for (size_t i = 0; i < pages; i++)
        count += there[i] & 1;
    return count;
}

static void pages_of_a_block_come_at_once(void **state)
{
    (void)state;
    size_t page = tn__os_page_size();
    char *memory = mmap(NULL, 20 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    tn__os_prefault_block(memory + page + 100, 5 * page); /* in six pages */
    if (!resident(memory + page, 6 * page))
        skip(); /* Linux before 5.14 */
    assert_int_equal(resident(memory + page, 6 * page), 6);
    assert_int_equal(resident(memory, 20 * page), 6);
    tn__os_prefault_block(memory + 6 * page, 5 * page); /* to the end of one */
    assert_int_equal(resident(memory, 20 * page), 10);
    memory[19 * page] = 1;
    tn__os_prefault_block(memory + 13 * page, 7 * page); /* the last page is there: so were the others, once */
    assert_int_equal(resident(memory, 20 * page), 11);
    munmap(memory, 20 * page);
}

static void *map_fresh(void *unused, size_t size)
{
    (void)unused;
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? NULL : block;
}

static void keep(void *unused, void *block)
{
    (void)unused, (void)block;
}

static void large_blocks_come_at_once(void **state)
{
    (void)state;
    static const struct tn_allocator fresh = {.allocate = map_fresh, .release = keep};
    struct tn__arena arena = {.from = &fresh};
    enum { SIZE = 200 << 10 };
    const void *some = tn__arena_alloc(&arena, SIZE), *whole = tn__arena_alloc_filled(&arena, SIZE);
    assert_true(some && whole);
    assert_int_equal(resident(some, SIZE), 1); /* the one with the chunk's header */
    size_t count = resident(whole, SIZE);
    if (count < 2)
        skip();
    assert_int_equal(count, SIZE / tn__os_page_size() + 1);
    tn__arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_and_do_not_overlap),
        cmocka_unit_test(an_empty_block_is_no_failure),
        cmocka_unit_test(arrays_are_zeroed_and_texts_terminated),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(an_array_grows_and_keeps_its_contents),
        cmocka_unit_test(running_out_of_memory_leaves_things_as_they_were),
        cmocka_unit_test(little_helpers),
        cmocka_unit_test(pages_of_a_block_come_at_once),
        cmocka_unit_test(large_blocks_come_at_once),
    };
    return cmocka_run_group_tests_name("base/memory", tests, NULL, NULL);
}
