/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Sessions that live long: 200,000 objects in one, a million added and removed again. */

#include "churn.h"

static void many_objects(void **state)
{
    (void)state;
    churn_keep(200000);
}

static void many_cycles(void **state)
{
    (void)state;
    churn_cycles(1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_objects),
        cmocka_unit_test(many_cycles),
    };
    return cmocka_run_group_tests_name("link/slow/cycles", tests, NULL, NULL);
}
