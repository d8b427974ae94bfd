/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* PERCENT is another one in each version. */

int discount(int amount)
{
    return amount * PERCENT / 100;
}
