/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The same function in two objects: one copy is loaded. */

__attribute__((weak)) int shared = 2;

__attribute__((weak, noinline)) int weak_function(void)
{
    return shared;
}

int (*const second_address)(void) = weak_function;
int only_second(void)
{
    return weak_function();
}
