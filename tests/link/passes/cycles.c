/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Many objects in one session, and many that are added and removed; slow/cycles.c has as many as a long-running
 * process. */

#include "churn.h"

static void many_objects(void **state)
{
    (void)state;
    churn_keep(10000);
}

static void many_cycles(void **state)
{
    (void)state;
    churn_cycles(30000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_objects),
        cmocka_unit_test(many_cycles),
    };
    return cmocka_run_group_tests_name("link/cycles", tests, NULL, NULL);
}
