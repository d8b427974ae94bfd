/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* PERCENT differs between versions. */

int discount(int amount)
{
    return amount * PERCENT / 100;
}
