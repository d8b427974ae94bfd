/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The same function in two objects: one copy is loaded. */

__attribute__((weak)) int shared = 1;

__attribute__((weak, noinline)) int weak_function(void)
{
    return shared;
}

int (*const first_address)(void) = weak_function;
int only_first(void)
{
    return weak_function();
}
