/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Caches used by several threads, and by processes that are killed while they write. */

#include <pthread.h>

#include "writers.h"

static void threads(void **state)
{
    (void)state;
    struct world w;
    create(&w);
    pthread_t thread[4];
    for (size_t i = 0; i < COUNT(thread); i++)
        assert_int_equal(pthread_create(&thread[i], NULL, use_often, &w), 0);
    for (size_t i = 0; i < COUNT(thread); i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        if (wrong)
            fail_msg("%s", (const char *)wrong);
    }
    uint64_t files;
    bytes_in(w.store, &files);
    assert_true(files > 0 && files <= 7);
    destroy(&w);
}

static void killed_writers(void **state)
{
    (void)state;
    kill_writers(20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads),
        cmocka_unit_test(killed_writers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
