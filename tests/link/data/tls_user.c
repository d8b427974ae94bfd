/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Uses a variable of tls_1.c, from another library. */

extern __thread int initialised;

int user(void)
{
    return initialised;
}
