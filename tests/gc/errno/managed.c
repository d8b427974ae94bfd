/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* For host.c: collected C that learns why a native function has failed, with a safepoint of each kind in between. */

#include <setjmp.h>

#include "tenon_managed.h"

struct node {
    struct node tn_ref *next;
    long value;
};
TN_TYPE(struct node, next);

/* Sets errno; returns it. */
void fail(long number);
long reason(void);
void fail_at_once(long number) __asm__("fail") TN_NO_TRANSITION;
long reason_at_once(void) __asm__("reason") TN_NO_TRANSITION;
void jump(jmp_buf *to, long number);

long after_transition(long number)
{
    fail(number);
    return reason();
}

long after_native_call(long number)
{
    fail_at_once(number);
    return reason_at_once();
}

long after_blocking_call(long number)
{
    tn_call_blocking((void *)fail_at_once, number, 0, 0, 0);
    return reason_at_once();
}

long after_allocation(long number)
{
    fail_at_once(number);
    struct node tn_ref *node = tn_new(struct node);
    node->value = reason_at_once();
    return node->value;
}

long after_loop(long number)
{
    fail_at_once(number);
    for (volatile long i = 0; i < 10; i++)
        ;
    return reason_at_once();
}

long after_jump(long number)
{
    jmp_buf here;
    if (!setjmp(here))
        jump(&here, number);
    return reason_at_once();
}

long in_callee(long number)
{
    (void)number;
    return reason_at_once();
}
