/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Managed code where it meets everything else: callbacks from the C library, setjmp, many arguments, structs by
 * value, pins, weak references, globals, derived pointers in loops, finalizer-free recursion, deep lists. Prints
 * what it finds. */

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon_managed.h"

struct node {
    struct node tn_ref *next;
    long value;
};
TN_TYPE(struct node, next);

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

struct text {
    size_t length;
    char items[];
};
TN_ARRAY_OF_LEAVES(struct text, items);

typedef struct node tn_ref *node;

static node global_list;
static struct nodes tn_ref *global_nodes;

static node cons(long value, node next)
{
    node n = tn_new(struct node);
    n->value = value;
    n->next = next;
    return n;
}

static node range(long count)
{
    node list = NULL;
    while (count-- > 0)
        list = cons(count, list);
    return list;
}

static long sum(node list)
{
    long total = 0;
    for (; list; list = list->next)
        total += list->value;
    return total;
}

/* ---- called back by the C library ---- */

static int compare(const void *a, const void *b)
{
    node garbage = cons(*(const int *)a, NULL);
    int x = (int)garbage->value, y = *(const int *)b;
    global_list = cons(x, x % 8 ? global_list : NULL);
    return x < y ? -1 : x > y;
}

static void callbacks(void)
{
    int numbers[50];
    node keep = range(20);
    for (int i = 0; i < 50; i++)
        numbers[i] = i * 37 % 50;
    qsort(numbers, 50, sizeof *numbers, compare);
    int wrong = 0;
    for (int i = 0; i < 50; i++)
        wrong += numbers[i] != i;
    for (int i = 0; i < 50; i++)
        numbers[i] = i * 13 % 50;
    tn_call_blocking((void *)qsort, (intptr_t)numbers, 50, sizeof *numbers, (intptr_t)compare);
    for (int i = 0; i < 50; i++)
        wrong += numbers[i] != i;
    printf("callbacks %ld %d %d\n", sum(keep), global_list != NULL, wrong);
}

/* ---- setjmp ---- */

static jmp_buf target;

static void leave(node list, int depth)
{
    node mine = cons(depth, list);
    if (depth == 0)
        longjmp(target, (int)sum(mine));
    leave(mine, depth - 1);
}

static void jumps(void)
{
    node before = range(10);
    int got = setjmp(target);
    node after = range(5);
    if (!got)
        leave(before, 10);
    printf("jumps %d %ld %ld\n", got, sum(before), sum(after));
}

/* ---- arguments ---- */

static long many(node a, long b, node c, node d, double e, node f, node g, node h, node i, long j, node k)
{
    node garbage = range(3);
    return sum(a) + b + sum(c) * 2 + sum(d) * 3 + (long)e + sum(f) * 5 + sum(g) * 7 + sum(h) * 11 + sum(i) * 13 + j +
           sum(k) * 17 + sum(garbage);
}

struct triple {
    node a, b;
    long n;
};

static struct triple make_triple(long n)
{
    struct triple t = {range(n), range(n + 1), n};
    return t;
}

static void arguments(void)
{
    node a = range(3), b = range(4), c = range(5);
    printf("arguments %ld\n", many(a, 1, b, c, 2.5, a, b, c, range(6), 3, range(7)));
    struct triple t = make_triple(8), u = make_triple(9);
    printf("triples %ld %ld %ld %ld %ld\n", sum(t.a), sum(t.b), sum(u.a), sum(u.b), t.n + u.n);
}

/* ---- arrays ---- */

static void arrays(void)
{
    struct nodes tn_ref *nodes = tn_new_array(struct nodes, items, 30);
    struct pairs tn_ref *pairs = tn_new_array(struct pairs, items, 20);
    long total = 0;
    for (size_t i = 0; i < nodes->length; i++)
        nodes->items[i] = cons((long)i, i ? nodes->items[i - 1] : NULL);
    for (size_t i = 0; i < pairs->length; i++) {
        pairs->items[i].first = nodes->items[i];
        pairs->items[i].number = (long)i;
    }
    struct pair tn_ref *at = &pairs->items[0]; /* derived, over allocations */
    for (size_t i = 0; i < pairs->length; i++, at++) {
        node garbage = cons(1, at->first);
        total += sum(garbage) * at->number;
    }
    global_nodes = nodes;
    printf("arrays %ld %zu\n", total, global_nodes->length);
}

/* ---- text, pinned for the C library ---- */

static struct text tn_ref *make_text(const char *from)
{
    size_t length = strlen(from);
    struct text tn_ref *text = tn_new_array(struct text, items, length + 1);
    for (size_t i = 0; i <= length; i++)
        text->items[i] = from[i];
    return text;
}

static void pins(void)
{
    struct text tn_ref *a = make_text("hello");
    struct text tn_ref *b = make_text("world");
    TN_PIN(first, a);
    TN_PIN(second, b);
    node garbage = range(10);
    printf("pins %s %s %ld\n", (const char *)first + offsetof(struct text, items),
           (const char *)second + offsetof(struct text, items), sum(garbage));
}

/* ---- weak references ---- */

static void weak(void)
{
    node list = range(4);
    struct tn_weak tn_ref *w = tn_new_weak(list);
    node other = range(10), again = w->target;
    printf("weak %ld %d %ld\n", sum(again), again == list, sum(other));
}

/* That only this function sees the weak reference is no reason to keep its object. */
static int forgets(void)
{
    struct tn_weak tn_ref *w = tn_new_weak(range(4));
#ifdef TN_UNMANAGED
    return w->target != NULL; /* there, nothing goes */
#else
    tn_heap_collect(tn_heap_current(), TN_COLLECT_FULL);
    return w->target == NULL;
#endif
}

/* ---- depth ---- */

static long descend(long depth)
{
    node mine = depth % 16 ? NULL : cons(depth, NULL);
    long below = depth ? descend(depth - 1) : 0;
    return below + (mine ? mine->value : 0);
}

int main(void)
{
    callbacks();
    jumps();
    arguments();
    arrays();
    pins();
    weak();
    printf("forgets %d\n", forgets());
    printf("depth %ld\n", descend(500));
    return 0;
}
