/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What many objects have registered to run at exit costs in proportion to their number, in whichever order they
 * register and go. The limits are far above what is needed; a search through all for each is far above the limits, each
 * time, while what other processes do to caches makes a single measurement too long. */

#include "support.h"

#include <stdlib.h>
#include <time.h>

enum { FEW = 3000, MANY = 8 * FEW };

static size_t nth(int order, size_t i, size_t count)
{
    if (order == 2) /* from both ends */
        return i % 2 ? count - 1 - i / 2 : i / 2;
    return order ? count - 1 - i : i;
}

/* ---- what the objects call ---- */

static int (*hows[MANY])(void *number);
static size_t how_count, ran_count, expected[MANY];

static void here_is(int (*how)(void *number))
{
    hows[how_count++] = how;
}

static void ran(void *number)
{
    assert_int_equal((size_t)number, expected[ran_count]);
    ran_count++;
}

/* ---- rows ---- */

enum how { REMOVED, GIVEN_UP, FORGOTTEN };

static const struct row {
    const char *name;
    enum how how;
    int registered, gone; /* orders */
} rows[] = {
    {"removed as registered", REMOVED, 0, 0},
    {"removed newest first", REMOVED, 0, 1},
    {"removed from both ends", REMOVED, 0, 2},
    {"registered newest first", REMOVED, 1, 0},
    {"registered from both ends", REMOVED, 2, 0},
    {"trackers destroyed oldest first", GIVEN_UP, 0, 0},
    {"trackers destroyed newest first", GIVEN_UP, 0, 1},
    {"trackers destroyed from both ends", GIVEN_UP, 2, 2},
    {"session destroyed", FORGOTTEN, 0, 0},
};

static double now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void leave(const struct row *row, struct fixture *f, struct tn_tracker **trackers, size_t count)
{
    struct tn_error err;
    for (size_t i = 0; i < count && row->how != FORGOTTEN; i++) {
        struct tn_tracker *tracker = trackers[nth(row->gone, i, count)];
        if (row->how == REMOVED)
            assert_int_equal(tn_tracker_remove(tracker, &err), 0);
        else
            tn_tracker_destroy(tracker);
    }
    if (row->how == GIVEN_UP)
        tn_run_finalizers(f->library);
    close_fixture(f);
}

/* Milliseconds for that many objects. */
static double cost(const struct row *row, size_t count)
{
    static struct tn_tracker *trackers[MANY];
    static size_t numbers[MANY];
    struct fixture f = open_fixture(NULL);
    struct bytes object = read_bytes(data_file("registers.o"));
    struct tn_error err;
    how_count = ran_count = 0;
    define(&f, "here_is", (const void *)(uintptr_t)here_is);
    define(&f, "ran", (const void *)(uintptr_t)ran);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(tn_tracker_create(f.library, &trackers[i], &err), 0);
        struct tn_input input = {
            .size = sizeof input, .name = "r.o", .bytes = object.at, .length = object.size, .owner = trackers[i]};
        assert_int_equal(tn_add_object(f.library, &input, &err), 0);
    }
    link_all(&f);
    assert_ok(tn_run_initializers(f.library, 0, NULL, NULL, &err), &err);
    assert_int_equal(how_count, count);
    double start = now();
    for (size_t i = 0; i < count; i++) {
        size_t which = nth(row->registered, i, count);
        assert_int_equal(hows[which]((void *)i), 0);
        numbers[which] = i;
    }
    for (size_t i = 0; i < count; i++)
        expected[i] = row->how == REMOVED ? numbers[nth(row->gone, i, count)] : count - 1 - i;
    leave(row, &f, trackers, count);
    assert_int_equal(ran_count, row->how == FORGOTTEN ? 0 : count);
    free(object.at);
    return now() - start;
}

static double limit_of(double few)
{
    return 20 + 24 * few;
}

static void it_grows_with_their_number(void **state)
{
    const struct row *row = *state;
    enum { TRIES = 5 };
    double few = cost(row, FEW), many = cost(row, MANY);
    for (int i = 1; i < TRIES && many >= limit_of(few); i++)
        many = cost(row, MANY);
    print_message("%s: %d: %.1f ms, %d: %.1f ms\n", row->name, FEW, few, MANY, many);
    assert_true(many < limit_of(few));
}

int main(void)
{
    return RUN_ROWS("exits", rows, it_grows_with_their_number);
}
