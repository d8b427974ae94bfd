/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

unsigned busy(unsigned turns)
{
    unsigned x = 1;
    while (turns--)
        x = x * 1664525u + 1013904223u;
    return x;
}

unsigned step(unsigned); /* lazy: leads to next() */

unsigned next(unsigned x)
{
    return x + 1;
}

unsigned walk(unsigned turns)
{
    unsigned x = 1;
    while (turns--)
        x = step(x);
    return x;
}
