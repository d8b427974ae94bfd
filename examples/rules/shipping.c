/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Nobody calls it, so it is never read. */

int shipping(int amount)
{
    return amount < 50 ? 5 : 0;
}
