/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

int third(void);
int optional(void) __attribute__((weak));

int second(void)
{
    return third() + 10 + (optional ? 1000 : 0); /* a weak reference pulls nothing in */
}
