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

enum { OTHERS = 300 };

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

/* Objects that live in whatever memory the last full collection found to be free. */
static struct node tn_ref *fill(void)
{
    struct node tn_ref *list = NULL;
    for (int i = 0; i < OTHERS; i++) {
        struct node tn_ref *node = make(-1);
        node->next = list;
        list = node;
    }
    tn_heap_collect(tn_heap_current(), TN_COLLECT_PARTIAL);
    return list;
}

static long length_of(struct node tn_ref *list)
{
    long length = 0;
    for (; list; list = list->next)
        length++;
    return length;
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
    struct node tn_ref *ordinary = make_of_age(0, 1);
    for (long round = 0; round < 8; round++) {
        struct node tn_ref *first = make_of_age(round, is_old), *second = make_of_age(100 + round, is_old);
        ordinary->next = make(0); /* from now on the thread has a buffer, and the barrier's quick path uses it */
        node->next = first;
        table->items[round % table->length] = second;
        first = second = NULL;
        churn(round & 1);
        churn(TN_COLLECT_FULL);
        struct node tn_ref *others = fill();
        wrong += node->next->value != round;
        wrong += table->items[round % table->length]->value != 100 + round;
        wrong += length_of(others) != OTHERS;
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
    struct node tn_ref *others = fill();
    for (size_t i = 0; i < table->length; i++)
        wrong += table->items[i]->value != (long)i;
    return wrong + (length_of(others) != OTHERS);
}
