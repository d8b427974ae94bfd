/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A function whose answer its initializer knows. */

static long begun;

__attribute__((constructor)) static void begin(void)
{
    begun = 42;
}

long begins(void)
{
    return begun;
}
