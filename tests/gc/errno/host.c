/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Collections come between a native function that fails and the managed code that asks why, and functions of the client
 * that run there leave another errno behind. */

#include <errno.h>
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

static void change_errno(void *context, const struct tn_collection *collection)
{
    (void)context, (void)collection;
    errno = OTHER;
    others++;
}

int main(void)
{
    struct tn_heap_options options;
    struct tn_heap *heap;
    struct tn_error err;
    if (tn_heap_options_from_environment(&options, &err))
        return 1;
    options.flags |= TN_HEAP_STRESS;
    options.on_collection = change_errno;
    if (tn_heap_create(&options, &heap, &err))
        return 1;
    tn_heap_set_default(heap);
    in_callee(0); /* attaches this thread */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        long before = others;
        errno = FAILURE;
        long got = rows[i].call(FAILURE);
        printf("%s %s: %ld, %s\n", got == FAILURE ? "ok" : "not ok", rows[i].name, got,
               others > before ? "collected" : "no collection");
    }
    return 0;
}
