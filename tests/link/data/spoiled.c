/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A small object of each kind for corrupt_all.c: calls, addresses in code and in data, a weak definition. */

extern int outside(int), datum;
int *pointer = &datum;
static int own = 3;

int first(int x)
{
    return outside(x) + own++ + datum;
}

__attribute__((weak)) int second(void)
{
    return first(*pointer);
}
