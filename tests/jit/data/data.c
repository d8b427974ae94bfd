/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The toy program as its parts (support/toy.h): this, first.c and second.c. whole.c is the same in one piece. */

#include "toy_number.h"

long total = 40;
long number = TOY_NUMBER;
