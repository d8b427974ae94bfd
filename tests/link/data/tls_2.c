/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The other object of tls_1.c. */

__thread int elsewhere = 2;
extern __thread int initialised;

int read_initialised(void)
{
    return initialised;
}
