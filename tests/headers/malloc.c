/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <malloc.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    char *block = malloc(1000);
    printf("%d\n", malloc_usable_size(block) >= 1000);
    struct mallinfo2 info = mallinfo2();
    printf("%d %d\n", info.uordblks >= 1000, mallopt(M_MMAP_THRESHOLD, 1 << 20));
    char *page = memalign(4096, 100), *whole = pvalloc(10);
    printf("%d %d\n", (int)((unsigned long)page % 4096), (int)((unsigned long)whole % 4096));
    free(block);
    free(page);
    free(whole);
    char *zero = calloc(1000, 1000), *array = reallocarray(NULL, 10, 10);
    printf("%d %d %d\n", zero[999999], array != NULL, reallocarray(array, (size_t)-1, 2) == NULL);
    free(array);
    free(zero);
    return malloc_trim(0) < 0;
}
