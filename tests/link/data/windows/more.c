/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What code.c refers to. */

extern int host_add(int, int);
extern int table[3];

static int secret(int x)
{
    return x + table[2];
}

int other_static(int x)
{
    return secret(x) * 2;
}

int weak_elsewhere(void)
{
    return 3;
}

__attribute__((selectany)) extern const double constant = 3.25;

int defined_twice(int x)
{
    return host_add(x, 1);
}
