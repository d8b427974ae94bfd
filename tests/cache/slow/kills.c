/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* As in tests/cache/at_once.c, 1,000 times. */

#include "writers.h"

static void killed_writers(void **state)
{
    (void)state;
    kill_writers(1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(killed_writers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
