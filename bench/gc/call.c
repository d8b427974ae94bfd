/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What calls out of managed code cost, and calls of its leaves through their entries: the loops of caller.c and
 * inline.cpp, each of which calls a function that does nothing or reads one field, and one that calls nothing. In ns
 * for each call, the least of several runs. */

#include <stdio.h>

#include "measure.h"
#include "tenon_heap.h"

enum { CALLS = 20 * 1000, RUNS = 5000 }; /* short runs: some are not interrupted */

long call_nothing(long count), call_native(long count), call_no_transition(long count), call_module(long count),
    call_body(long count), call_inline(long count), call_getter(long count), call_other_getter(long count),
    call_virtual(long count), sort_references(long count);
void make_numbers(void), make_other_number(void);
long other_getter(void);

long empty_native(long n)
{
    return n;
}

long empty_no_transition(long n)
{
    return n;
}

static double measure(long (*loop)(long count))
{
    double least = 1e9;
    for (int i = 0; i < RUNS; i++) {
        const uint64_t start = now_ns();
        loop(CALLS);
        double ns = (double)(now_ns() - start) / CALLS;
        least = ns < least ? ns : least;
    }
    return least;
}

/* As a host calls a getter. */
static long call_from_native(long count)
{
    long sum = 0;
    for (long i = 0; i < count; i++)
        sum += other_getter();
    return sum;
}

int main(void)
{
    make_numbers();
    make_other_number();
    double nothing = measure(call_nothing);
    printf("loop ns %.2f\n", nothing);
    printf("body ns %.2f\n", measure(call_body) - nothing);
    printf("no_transition ns %.2f\n", measure(call_no_transition) - nothing);
    printf("native ns %.2f\n", measure(call_native) - nothing);
    printf("module ns %.2f\n", measure(call_module) - nothing);
    printf("inline ns %.2f\n", measure(call_inline) - nothing);
    printf("getter ns %.2f\n", measure(call_getter) - nothing);
    printf("other_getter ns %.2f\n", measure(call_other_getter) - nothing);
    printf("virtual ns %.2f\n", measure(call_virtual) - nothing);
    printf("from_native ns %.2f\n", measure(call_from_native) - nothing);
    printf("sort ns %.2f\n", measure(sort_references));
    return 0;
}
