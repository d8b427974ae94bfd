/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Never called, so never loaded. */

int shipping(int amount)
{
    return amount < 50 ? 5 : 0;
}
