/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

int elsewhere = 30;

int chosen(void)
{
    return 2;
}

__attribute__((visibility("hidden"))) int hidden(void)
{
    return 3;
}

int calls_hidden(void)
{
    return hidden();
}
