/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdint.h>
#include <stdio.h>

int main(void)
{
    printf("%zu %zu %zu\n", sizeof(int_fast16_t), sizeof(uintptr_t), sizeof(int_least8_t));
    printf("%jd %ju %zu %d\n", INTMAX_MAX, UINTMAX_C(7), SIZE_MAX, INT8_MIN);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint8_t i = 0; i < 100; i++)
        hash = (hash ^ i) * UINT64_C(0x100000001b3);
    printf("%llx\n", (unsigned long long)hash);
    return 0;
}
