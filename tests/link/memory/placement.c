/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Places for windows: what is known to be taken is not tried, and what is found is within reach and free. */

#include <errno.h>

#include "support.h"
#include "link/memory/placement.h"

/* A program as static ones are: at 4 MiB, before which there is no room. */
static const uint64_t START = 4 << 20, END = 5 << 20, MEGABYTE = 1 << 20;
static const size_t WINDOW = 1 << 30;

static bool overlaps(uint64_t at, size_t size, uint64_t byte)
{
    return byte - at < size;
}

static void between_program_and_heap_nothing_is_tried(void **state)
{
    (void)state;
    uint64_t heap = 0, address = 0, heap_end = 1100 * MEGABYTE;
    assert_int_equal(tn__os_reserve(heap_end - MEGABYTE, MEGABYTE, true, &heap), 0);
    for (uint64_t bits = 1; bits; bits <<= 1) {
        /* Neither before nor behind the heap is 1 GiB within reach: the system is not asked once. */
        tn__os_set_faults("F*");
        assert_int_equal(tn__place_near(START, END, heap_end, WINDOW, bits, &address), EEXIST);
        tn__os_set_faults(NULL);
        /* A smaller window is found at the first try or two: only the heap itself is in the way. */
        tn__os_set_faults(". . F*");
        assert_int_equal(tn__place_near(START, END, heap_end, WINDOW / 4, bits, &address), 0);
        tn__os_set_faults(NULL);
        assert_false(overlaps(address, WINDOW / 4, heap_end - 1));
        assert_true(address + WINDOW / 4 - START < UINT64_C(1) << 31);
        tn__os_release(address, WINDOW / 4);
    }
    tn__os_release(heap, MEGABYTE);
}

static void an_unknown_heap_keeps_nothing_away(void **state)
{
    (void)state;
    uint64_t address;
    tn__os_set_faults(". F*");
    assert_int_equal(tn__place_near(START, END, 0, WINDOW / 4, 7, &address), 0);
    tn__os_set_faults(NULL);
    tn__os_release(address, WINDOW / 4);
}

static void low_places_avoid_the_heap(void **state)
{
    (void)state;
    uint64_t address, heap_end = UINT64_C(1) << 30; /* leaves two places of nearly 1 GiB */
    for (uint64_t bits = 1; bits; bits <<= 1) {
        assert_int_equal(tn__place_low(heap_end, WINDOW / 2, bits, &address), 0);
        assert_false(overlaps(address, WINDOW / 2, heap_end - 1));
        tn__os_release(address, WINDOW / 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(between_program_and_heap_nothing_is_tried),
        cmocka_unit_test(an_unknown_heap_keeps_nothing_away),
        cmocka_unit_test(low_places_avoid_the_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
