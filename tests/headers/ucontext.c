/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdio.h>
#include <ucontext.h>

static ucontext_t main_context, other;
static char stack[65536];

static void body(int a, int b)
{
    printf("in %d %d\n", a, b);
    swapcontext(&other, &main_context);
    puts("again");
}

int main(void)
{
    getcontext(&other);
    other.uc_stack.ss_sp = stack;
    other.uc_stack.ss_size = sizeof stack;
    other.uc_link = &main_context;
    makecontext(&other, (void (*)(void))body, 2, 3, 4);
    swapcontext(&main_context, &other);
    puts("between");
    swapcontext(&main_context, &other);
    puts("end");
    return 0;
}
