/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The spectral norm of an infinite matrix (The Computer Language Benchmarks Game). Each product is a new vector.
 *     spectral [SIZE] */

#include <math.h>

#include "kernel.h"

TN_ARRAY_OF_LEAVES(struct vector, items);
typedef struct vector tn_ref *vector;

static double element(size_t i, size_t k)
{
    return 1.0 / (double)((i + k) * (i + k + 1) / 2 + i + 1);
}

static vector multiply(vector by)
{
    vector product = tn_new_array(struct vector, items, by->length);
    for (size_t i = 0; i < by->length; i++)
        for (size_t k = 0; k < by->length; k++)
            product->items[i] += element(i, k) * by->items[k];
    return product;
}

static vector multiply_transposed(vector by)
{
    vector product = tn_new_array(struct vector, items, by->length);
    for (size_t i = 0; i < by->length; i++)
        for (size_t k = 0; k < by->length; k++)
            product->items[i] += element(k, i) * by->items[k];
    return product;
}

static double dot(vector a, vector b)
{
    double sum = 0;
    for (size_t i = 0; i < a->length; i++)
        sum += a->items[i] * b->items[i];
    return sum;
}

int main(int argc, char **argv)
{
    size_t size = argument(argc, argv, 1, 1000);
    vector u = tn_new_array(struct vector, items, size), v = u;
    for (size_t i = 0; i < size; i++)
        u->items[i] = 1;
    for (int i = 0; i < 10; i++) {
        v = multiply_transposed(multiply(u));
        u = multiply_transposed(multiply(v));
    }
    printf("%.9f\n", sqrt(dot(u, v) / dot(v, v)));
    return 0;
}
