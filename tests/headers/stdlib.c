/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void last(void)
{
    puts("last");
}

static void first(void)
{
    puts("first");
}

static void quick(void)
{
    puts("quick");
    fflush(stdout);
}

int main(void)
{
    int numbers[] = {5, 3, 9, -4, 12, 0, 7}, key = 9;
    qsort(numbers, 7, sizeof(int), compare);
    for (int i = 0; i < 7; i++)
        printf("%d ", numbers[i]);
    int *found = bsearch(&key, numbers, 7, sizeof(int), compare);
    printf("%td\n", found - numbers);
    char *end;
    printf("%ld ", strtol("-0x1F", &end, 16));
    printf("%.17g ", strtod("1.5e300rest", &end));
    printf("%s ", end);
    printf("%d\n", atoi(" 77"));
    srand(17);
    srandom(17);
    printf("%d ", rand());
    printf("%ld ", random());
    printf("%d\n", abs(-5));
    srand48(3);
    printf("%.10f ", drand48());
    printf("%ld\n", lrand48());
    div_t d = div(-7, 2);
    printf("%d %d\n", d.quot, d.rem);
    char *block = malloc(100000);
    memset(block, 'x', 100000);
    block = realloc(block, 1000000);
    printf("%c\n", block[99999]);
    free(block);
    void *aligned = NULL;
    printf("%d ", posix_memalign(&aligned, 4096, 10));
    printf("%d\n", (int)((unsigned long)aligned % 4096));
    free(aligned);
    setenv("TENON_HEADER_TEST", "value", 1);
    printf("%s ", getenv("TENON_HEADER_TEST"));
    printf("%d\n", system("exit 5") >> 8);
    wchar_t wide[10];
    printf("%zu %d\n", mbstowcs(wide, "abc", 10), mblen("a", 1));
    char path[] = "/tmp/tenon-stdlib-XXXXXX";
    int fd = mkstemp(path);
    printf("%d ", fd >= 0);
    printf("%d\n", remove(path));
    char *resolved = realpath("/usr/../usr", NULL);
    puts(resolved);
    free(resolved);
    at_quick_exit(quick);
    atexit(last);
    atexit(first);
    exit(7);
}
