/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

int nowhere(void);

int optional(void)
{
    return nowhere();
}
