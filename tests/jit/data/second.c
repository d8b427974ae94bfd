/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

static const long factor = 2;

long second(long x) __asm__("second$body");

long second(long x)
{
    const long *in_object = &factor; /* so it has constants */
    __asm__("" : "+r"(in_object));
    return *in_object * x;
}
