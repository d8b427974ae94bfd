/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What functions that results.sh writes call, and the calls of these: each returns an object and numbers, made of
 * one number. */

#include <stdio.h>

#include "tenon_managed.h"

struct box {
    long number;
    struct box tn_ref *next;
};
TN_TYPE(struct box, next);

struct box tn_ref *new_box(long number);
long number_of(struct box tn_ref *box);
void collect(void);

__attribute__((noinline)) struct box tn_ref *new_box(long number)
{
    struct box tn_ref *box = tn_new(struct box);
    box->number = number;
    return box;
}

__attribute__((noinline)) long number_of(struct box tn_ref *box)
{
    return box->number;
}

__attribute__((noinline)) void collect(void)
{
    for (int i = 0; i < 3; i++)
        new_box(-1);
}

#define X(name) long name(long number);
CHECKS(X)
#undef X

int main(void)
{
#define X(name) {#name, name},
    static const struct {
        const char *name;
        long (*check)(long number);
    } rows[] = {CHECKS(X)};
#undef X
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        for (long number = 1; number < 100; number += 7)
            if (rows[i].check(number) == 0)
                printf("%s(%ld) is wrong\n", rows[i].name, number);
    return puts("done") < 0;
}
