/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

static alignas(256) char data[3] = "ab";
static alignas(128) char zero[5];

int main(void)
{
    alignas(64) char local[7];
    printf("%d %d %d\n", (int)((uintptr_t)data % 256), (int)((uintptr_t)zero % 128), (int)((uintptr_t)local % 64));
    printf("%zu %zu %s\n", alignof(long double), alignof(max_align_t), data);
    return 0;
}
