/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* archive_1 -> archive_2 -> archive_with_a_long_name -> archive_1; nobody needs archive_unused. */

int second(void);

int base = 100;

int first(void)
{
    return second() + 1;
}
