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

/* A segment with two sections; its other parts are in the other object. */

extern const int table_start __asm("segment$start$__TABLE"), table_end __asm("segment$end$__TABLE");
extern const int part_start __asm("section$start$__TABLE$__part"), part_end __asm("section$end$__TABLE$__part");

__attribute__((used, section("__TABLE,__part"))) static const int part[] = {5, 6};
__attribute__((used, section("__TABLE,__begin"))) static const int begin[] = {1};

int digits(void)
{
    int digits = 0;
    for (const int *at = &table_start; at < &table_end; at++)
        digits = digits * 10 + *at;
    return digits;
}

int part_digits(void)
{
    int digits = 0;
    for (const int *at = &part_start; at < &part_end; at++)
        digits = digits * 10 + *at;
    return digits;
}
