/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

extern int base;

int third(void)
{
    return base;
}
