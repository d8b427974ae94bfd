/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

unsigned busy(unsigned turns)
{
    unsigned x = 1;
    while (turns--)
        x = x * 1664525u + 1013904223u;
    return x;
}
