/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Collected C whose types, and one of whose objects, are those of an image with saved objects. */

#include "nodes.h"

extern struct node first_node; /* a root's object */
#define FIRST ((node)&first_node)

static node chosen;

long sum(void)
{
    long result = 0;
    for (node at = FIRST; at; at = at->next)
        result += at->value;
    return result;
}

/* Into the saved list. */
void push(long value)
{
    node made = tn_new(struct node);
    made->value = value;
    made->next = FIRST->next;
    FIRST->next = made;
}

/* Allocates `count` lists of which only the last is kept, in a loop that passes may move loads out of. */
long churn(long count)
{
    struct nodes tn_ref *last = NULL;
    for (long i = 0; i < count; i++) {
        struct nodes tn_ref *made = tn_new_array(struct nodes, items, 3);
        for (int k = 0; k < 3; k++) {
            made->items[k] = tn_new(struct node);
            made->items[k]->value = i * k;
        }
        last = made;
    }
    long result = 0;
    for (int k = 0; last && k < 3; k++)
        result += last->items[k]->value;
    return result;
}

/* Values that meet in phis. */
node choose(long which)
{
    chosen = which ? FIRST : FIRST->next;
    return which == 2 ? tn_new(struct node) : chosen;
}

struct tn_weak tn_ref *weaken(void)
{
    return tn_new_weak(FIRST);
}
