/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* As tests/link/session/session_model.c, for longer. */

#include "model.h"

static void seeds(void **state)
{
    (void)state;
    long checked = 0;
    for (unsigned seed = 1000; seed < 1040; seed++)
        checked += model_run(seed, 40000);
    print_message("%ld lookups checked\n", checked);
    assert_true(checked > 350000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(seeds)};
    return cmocka_run_group_tests_name("session_model", tests, NULL, NULL);
}
