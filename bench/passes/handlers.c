/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "handlers.h"

static _Thread_local struct handler *innermost;

void tenon_enter_handler(struct handler *handler)
{
    handler->outer = innermost;
    innermost = handler;
}

void tenon_pop_handler(int count)
{
    while (count-- > 0)
        innermost = innermost->outer;
}

void throw_value(int value)
{
    siglongjmp(innermost->buffer, value);
}
