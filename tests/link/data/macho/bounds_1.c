/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A table to which two objects add entries. */

extern const int first __asm("section$start$__DATA$__entries"), last __asm("section$end$__DATA$__entries");

__attribute__((used, section("__DATA,__entries"))) static const int one[] = {1, 2};

int sum(void)
{
    int sum = 0;
    for (const int *at = &first; at < &last; at++)
        sum += *at;
    return sum;
}
