/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stddef.h>
#include <stdio.h>

struct sample {
    char a;
    long double b;
    short c;
};

int main(void)
{
    int array[10];
    ptrdiff_t distance = &array[7] - &array[2];
    wchar_t wide = L'x';
    printf("%td %zu %zu %zu %d %d\n", distance, offsetof(struct sample, b), offsetof(struct sample, c),
           sizeof(max_align_t), (int)wide, NULL == (void *)0);
    return 0;
}
