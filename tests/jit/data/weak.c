/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* `first` with a `second` that gives way to another one in the library. */

__attribute__((weak)) long second(long x)
{
    return 3 * x;
}

long first(long x)
{
    return second(x) + 1000;
}
