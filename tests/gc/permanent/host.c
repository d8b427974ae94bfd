/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Permanent objects of a program, which its managed code (managed.c) stores references into. */

#include <stdio.h>

#include "tenon_heap.h"

struct node {
    struct node *next;
    long value;
};

enum { ITEMS = 7, MANY = 1100 };

extern const struct tn_type tn_type_of_node, tn_type_of_table;
extern long store(struct node *node, void *table, int is_old), copy(void *table, int is_old);

static struct {
    const char *node_type;
    struct node node;
    const char *table_type;
    size_t length;
    struct node *items[ITEMS];
    const char *large_type; /* of more than 8 KiB */
    size_t large_length;
    struct node *large_items[MANY];
} space = {.node_type = (const char *)&tn_type_of_node + TN_PERMANENT,
           .table_type = (const char *)&tn_type_of_table + TN_PERMANENT,
           .length = ITEMS,
           .large_type = (const char *)&tn_type_of_table + TN_PERMANENT,
           .large_length = MANY};

int main(void)
{
    struct tn_error err;
    struct tn_heap *heap;
    if (tn_heap_default(&heap, &err) || tn_heap_add_permanent(heap, &space, sizeof space, 0, &err)) {
        puts(err.text);
        return 1;
    }
    for (int is_old = 0; is_old < 2; is_old++)
        printf("%ld %ld\n", store(&space.node, &space.length, is_old), copy(&space.length, is_old));
    printf("%ld %ld\n", store(&space.node, &space.large_length, 0), copy(&space.large_length, 0));
    return 0;
}
