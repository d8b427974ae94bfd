/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The other half of matrix_a.c. */

#include "matrix.h"

int shared_data = 77;
int shared_array[5] = {1, 2, 3, 4, 5};
_Alignas(128) int common_array[100]; /* common with -fcommon */

int add_b(int x)
{
    return x + shared_data;
}

int hidden_b(int x)
{
    return twice_a(50) + x;
}

int count_b(void)
{
    return ++common_counter;
}

int weak_in_both(void)
{
    return 2;
}

const char *string_b(void)
{
    return "string of b";
}

int (*function_of_b(void))(int)
{
    return add_b;
}

int call_from_b(int (*function)(int), int x)
{
    return function(x);
}
