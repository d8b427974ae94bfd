/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An image to stop in: of debugged.c. */

void called_back(void);
static int shared_counter = 5;
__attribute__((noinline)) static int inner(int value)
{
    int doubled = value * 2 + shared_counter;
    called_back();
    return doubled;
}
int run(int value)
{
    for (int i = 0; i < value; i++)
        shared_counter += i;
    return inner(value) == 0;
}
