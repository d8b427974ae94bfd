/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "toy_number.h"

long total = 40;
long number = TOY_NUMBER;

long second(long x)
{
    return 2 * x;
}

long first(long x)
{
    return second(x) + total + number;
}
