/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* References among arguments of every kind. Called lazily, each function is looked up at its first call, and under
 * stress everything moves meanwhile: what a stub takes for a reference and is none, or does not know for one, shows. */

#include <stdint.h>
#include <stdio.h>

#include "tenon_managed.h"

struct node {
    struct node tn_ref *next;
    long value;
};
TN_TYPE(struct node, next);

typedef struct node tn_ref *node;

static node make(long value)
{
    node n = tn_new(struct node);
    n->value = value;
    n->next = NULL;
    return n;
}

struct pair {
    node first;
    long second;
};
struct large {
    long words[5];
};
struct small {
    double x, y;
};
struct two {
    node first, second;
};

#define APART __attribute__((noinline))

APART static long registers(node a, int b, node c, long d, node e, node f)
{
    return a->value + 2 * b + 3 * c->value + 4 * d + 5 * e->value + 6 * f->value;
}

APART static long memory(long a, long b, long c, long d, long e, long f, node g, char h, node i, short j, node k)
{
    return a + b + c + d + e + f + 2 * g->value + 3 * h + 4 * i->value + 5 * j + 6 * k->value;
}

APART static double vectors(double a, node b, float c, double d, double e, double f, double g, double h, double i,
                            double j, node k, double l, double m, long n, long o, long p, long q, node r, double s,
                            node t)
{
    return a + 2 * (double)b->value + c + d + e + f + g + h + i + 3 * j + 4 * (double)k->value + 5 * l + 6 * m +
           (double)(n + o + p + q) + 7 * (double)r->value + 8 * s + 9 * (double)t->value;
}

APART static long wide(__int128 a, node b, __int128 c, node d, long e, node f)
{
    return (long)(a >> 64) + 2 * b->value + (long)c + 3 * d->value + 4 * e + 5 * f->value;
}

APART static long odd_wide(node a, __int128 b, node c, long d, __int128 e, node f, node g)
{
    return a->value + (long)b + 2 * c->value + 3 * d + (long)(e >> 64) + 4 * f->value + 5 * g->value;
}

APART static double extended(long double a, node b, long c, long d, long e, long f, long g, long double h, node i)
{
    return (double)(a + h) + 2 * (double)b->value + (double)(c + d + e + f + g) + 3 * (double)i->value;
}

APART static long structs(struct pair a, struct large b, node c, struct small d, long e, long f, long g, node h,
                          struct large i, node j)
{
    return a.first->value + 2 * a.second + b.words[0] + b.words[4] + 3 * c->value + (long)(d.x * d.y) + e + f + g +
           4 * h->value + i.words[2] + 5 * j->value;
}

APART static struct two both(node a, long b, node c)
{
    return (struct two){b ? a : c, make(a->value + c->value)};
}

APART static struct large returned(node a, long b, node c)
{
    return (struct large){{a->value, b, c->value}};
}

APART static _Complex double complex(node a, _Complex double b, _Complex float c, node d)
{
    return b * (double)a->value + c * (float)d->value;
}

APART static node null(node a, node b, node c)
{
    return a ? a : b ? b : c;
}

APART static long derived(node a, long b, node c)
{
    long sum = 0;
    for (node n = a; n; n = n->next)
        sum += n->value * b;
    return sum + c->value;
}

static void (*volatile callback)(node a, long b);

APART static void called_back(node a, long b)
{
    printf("called back %ld\n", a->value * b);
}

int main(void)
{
    struct large large = {{1, 2, 3, 4, 5}};
    printf("registers %ld\n", registers(make(1), 2, make(3), 4, make(5), make(6)));
    printf("memory %ld\n", memory(1, 2, 3, 4, 5, 6, make(7), 8, make(9), 10, make(11)));
    printf("vectors %g\n",
           vectors(1, make(2), 3, 4, 5, 6, 7, 8, 9, 10, make(11), 12, 13, 14, 15, 16, 17, make(18), 19, make(20)));
    printf("wide %ld\n", wide((__int128)1 << 70, make(2), 3, make(4), 5, make(6)));
    printf("odd wide %ld\n", odd_wide(make(1), 2, make(3), 4, (__int128)5 << 64, make(6), make(7)));
    printf("extended %g\n", extended(1.5L, make(2), 3, 4, 5, 6, 7, 8.25L, make(9)));
    printf("structs %ld\n",
           structs((struct pair){make(1), 2}, large, make(3), (struct small){4, 5}, 6, 7, 8, make(9), large, make(10)));
    struct two two = both(make(1), 0, make(2));
    printf("both %ld %ld\n", two.first->value, two.second->value);
    struct large back = returned(make(1), 2, make(3));
    printf("returned %ld %ld %ld\n", back.words[0], back.words[1], back.words[2]);
    _Complex double c = complex(make(2), 1 + 2i, 3 - 4i, make(5));
    printf("complex %g %g\n", __real__ c, __imag__ c);
    printf("null %ld\n", null(NULL, NULL, make(3))->value);
    node list = make(1);
    list->next = make(2);
    printf("derived %ld\n", derived(list, 10, list->next));
    callback = called_back;
    callback(make(6), 7);
    return 0;
}
