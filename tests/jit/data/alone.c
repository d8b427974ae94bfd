/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* `first` for a library that has `second`. */

#include "toy_number.h"

static volatile long number = TOY_NUMBER;
long second(long x);

long first(long x)
{
    return second(x) + number;
}
