/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Prints how many frames more a recursion ten calls deeper has. The recursion ends in a function with inline assembly,
 * which is LLVM's. */

#include <stdarg.h>
#include <stdio.h>
#include <unwind.h>

static int frames;

static _Unwind_Reason_Code add(struct _Unwind_Context *context, void *unused)
{
    (void)context, (void)unused;
    frames++;
    return _URC_NO_REASON;
}

static __attribute__((noinline)) int count(int from)
{
    frames = from;
    _Unwind_Backtrace(add, NULL);
    return frames;
}

static __attribute__((noinline)) int any(int number, ...)
{
    va_list list;
    __asm__ volatile("");
    va_start(list, number);
    int result = count(va_arg(list, int));
    va_end(list);
    return result;
}

static __attribute__((noinline)) int deep(int calls)
{
    return calls ? deep(calls - 1) : any(1, 0);
}

int main(void)
{
    int few = deep(0), more = deep(10);
    printf("%d\n", more - few);
    return 0;
}
