/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A word that holds a new object, then nothing while more words are stored to than a buffer of barriers has entries,
 * then that object again: a collector that marks beside threads has dropped the word meanwhile. */

#include <stdio.h>

#include "tenon_managed.h"

struct node {
    struct node tn_ref *next;
    long value;
};
TN_TYPE(struct node, next);
typedef struct node tn_ref *node;

struct list {
    size_t length;
    node items[];
};
TN_ARRAY_OF_REFERENCES(struct list, items);
typedef struct list tn_ref *list;

static node kept[64];

static __attribute__((noinline)) void allocate(long count)
{
    for (long i = 0; i < count; i++) {
        node n = tn_new(struct node);
        n->value = -1;
        kept[i % 64] = n;
    }
}

static __attribute__((noinline)) void hide(volatile struct node tn_ref *owner, node hidden,
                                           volatile struct list tn_ref *others, node other)
{
    owner->next = hidden;
    owner->next = NULL;
    for (size_t i = 0; i < others->length; i++)
        others->items[i] = other;
    owner->next = hidden;
}

int main(void)
{
    enum { ROUNDS = 5, EACH = 500 };
    long good = 0;
    node owner = tn_new(struct node), other = tn_new(struct node);
    list others = tn_new_array(struct list, items, 5000);
    allocate(EACH);
    for (long i = 0; i < ROUNDS; i++) {
        node hidden = tn_new(struct node);
        hidden->value = i;
        hide(owner, hidden, others, other);
        hidden = NULL;
        allocate(EACH);
        good += owner->next->value == i;
    }
    printf("%ld of %d\n", good, ROUNDS);
    return 0;
}
