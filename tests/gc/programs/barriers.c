/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Ways to store a reference into an object that is there since an earlier collection. Each store is the only one
 * into its word between two collections, and nothing lives over calls that collect nothing, so under TENON_GC_VERIFY
 * no barrier can be missing unnoticed (tests/gc/slow/mutate.sh takes them away one by one). */

#include <stdio.h>
#include <string.h>

#include "tenon_managed.h"

struct node {
    struct node tn_ref *next, *other;
    long value;
};
TN_TYPE(struct node, next, other);

struct nodes {
    size_t length;
    struct node tn_ref *items[];
};
TN_ARRAY_OF_REFERENCES(struct nodes, items);

struct pair {
    struct node tn_ref *first;
    long number;
};
struct pairs {
    size_t length;
    struct pair items[];
};
TN_ARRAY_OF_STRUCTS(struct pairs, items, first);

typedef struct node tn_ref *node;

#define APART __attribute__((noinline))

static APART node make(long value)
{
    node n = tn_new(struct node);
    n->value = value;
    return n;
}

static APART void collect(void)
{
    make(0);
}

/* ---- fields ---- */

static APART void set_next(node n, node to)
{
    n->next = to;
}

/* Each store has a barrier of its own: what is remembered is a word, not the object ... */
static APART void set_both(node n, node to)
{
    n->next = to;
    n->other = to;
}

/* ... whether a collection lies between or not. */
static APART void set_apart(node n, node to)
{
    n->next = to;
    collect();
    n->other = to;
}

static APART void set_chosen(node a, node b, node to, int which)
{
    node tn_ref *slot = which ? &a->next : &b->other;
    *slot = to;
}

/* Which object it is was decided before the collection. */
static APART void set_later(node a, node b, int which)
{
    node tn_ref *slot = which ? &a->next : &b->other;
    *slot = make(7);
}

static APART void set_all(node list, node to)
{
    for (; list; list = list->next) {
        list->other = to;
        collect();
    }
}

static APART void copy_whole(node to, node from)
{
    *to = *from;
}

static APART void fields(void)
{
    node a = make(1), b = make(2), c = make(3);
    set_next(a, b);
    collect();
    set_both(b, c);
    collect();
    set_apart(c, a);
    collect();
    set_chosen(a, b, c, 1);
    collect();
    set_chosen(a, b, a, 0);
    collect();
    set_later(a, b, 1);
    set_later(a, b, 0);
    collect();
    printf("fields %ld %ld %ld %ld\n", a->next->value, b->other->value, c->next->value, c->other->value);
}

static APART void copies(void)
{
    node a = make(4), b = make(5), c = make(6);
    set_both(a, c);
    collect();
    copy_whole(b, a);
    collect();
    printf("copies %ld %ld\n", b->next->value, b->other->value);
}

static APART void lists(void)
{
    node list = NULL;
    for (int i = 0; i < 4; i++) {
        node n = tn_new(struct node);
        n->next = list;
        list = n;
    }
    collect();
    set_all(list, make(2));
    printf("lists %ld\n", list->other->value + list->next->other->value + list->next->next->other->value);
}

/* ---- arrays ---- */

static APART void fill(struct nodes tn_ref *nodes)
{
    for (size_t i = 0; i < nodes->length; i++)
        nodes->items[i] = make((long)i);
}

static APART void set_item(struct nodes tn_ref *nodes, size_t i, size_t from)
{
    nodes->items[i] = nodes->items[from];
}

static APART void copy_items(struct nodes tn_ref *to, struct nodes tn_ref *from)
{
    memcpy(&to->items[1], &from->items[0], 3 * sizeof(node));
}

static APART void set_pair(struct pairs tn_ref *pairs, size_t i, const struct pair *value)
{
    pairs->items[i] = *value;
}

static APART void arrays(void)
{
    struct nodes tn_ref *a = tn_new_array(struct nodes, items, 5);
    struct nodes tn_ref *b = tn_new_array(struct nodes, items, 5);
    struct pairs tn_ref *pairs = tn_new_array(struct pairs, items, 5);
    collect();
    fill(a);
    collect();
    set_item(a, 0, 1);
    collect();
    copy_items(b, a);
    collect();
    struct pair p = {a->items[4], 9};
    set_pair(pairs, 3, &p);
    collect();
    printf("arrays %ld %ld %ld %ld\n", a->items[0]->value, a->items[4]->value, b->items[1]->value,
           pairs->items[3].first->value + pairs->items[3].number);
}

/* ---- weak references ---- */

static APART void weak(void)
{
    node n = make(5), m = make(6);
    struct tn_weak tn_ref *w = tn_new_weak(n);
    collect();
    w->target = m;
    collect();
    node found = w->target;
    printf("weak %ld %ld %ld\n", found->value, n->value, m->value);
}

/* ---- an object that no heap has ---- */

static struct {
    const struct tn_type *type;
    struct node node;
} permanent = {&TN__NAME(struct node), {NULL, NULL, 70}};

static APART void outside(void)
{
    node n = make(7);
    collect();
    n->next = (node)&permanent.node;
    collect();
    printf("outside %ld\n", n->next->value + n->value);
}

int main(void)
{
    fields();
    copies();
    lists();
    arrays();
    weak();
    outside();
    return 0;
}
