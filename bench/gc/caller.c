/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* For call.c: managed loops. */

#include <stdlib.h>

#include "empty.h"

long empty_native(long n), empty_managed(long n);
TN_NO_TRANSITION long empty_no_transition(long n);

EMPTY(static, empty_body)

LOOP(call_nothing, i)
LOOP(call_body, empty_body(i))
LOOP(call_no_transition, empty_no_transition(i))
LOOP(call_native, empty_native(i))
LOOP(call_module, empty_managed(i))

/* ---- leaves ---- */

enum { NUMBERS = 50 };

static struct number tn_ref *numbers[NUMBERS];

void make_numbers(void)
{
    for (long i = 0; i < NUMBERS; i++) {
        numbers[i] = tn_new(struct number);
        numbers[i]->value = i * 17 % NUMBERS;
    }
}

static __attribute__((noinline)) long get(struct number tn_ref *number)
{
    return number->value;
}

/* The method table of a class with one method. */
static long (*volatile method)(struct number tn_ref *number) = get;

long other_getter(void);

LOOP(call_getter, get(numbers[0]))
LOOP(call_other_getter, other_getter())
LOOP(call_virtual, method(numbers[0]))

static int compare(const void *a, const void *b)
{
    long x = (*(struct number tn_ref *const *)a)->value, y = (*(struct number tn_ref *const *)b)->value;
    return (x > y) - (x < y);
}

/* Of `count` references in all. */
long sort_references(long count)
{
    long sum = 0;
    for (long done = 0; done < count; done += NUMBERS) {
        struct number tn_ref *sorted[NUMBERS];
        for (int i = 0; i < NUMBERS; i++)
            sorted[i] = numbers[i];
        qsort(sorted, NUMBERS, sizeof *sorted, compare);
        sum += sorted[0]->value;
    }
    return sum;
}
