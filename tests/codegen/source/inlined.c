/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

void note(void); /* remembers where it was called */

static inline __attribute__((always_inline)) void inner(void)
{
    note();
}

static inline __attribute__((always_inline)) void middle(void)
{
    inner();
}

void outer(void)
{
    middle();
    __asm__ volatile("");
}
