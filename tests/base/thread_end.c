/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions that run when their thread ends, where the system has no room for them at first. */

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/os.h"
#include "base/thread.h"
#include "base/thread_end.h"

static int runs;

static bool ended(struct tn__thread_ends *owner, void *part, bool ran)
{
    (void)owner, (void)part, (void)ran;
    return false;
}

static struct tn__thread_ends owner = {.ended = ended};

static void run(void *argument)
{
    (void)argument;
    runs++;
}

static bool add(void)
{
    return tn__thread_end_add(&owner, NULL, run, NULL);
}

static void detach(bool last)
{
    (void)last;
    runs++;
}

static bool watch_end(void)
{
    return tn__thread_at_end(TN__END_QUIESCENCE, detach);
}

static const struct row {
    const char *name;
    bool (*add)(void);
    int runs; /* of one that was added */
} rows[] = {{"a destructor", add, 1}, {"detaching", watch_end, 2}};

/* All keys that the process can have. */
static size_t take_keys(pthread_key_t *keys, size_t most)
{
    size_t count = 0;
    while (count < most && !pthread_key_create(&keys[count], NULL))
        count++;
    return count;
}

static void *add_when_there_is_room(void *argument)
{
    const struct row *row = argument;
    pthread_key_t keys[2048];
    size_t count = take_keys(keys, TN_COUNT(keys));
    bool without = row->add();
    while (count)
        pthread_key_delete(keys[--count]);
    tn__os_set_faults("F a1");
    bool refused = row->add();
    tn__os_set_faults(NULL);
    return without || refused || !row->add() ? "wrong" : NULL;
}

/* What could not be registered is an error, not forgotten, and the next time may succeed. */
static void registering_fails_and_can_be_tried_again(void **state)
{
    pthread_t thread;
    void *wrong;
    runs = 0;
    assert_int_equal(pthread_create(&thread, NULL, add_when_there_is_room, *state), 0);
    assert_int_equal(pthread_join(thread, &wrong), 0);
    assert_null(wrong);
    assert_int_equal(runs, ((const struct row *)*state)->runs);
}

int main(void)
{
    struct CMUnitTest tests[TN_COUNT(rows)];
    for (size_t i = 0; i < TN_COUNT(rows); i++)
        tests[i] =
            (struct CMUnitTest){rows[i].name, registering_fails_and_can_be_tried_again, NULL, NULL, (void *)&rows[i]};
    return cmocka_run_group_tests_name("base/thread_end", tests, NULL, NULL);
}
