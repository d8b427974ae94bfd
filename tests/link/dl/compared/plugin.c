/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A library of six, by -DSELF='"a"'. NEEDS_1 and NEEDS_2 are functions of libraries that it needs. */

#include <stdio.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

static int count;

int JOIN(LETTER, _count)(void)
{
    return ++count;
}

const char *who(void)
{
    return SELF;
}

#ifdef NEEDS_1
int NEEDS_1(void);
#endif
#ifdef NEEDS_2
int NEEDS_2(void);
#endif

int JOIN(LETTER, _sum)(void)
{
    int sum = count * 1000;
#ifdef NEEDS_1
    sum += NEEDS_1();
#endif
#ifdef NEEDS_2
    sum += NEEDS_2();
#endif
    return sum;
}

__attribute__((constructor)) static void begin(void)
{
    printf(" +%s", SELF);
}

__attribute__((destructor)) static void end(void)
{
    printf(" -%s", SELF);
}
