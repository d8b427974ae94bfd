/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What rules share. */

#include "rule.h"

uint64_t percent(uint64_t price, uint64_t number)
{
    return price * number / 100;
}
