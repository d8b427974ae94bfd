/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What generated programs are made of. Lists are followed to a bound only: they may be rings. */

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tenon_managed.h"

struct node {
    struct node tn_ref *next, *other;
    long value;
};
TN_TYPE(struct node, next, other);

struct pair {
    long number;
    struct node tn_ref *first;
};
struct pairs {
    size_t length;
    struct pair items[];
};
TN_ARRAY_OF_STRUCTS(struct pairs, items, first);

typedef struct node tn_ref *node;
typedef double vector __attribute__((vector_size(16)));

struct triple {
    node a, b;
    long number;
};

static node globals[4];
static unsigned long trace;
static long notes;
static jmp_buf *target;

static inline void note(long value)
{
    trace = trace * 31 + (unsigned long)value;
    notes++;
    if (getenv("TRACE"))
        printf("%ld %ld\n", notes, value);
}

static node cons(long value, node next)
{
    node n = tn_new(struct node);
    n->value = (unsigned)value % 10007;
    n->next = next;
    return n;
}

static inline long value(node n)
{
    return n ? n->value : -1;
}

static long sum(node list)
{
    long total = 0, sign = 1;
    for (int i = 0; list && i < 12; i++, list = i % 3 == 2 && list->other ? list->other : list->next) {
        total += sign * list->value + i;
        sign = -sign;
    }
    return total % 1000003;
}

static struct pairs tn_ref *make_pairs(size_t count, node first)
{
    struct pairs tn_ref *pairs = tn_new_array(struct pairs, items, count);
    for (size_t i = 0; i < count; i++) {
        pairs->items[i].number = (long)i;
        pairs->items[i].first = i % 2 ? cons((long)i, first) : first;
    }
    return pairs;
}

static long sum_pairs(struct pairs tn_ref *pairs)
{
    long total = 0;
    for (size_t i = 0; i < pairs->length; i++)
        total += pairs->items[i].number % 1000003 + value(pairs->items[i].first);
    return total;
}

static __attribute__((noinline)) struct triple make_triple(node a, node b, long number)
{
    struct triple t = {cons(number, a), cons(number + 1, b), number % 1000003};
    return t;
}

static __attribute__((noinline)) void thrower(node list, int depth)
{
    node mine = cons(depth, list);
    if (depth == 0)
        longjmp(*target, 1);
    thrower(mine, depth - 1);
    note(value(mine));
}

static node called_back;

static int compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    called_back = cons(x, x % 4 ? called_back : NULL);
    return x < y ? -1 : x > y;
}

/* The C library calls compare(); how often differs between libraries, so only what it sorts is used. */
static __attribute__((noinline)) node sorted(node list, int count)
{
    int numbers[8];
    for (int i = 0; i < count; i++)
        numbers[i] = (i * 5 + 3) % count;
    qsort(numbers, (size_t)count, sizeof *numbers, compare);
    for (int i = 0; i < count; i++)
        list = cons(numbers[i], list);
    return list;
}
