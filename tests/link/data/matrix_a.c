/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What ordinary code asks of a linker, compiled in many ways together with matrix_b.c. run() answers 0, or the
 * number of the line that went wrong. */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "matrix.h"

#define CHECK(condition)                                                                                               \
    do                                                                                                                 \
        if (!(condition))                                                                                              \
            return __LINE__;                                                                                           \
    while (0)

static int own_data = 5;
static int own_zero[1000];
static const char *const words[] = {"zero", "one", "two", "three", "two" + 1};
static int *pointers[] = {&own_data, &shared_data, &shared_array[3], &own_zero[999]};
int (*const functions[])(int) = {add_b, twice_a, hidden_b};
int common_counter;
static _Alignas(4096) char page[4096];
static _Alignas(64) const double numbers[8] = {1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5};

int twice_a(int x)
{
    return 2 * x;
}

__attribute__((weak)) int weak_in_both(void)
{
    return 1;
}

__attribute__((noinline)) static int by_table(int x)
{
    switch (x) { /* distinct enough that it becomes a table of jumps */
    case 0:
        return add_b(10);
    case 1:
        return own_data;
    case 2:
        return twice_a(own_data);
    case 3:
        return (int)strlen(words[3]);
    case 4:
        return shared_array[2];
    case 5:
        return hidden_b(1);
    case 6:
        return abs(-77);
    default:
        return -1;
    }
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static int check_data(void)
{
    own_zero[999] = 9;
    CHECK(*pointers[0] == 5 && *pointers[1] == 77 && *pointers[2] == 4 && *pointers[3] == 9);
    CHECK(own_zero[0] == 0 && page[0] == 0 && (uintptr_t)page % 4096 == 0 && (uintptr_t)numbers % 64 == 0);
    CHECK(!strcmp(words[2], "two") && !strcmp(words[4], "wo") && !strcmp(string_b(), "string of b"));
    double sum = 0;
    for (int i = 0; i < 8; i++)
        sum += numbers[i] * (double)i;
    CHECK(sum == 182.0);
    common_counter = 3;
    CHECK(count_b() == 4 && common_counter == 4);
    CHECK(common_array[99] == 0 && (uintptr_t)common_array % 128 == 0);
    return 0;
}

static int check_calls(int (*host)(int))
{
    static const int expected[] = {10 + 77, 5, 10, 5, 3, 101, 77, -1};
    for (int i = 0; i < 8; i++)
        CHECK(by_table(i) == expected[i]);
    CHECK(functions[0](1) == 78 && functions[1](4) == 8 && functions[2](2) == 102);
    CHECK(function_of_b() == add_b && weak_in_both() == 2);
    CHECK(host(20) == 21 && call_from_b(host, 30) == 31);
    CHECK(!weak_missing && &weak_missing_data == NULL);
    if (weak_missing)
        CHECK(weak_missing() == 0);
    int values[] = {5, 3, 9, 1, 7};
    qsort(values, 5, sizeof *values, by_value);
    CHECK(values[0] == 1 && values[4] == 9);
    return 0;
}

__attribute__((visibility("default"))) int run(int (*host)(int))
{
    int line = check_data();
    return line ? line : check_calls(host);
}
