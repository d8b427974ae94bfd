/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Managed code without safepoints, which native code calls (native.c), and managed code of another file (other.c). */

#include "leaves.h"

TN_TYPE(struct node, next);
TN_TYPE(struct cell, node);

enum { NODES = 100 };

static struct node tn_ref *list;
static struct cell tn_ref *volatile same;
static struct cell tn_ref *mine, *second, *table[ITEMS];

static struct node tn_ref *make(struct node tn_ref *next, long value)
{
    struct node tn_ref *n = tn_new(struct node);
    n->value = value;
    n->check = value * 3 + 1;
    n->next = next;
    return n;
}

/* ---- with safepoints ---- */

void build(void)
{
    struct node tn_ref *l = NULL;
    for (int i = 0; i < NODES; i++)
        l = make(l, 10);
    list = l;
}

void prepare(void)
{
    build();
    same = tn_new(struct cell);
    mine = tn_new(struct cell);
    second = tn_new(struct cell);
    for (int i = 0; i < ITEMS; i++) {
        struct cell tn_ref *c = tn_new(struct cell);
        c->number = (i * 7 + 3) % ITEMS;
        c->node = make(NULL, c->number);
        table[i] = c;
    }
}

/* ---- leaves ---- */

/* Whether an object to which the program assigns only once does not move meanwhile. */
int stays(void)
{
    struct cell tn_ref *c = same;
    for (volatile int i = 0; i < 1000; i++)
        ;
    return c == same;
}

long total(void)
{
    long sum = 0;
    for (struct node tn_ref *n = list; n; n = n->next)
        sum += n->value;
    return sum;
}

int first_is_good(void)
{
    struct node tn_ref *n = list;
    return n->check == n->value * 3 + 1;
}

void set_number(long number)
{
    mine->number = number;
}

long get_number(void)
{
    return mine->number;
}

/* Stores of references, with barriers, of objects and of roots. */
void take_node(void)
{
    mine->node = list;
}

int node_is_good(void)
{
    return !mine->node || mine->node->check == mine->node->value * 3 + 1;
}

void drop_node(void)
{
    mine->node = NULL;
}

void exchange(void)
{
    struct cell tn_ref *c = mine;
    mine = second;
    second = c;
}

/* A copy of memory that holds references. */
void copy_cell(void)
{
    *second = *mine;
}

int compare(const void *a, const void *b)
{
    struct cell tn_ref *x = table[*(const int *)a], *y = table[*(const int *)b];
    if (!stays())
        return 1;
    return (x->node->value > y->node->value) - (x->node->value < y->node->value);
}

long number_at(int index)
{
    return table[index]->number;
}

long number_of(struct cell tn_ref *c)
{
    return c->number;
}

struct cell tn_ref *cell_at(int index)
{
    return table[index];
}

void add_to(struct cell tn_ref *c, long number)
{
    c->number += number;
}

long swap_atomically(long number)
{
    return __atomic_exchange_n(&mine->number, number, __ATOMIC_SEQ_CST);
}

/* Only touches what another leaf touches. */
int both_are_good(void)
{
    return first_is_good() && node_is_good();
}

/* What a thread starts with, often. Collections wait for it each time. */
void *reader(void *unused)
{
    long bad = !stays();
    for (int i = 0; i < 1000; i++)
        bad += list->check != list->value * 3 + 1;
    return (char *)unused + bad;
}

/* What others call through: native code, and managed code of another file. */
struct methods methods = {stays, total, get_number, set_number, number_of, add_to};
