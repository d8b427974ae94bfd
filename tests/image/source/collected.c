/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Collected C, with every way from one function to another that has several versions: references have to be found
 * over all of them. The program is plain C with TN_UNMANAGED. */

#include <stdio.h>

#include "nodes.h"

/* Of the program that the image is for. */
TN_NO_TRANSITION int version_here(void); /* looks at the address that it returns to */
#ifdef TN_UNMANAGED
#define have_fma() 0
#else
_Bool have_fma(void) __asm__("tenon.cpu.have_fma.f64");
#endif
long call_back(long (*function)(long), long n);

static node kept;

/* No loop: one version. */
static node cons(long value, node next)
{
    node made = tn_new(struct node);
    made->value = value;
    made->next = next;
    return made;
}

/* A version for each target. */
node list(long n)
{
    node made = NULL;
    for (long i = 0; i < n; i++)
        made = cons(i, made);
    return made;
}

node reversed(long n)
{
    node made = NULL;
    for (long i = n; i-- > 0;)
        made = cons(i, made);
    return made;
}

long sum(node at)
{
    long result = 0;
    for (; at; at = at->next)
        result = 3 * result + at->value;
    return result;
}

/* A leaf with versions. */
__attribute__((noinline)) long bits(long n)
{
    long count = 0;
    for (; n; n &= n - 1)
        count++;
    return count;
}

/* No loop, and called by nobody that has one: it calls versions through slots. */
__attribute__((noinline)) long through_slots(long n)
{
    node first = list(n), second = reversed(n);
    long ones = bits(n);
    node third = list(n + 1);
    return sum(first) + 2 * sum(second) + 4 * sum(third) + ones;
}

/* One version, which knows versions by their names only. */
__attribute__((optnone, noinline)) long by_name(long n)
{
    node first = list(n), second = reversed(n);
    return sum(first) - sum(second);
}

__attribute__((weak)) node replaceable(long n)
{
    node made = list(n);
    for (long i = 0; i < n; i++)
        made = cons(i, made);
    return made;
}

static node (*const makers[])(long) = {list, reversed, replaceable};

/* By address. */
__attribute__((noinline)) long through_pointers(long n)
{
    long result = 0;
    for (unsigned i = 0; i < 6; i++) {
        node first = makers[i % 3](n), second = makers[(i + 1) % 3](n);
        result = result * 7 + sum(first) - sum(second);
    }
    return result;
}

/* Called by code that is not managed, while frames below it hold references. */
static long called_back(long n)
{
    node made = list(n);
    if (n > 0 && n % 3 == 0)
        return call_back(called_back, n - 1) + sum(made);
    for (long i = 0; i < n; i++)
        made = cons(sum(made), made);
    kept = made;
    return sum(made);
}

/* What optimisers make vectors of, for CPUs that have large ones: references, and places inside of objects. */
__attribute__((noinline)) static struct nodes tn_ref *shuffle(struct nodes tn_ref *from)
{
    struct nodes tn_ref *to = tn_new_array(struct nodes, items, from->length);
    for (size_t i = 0; i + 4 <= from->length; i += 4)
        for (size_t j = 0; j < 4; j++) {
            to->items[i + j] = from->items[i + 3 - j];
            to->items[i + j]->next = from->items[j];
        }
    return to;
}

__attribute__((noinline)) long vectors(long n)
{
    struct nodes tn_ref *nodes = tn_new_array(struct nodes, items, 8);
    for (size_t i = 0; i < nodes->length; i++)
        nodes->items[i] = cons((long)i, NULL);
    for (long i = 0; i < n; i++)
        nodes = shuffle(nodes);
    long result = 0;
    for (size_t i = 0; i < nodes->length; i++)
        result = result * 10 + nodes->items[i]->value + (nodes->items[i]->next ? nodes->items[i]->next->value : 0);
    return result;
}

int which(void)
{
    int seen = -1;
    for (int i = 0; i < 2; i++)
        seen = version_here();
    return seen < 0 ? seen : 2 * seen + have_fma();
}

int main(void)
{
    printf("%ld %ld %ld\n", through_slots(20), by_name(12), through_pointers(9));
    printf("%ld %ld\n", call_back(called_back, 15), vectors(11));
    printf("%ld\n", sum(kept));
    int version = which();
    if (version >= 0)
        fprintf(stderr, "version %d, fma %d\n", version / 2, version % 2);
    kept = NULL; /* what is collected before a file is closed may not refer to it */
    return 0;
}
