/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Calls each function of memory.ll with two lists, and prints what it returns: the sum of their elements, computed
 * from references that were in stack memory while everything moved. */

#include <stdio.h>

#include "tenon_managed.h"

struct node {
    struct node tn_ref *next;
    long value;
};
TN_TYPE(struct node, next);

typedef struct node tn_ref *node;

struct triple {
    node a;
    long n;
    node b;
};

node cons(long value, node next)
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

long sum(node list)
{
    long total = 0;
    for (; list; list = list->next)
        total += list->value;
    return total;
}

/* A safepoint at which everything moves, and that leaves other values behind on the stack. */
__attribute__((noinline)) void churn(void)
{
    cons(1, range(3));
}

struct triple make_triple(node a, node b)
{
    struct triple t = {a, 100, b};
    churn();
    return t;
}

__attribute__((noinline)) long sum_triple(struct triple t, node other)
{
    churn();
    long first = sum(t.a) + t.n;
    t.a = cons(5, other);
    churn();
    return first + sum(t.a) + sum(t.b);
}

/* A struct that is passed in memory after the registers are used up, and changed by its callee. */
__attribute__((noinline)) long sum_late(node a, node b, node c, node d, node e, node f, node g, struct triple t, long n)
{
    node mine = cons(n, t.b);
    churn();
    t.b = mine;
    churn();
    return sum(a) + sum(b) + sum(c) + sum(d) + sum(e) + sum(f) + sum(g) + sum(t.a) + sum(t.b) + t.n;
}

static long by_value(node a, node b)
{
    struct triple t = {a, 7, b};
    long (*volatile late)(node, node, node, node, node, node, node, struct triple, long) = sum_late;
    long total = sum_triple(t, b);
    churn();
    total += sum_late(a, b, a, b, a, b, a, t, 3) + late(b, a, b, a, b, a, b, t, 4);
    return total + sum(t.a) + sum(t.b);
}

/* Objects are copied through memory of numbers: their types say what they hold. */

struct pair {
    node a, b;
};
TN_TYPE(struct pair, a, b);

long object_words(node a, node b)
{
    struct pair tn_ref *from = tn_new(struct pair);
    from->a = a;
    from->b = b;
    long words[2];
    __builtin_memcpy(words, from, sizeof words);
    struct pair tn_ref *to = tn_new(struct pair);
    churn();
    __builtin_memcpy(&to->a, words, sizeof words);
    churn();
    return sum(to->a) + sum(to->b);
}

static __attribute__((noinline)) void copy(struct pair tn_ref *from, struct pair tn_ref *to)
{
    char bytes[27] __attribute__((aligned(8)));
    __builtin_memcpy(bytes + 8, &from->a, sizeof *from);
    churn();
    __builtin_memcpy(&to->a, bytes + 8, sizeof *to);
}

long object_bytes(node a, node b)
{
    struct pair tn_ref *from = tn_new(struct pair), *to = tn_new(struct pair);
    from->a = a;
    from->b = b;
    copy(from, to);
    churn();
    return sum(to->a) + sum(to->b);
}

/* Functions that get the address of memory of numbers, and have it in variables of their own. */

static __attribute__((noinline)) void put(node *to, node a, node b)
{
    *to++ = a;
    churn();
    *to = b;
}

static __attribute__((noinline)) node get(char *bytes, int i)
{
    node *from = (node *)(bytes + 8);
    return from[i];
}

long through_functions(node a, node b)
{
    char bytes[24];
    put((node *)(bytes + 8), a, b);
    churn();
    long total = sum(get(bytes, 0));
    churn();
    return total + sum(get(bytes, 1));
}

long through_pointers(node a, node b)
{
    long words[2];
    node *one = (node *)words, *other;
    *one = a;
    other = one;
    churn();
    *++other = b;
    churn();
    long total = sum(*one);
    churn();
    return total + sum(*other);
}

#define FUNCTIONS(X)                                                                                                   \
    X(words)                                                                                                           \
    X(bytes)                                                                                                           \
    X(one_word)                                                                                                        \
    X(nested)                                                                                                          \
    X(vector)                                                                                                          \
    X(copied)                                                                                                          \
    X(copied_as_words)                                                                                                 \
    X(copied_from_object)                                                                                              \
    X(results)                                                                                                         \
    X(results_elsewhere)                                                                                               \
    X(selected)                                                                                                        \
    X(merged)                                                                                                          \
    X(stack_or_object)                                                                                                 \
    X(any_element)                                                                                                     \
    X(each_element)                                                                                                    \
    X(array_of_structs)                                                                                                \
    X(late)                                                                                                            \
    X(counted)                                                                                                         \
    X(through_memory)                                                                                                  \
    X(through_function)                                                                                                \
    X(lifetimes)                                                                                                       \
    X(unwound)                                                                                                         \
    X(argument)                                                                                                        \
    X(returned)                                                                                                        \
    X(inlined)                                                                                                         \
    X(object_words)                                                                                                    \
    X(object_bytes)                                                                                                    \
    X(through_functions)                                                                                               \
    X(through_pointers)                                                                                                \
    X(neither)

#define DECLARE(name) long name(node a, node b);
FUNCTIONS(DECLARE)

int main(void)
{
    static const struct {
        const char *name;
        long (*call)(node, node);
    } rows[] = {
#define ROW(name) {#name, name},
        FUNCTIONS(ROW){"by_value", by_value},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        printf("%s %ld\n", rows[i].name, rows[i].call(range(10), range(20)));
    return 0;
}
