/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* As in tests/image/package/at_once.c, 1,000 times. */

#include "packages.h"

static void killed_builders(void **state)
{
    (void)state;
    packages_kill_builders(1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(killed_builders)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
