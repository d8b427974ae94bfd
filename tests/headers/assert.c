/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <assert.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static sigjmp_buf back;

static void on_abort(int number)
{
    siglongjmp(back, number);
}

int main(void)
{
    static_assert(sizeof(int) >= 2, "int");
    assert(1 + 1 == 2);
    close(2); /* the message holds the name of the program */
    signal(SIGABRT, on_abort);
    int number = sigsetjmp(back, 1);
    if (!number)
        assert(1 + 1 == 3);
    printf("%d\n", number == SIGABRT);
    return 0;
}
