/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Random operations on sessions, checked against a model; slow/session_model.c runs many more. */

#include "model.h"

static void seeds(void **state)
{
    (void)state;
    long checked = 0;
    for (unsigned seed = 1; seed <= 12; seed++)
        checked += model_run(seed, 4000);
    print_message("%ld lookups checked\n", checked);
    assert_true(checked > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(seeds)};
    return cmocka_run_group_tests_name("session_model", tests, NULL, NULL);
}
