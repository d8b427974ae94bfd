/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lines of loops, of calls, of a switch, of what was inlined, and of another file. */

/* clang-format off */
void empty(void);

static inline __attribute__((always_inline)) int twice(int x)
{
    int y = x;
    return y + x;
}

int sum(int n)
{
    int all = 0;
    for (int i = 0; i < n; i++)
        all +=
            twice(i);
    return all;
}

int choose(int x)
{
    switch (x) {
    case 1:
        return 10;
    case 20:
        empty();
        break;
    default:
        x++;
    }
    return x;
}

#line 100 "other.h"
__attribute__((noinline)) static int elsewhere(int x)
{
    return x
           * 3;
}

__attribute__((weak)) void empty(void)
{
}
#line 48 "lines.c"

int main(void)
{
    int x = sum(4);
    x += choose(20);
    x += choose(2);
    empty();
    return elsewhere(x) == 105 ? 0 : x;
}
