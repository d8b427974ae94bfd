/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The part of a front end's runtime that `except_enter` needs, and native code that throws: out of a transition, in
 * which objects may move before the jump and after it. */

#include <setjmp.h>
#include <stdio.h>

#include "tenon_heap.h"

const struct tn_type node_type = {.name = "node", .kind = TN_KIND_FIXED, .alignment = 8, .size = 16, .references = 2};

struct handler {
    sigjmp_buf buffer; /* first: this is what __sigsetjmp gets */
    struct handler *outer;
};

static __thread struct handler *handlers;
static __thread long depth;

void tenon_enter_handler(struct handler *handler)
{
    handler->outer = handlers;
    handlers = handler;
    depth++;
}

void tenon_pop_handler(int count)
{
    for (; count > 0; count--, depth--)
        handlers = handlers->outer;
}

/* Throws if `number` is a multiple of `of`. */
void throw_if(long number, long of)
{
    if (number % of == 0)
        siglongjmp(handlers->buffer, (int)number + 1);
}

void throw_now(long number)
{
    siglongjmp(handlers->buffer, (int)number + 1);
}

long open_handlers(void)
{
    return depth;
}

extern long run(long rounds);

int main(void)
{
    printf("%ld %ld\n", run(60), open_handlers());
    return 0;
}
