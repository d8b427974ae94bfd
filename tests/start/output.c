/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Part of every test program: a result is written when it is known, so that a program that is killed has told how far
 * it came. */

#include <stdio.h>

__attribute__((constructor)) static void begin(void)
{
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
}
