/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Thread-local data that has to be in the reserve, which has space for one such library (tests/link/dl/open.c). */

__thread char variables[700] __attribute__((tls_model("initial-exec"))) = {1};

int first_variable(void)
{
    return variables[0];
}
