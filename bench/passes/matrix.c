/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Products of square matrices, which are arrays of rows.
 *     matrix [SIZE] */

#include "kernel.h"

TN_ARRAY_OF_LEAVES(struct vector, items);
struct matrix {
    size_t length;
    struct vector tn_ref *items[];
};
TN_ARRAY_OF_REFERENCES(struct matrix, items);
typedef struct matrix tn_ref *matrix;

static matrix make(size_t size)
{
    matrix m = tn_new_array(struct matrix, items, size);
    for (size_t i = 0; i < size; i++)
        m->items[i] = tn_new_array(struct vector, items, size);
    return m;
}

static matrix multiply(matrix a, matrix b)
{
    matrix product = make(a->length);
    for (size_t i = 0; i < a->length; i++)
        for (size_t k = 0; k < b->length; k++)
            for (size_t j = 0; j < b->length; j++)
                product->items[i]->items[j] += a->items[i]->items[k] * b->items[k]->items[j];
    return product;
}

int main(int argc, char **argv)
{
    size_t size = argument(argc, argv, 1, 300);
    matrix a = make(size), b = make(size);
    for (size_t i = 0; i < size; i++)
        for (size_t k = 0; k < size; k++) {
            a->items[i]->items[k] = (double)(i + k) / 10;
            b->items[i]->items[k] = (double)i - (double)k;
        }
    matrix product = multiply(a, b);
    double trace = 0;
    for (size_t i = 0; i < size; i++)
        trace += product->items[i]->items[i];
    printf("%.3f\n", trace);
    return 0;
}
