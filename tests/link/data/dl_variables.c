/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Thread-local data of which the reserve has space for one library (tests/link/dl/open.c). */

__thread char variables[700] = {1};

int first_variable(void)
{
    return variables[0];
}
