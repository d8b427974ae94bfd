/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Managed code that stores references into permanent objects of its host (host.c), and copies arrays of them. */

#include "tenon_managed.h"

struct node {
    struct node tn_ref *next;
    long value;
};
TN_TYPE(struct node, next);

struct table {
    size_t length;
    struct node tn_ref *items[];
};
TN_ARRAY_OF_REFERENCES(struct table, items);

static struct node tn_ref *make(long value)
{
    struct node tn_ref *node = tn_new(struct node);
    node->value = value;
    return node;
}

static void churn(int extent)
{
    for (int i = 0; i < 100; i++)
        make(-1);
    tn_heap_collect(tn_heap_current(), extent);
}

/* A new object, or one that has survived collections of both kinds. */
static struct node tn_ref *make_of_age(long value, int is_old)
{
    struct node tn_ref *node = make(value);
    if (is_old) {
        churn(TN_COLLECT_PARTIAL);
        churn(TN_COLLECT_FULL);
    }
    return node;
}

long store(struct node tn_ref *node, struct table tn_ref *table, int is_old)
{
    long wrong = 0;
    for (long round = 0; round < 8; round++) {
        node->next = make_of_age(round, is_old);
        table->items[round % table->length] = make_of_age(100 + round, is_old);
        churn(round & 1);
        churn(TN_COLLECT_FULL);
        wrong += node->next->value != round;
        wrong += table->items[round % table->length]->value != 100 + round;
        if (round % 3 == 2)
            node->next = NULL;
    }
    return wrong;
}

long copy(struct table tn_ref *table, int is_old)
{
    long wrong = 0;
    struct table tn_ref *from = tn_new_array(struct table, items, table->length);
    for (size_t i = 0; i < table->length; i++)
        from->items[i] = make_of_age((long)i, is_old);
    __builtin_memmove(&table->items[0], &from->items[0], 8 * table->length);
    from = NULL;
    churn(TN_COLLECT_PARTIAL);
    churn(TN_COLLECT_FULL);
    for (size_t i = 0; i < table->length; i++)
        wrong += table->items[i]->value != (long)i;
    return wrong;
}
