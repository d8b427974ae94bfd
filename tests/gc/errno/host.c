/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Collections come between a native function that fails and the managed code that asks why, and functions of the client
 * that run there leave another errno, rounding mode and flags behind. The program rounds in a way of its own, and wants
 * signals for inexact results; the collector computes sizes of heaps. */

#include <errno.h>
#include <fenv.h>
#include <setjmp.h>
#include <stdio.h>

#include "tenon_heap.h"

enum { FAILURE = 77, OTHER = 99 };

static long others; /* collections that changed errno */

void fail(long number)
{
    errno = (int)number;
}

long reason(void)
{
    return errno;
}

void jump(jmp_buf *to, long number)
{
    errno = (int)number;
    longjmp(*to, 1);
}

#define EACH(X)                                                                                                        \
    X(after_transition)                                                                                                \
    X(after_native_call) X(after_blocking_call) X(after_allocation) X(after_loop) X(after_jump) X(in_callee)

#define DECLARE(name) long name(long number);
EACH(DECLARE)

#define ROW(name) {#name, name},
static const struct {
    const char *name;
    long (*call)(long number);
} rows[] = {EACH(ROW)};

static void change(void *context, const struct tn_collection *collection)
{
    (void)context, (void)collection;
    errno = OTHER;
    others++;
    if (fegetround() != FE_TONEAREST)
        puts("not ok a collection rounds as the program does");
    fesetround(FE_UPWARD);
    feraiseexcept(FE_INEXACT);
}

/* Signals for all exceptions, or for none. */
static void trap(int all)
{
#ifdef __x86_64__
    enum { MASKS = 0x1f80 };
    unsigned control = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(all ? control & ~MASKS : control | MASKS);
#else
    (void)all;
#endif
}

static int call(long (*function)(long), long *got)
{
    feclearexcept(FE_ALL_EXCEPT);
    fesetround(FE_DOWNWARD);
    trap(1);
    errno = FAILURE;
    *got = function(FAILURE);
    trap(0);
    int is_kept = fegetround() == FE_DOWNWARD && !fetestexcept(FE_ALL_EXCEPT);
    fesetround(FE_TONEAREST);
    return is_kept && *got == FAILURE;
}

int main(void)
{
    struct tn_heap_options options;
    struct tn_heap *heap;
    struct tn_error err;
    if (tn_heap_options_from_environment(&options, &err))
        return 1;
    options.flags |= TN_HEAP_STRESS;
    options.on_collection = change;
    if (tn_heap_create(&options, &heap, &err))
        return 1;
    tn_heap_set_default(heap);
    in_callee(0); /* attaches this thread */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        long before = others, got;
        int is_right = call(rows[i].call, &got);
        printf("%s %s: %ld, %s\n", is_right ? "ok" : "not ok", rows[i].name, got,
               others > before ? "collected" : "no collection");
    }
    return 0;
}
