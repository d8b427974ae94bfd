/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static jmp_buf target;
static sigjmp_buf signal_target;

static void dive(int depth)
{
    if (!depth)
        longjmp(target, 42);
    volatile char frame[64];
    frame[0] = (char)depth;
    dive(depth - 1);
    frame[1] = frame[0];
}

static void on_signal(int number)
{
    siglongjmp(signal_target, number);
}

int main(void)
{
    volatile int turns = 0;
    int value = setjmp(target);
    printf("%d\n", value);
    if (turns++ < 3)
        dive(20);
    signal(SIGUSR1, on_signal);
    for (volatile int i = 0; i < 2; i++) /* the mask has to be restored for the second one */
        if (!sigsetjmp(signal_target, 1))
            raise(SIGUSR1);
        else
            puts("back");
    return 0;
}
