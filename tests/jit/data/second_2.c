/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

long second(long x) __asm__("second$body.t2");

long second(long x)
{
    return 2 * x;
}
