/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Structs with references by value: as arguments and results, in registers and in memory, in each other, in local
 * arrays, and copied as a whole between the stack, globals and objects, from and to places that are chosen at run
 * time. */

#include <stdio.h>

#include "tenon_managed.h"

struct node {
    struct node tn_ref *next;
    long value;
};
TN_TYPE(struct node, next);

typedef struct node tn_ref *node;

struct two {
    node a[2];
};
struct late {
    int x;
    node p;
};
struct floats {
    float f, g;
    node p;
};
struct text {
    node p;
    char c[7];
};
struct nested {
    struct two two;
};
struct large {
    struct two t[3];
    long n;
    char c[5];
};
struct holder {
    struct large large;
    struct holder tn_ref *next;
};
TN_TYPE(struct holder, large.t[0].a[0], large.t[0].a[1], large.t[1].a[0], large.t[1].a[1], large.t[2].a[0],
        large.t[2].a[1], next);

static struct large global;

static node cons(long value, node next)
{
    node n = tn_new(struct node);
    n->value = value;
    n->next = next;
    return n;
}

static void churn(void)
{
    cons(1, NULL);
}

/* ---- results ---- */

static __attribute__((noinline)) struct two make_two(node a, node b)
{
    struct two t = {{a, b}};
    churn();
    return t;
}

static __attribute__((noinline)) struct late make_late(node a)
{
    struct late t = {3, a};
    churn();
    return t;
}

static __attribute__((noinline)) struct floats make_floats(node a)
{
    struct floats t = {3, 4, a};
    churn();
    return t;
}

static __attribute__((noinline)) struct text make_text(node a)
{
    struct text t = {a, "abcdef"};
    churn();
    return t;
}

static __attribute__((noinline)) struct large make_large(node a)
{
    struct large l = {.n = 5};
    for (int i = 0; i < 3; i++)
        l.t[i] = make_two(a, cons(i, a));
    return l;
}

/* ---- arguments ---- */

static long sum_large(struct large l)
{
    long sum = l.n + l.c[2];
    churn();
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2; j++)
            sum += l.t[i].a[j]->value;
    return sum;
}

static __attribute__((noinline)) long use(struct two t, struct late m, struct floats f, struct text c, struct large l,
                                          struct nested in)
{
    churn();
    struct large copy = l;
    copy.t[1].a[0] = cons(9, NULL);
    churn();
    l = copy;
    churn();
    return sum_large(l) + t.a[0]->value + t.a[1]->value + m.x + m.p->value + (long)f.f + f.p->value + c.c[3] +
           c.p->value + in.two.a[1]->value;
}

static void arguments(node n)
{
    struct nested in = {make_two(n, cons(3, n))};
    long (*volatile call)(struct two, struct late, struct floats, struct text, struct large, struct nested) = use;
    printf("arguments %ld\n", use(make_two(n, n), make_late(n), make_floats(n), make_text(n), make_large(n), in));
    printf("indirect %ld\n", call(make_two(n, n), make_late(n), make_floats(n), make_text(n), make_large(n), in));
}

/* ---- copies ---- */

static __attribute__((noinline)) long copies(node n, int i)
{
    struct holder tn_ref *h = tn_new(struct holder);
    h->large = make_large(n);
    struct large x = h->large;
    churn();
    struct large all[3] = {h->large, make_large(n), x};
    churn();
    global = all[i];
    h->large = all[i];
    h->next = tn_new(struct holder);
    h->next->large.t[i] = global.t[2 - i];
    struct large *p = i & 1 ? &all[0] : &x;
    churn();
    p->t[i].a[1] = cons(20, NULL);
    all[2 - i].t[i] = h->next->large.t[i];
    churn();
    return sum_large(*p) + sum_large(h->large) + sum_large(global) + all[2 - i].t[i].a[1]->value +
           h->next->large.t[i].a[0]->value;
}

int main(void)
{
    node n = cons(11, NULL);
    arguments(n);
    for (int i = 0; i < 3; i++)
        printf("copies %ld\n", copies(n, i));
    return 0;
}
