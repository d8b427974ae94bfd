/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The first part of each generated program. Lists may be cyclic, so they are followed up to a limit only.
 * A program has two modules, which share their state; OTHER_MODULE is defined in the second one. */

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

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
typedef double wide __attribute__((vector_size(32), aligned(16)));

struct nodes {
    size_t length;
    node items[];
};
TN_ARRAY_OF_REFERENCES(struct nodes, items);

struct couple {
    node a, b;
};

struct triple {
    node a, b;
    long number;
};

struct row {
    node items[3];
    long number;
};

struct nested {
    struct couple pair;
    long number;
    struct row row;
};

/* Larger than what alloc-opt makes variables of. */
struct scratch {
    node kept;
    long numbers[160];
};
TN_TYPE(struct scratch, kept);

struct longs {
    size_t length;
    long items[];
};
TN_ARRAY_OF_LEAVES(struct longs, items);

enum { THREADS = 3 };

#ifdef OTHER_MODULE
#define STATE extern
#else
#define STATE
#endif

STATE _Thread_local unsigned self; /* the number of this thread, from 0 */
STATE node all_globals[THREADS][4], last_called_back[THREADS];
#define globals     (all_globals[self])
#define called_back (last_called_back[self])

STATE _Thread_local unsigned long trace;
STATE _Thread_local long notes;
STATE _Thread_local jmp_buf *target;

static __attribute__((noinline)) void note(long value)
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

static __attribute__((noinline)) long sum(node list)
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

static __attribute__((noinline)) long sum_pairs(struct pairs tn_ref *pairs)
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

/* ---- more values ---- */

static __attribute__((noinline)) struct nodes tn_ref *make_nodes(size_t count, node first)
{
    struct nodes tn_ref *nodes = tn_new_array(struct nodes, items, count);
    for (size_t i = 0; i < count; i++)
        nodes->items[i] = i % 3 ? first : cons((long)i, first);
    return nodes;
}

/* For AArch64 and RISC-V, clang passes structs of up to 16 bytes as integers (doc/IR.md, "References in stack
 * memory"). */
#if defined(__x86_64__) || defined(TN_UNMANAGED)
static __attribute__((noinline)) struct couple swapped(struct couple c)
{
    struct couple swapped = {cons(1, c.b), c.a};
    return swapped;
}
#else
static __attribute__((noinline)) void swap(struct couple *c)
{
    struct couple swapped = {cons(1, c->b), c->a};
    *c = swapped;
}
#define swapped(...)                                                                                                   \
    ({                                                                                                                 \
        struct couple tn_couple = __VA_ARGS__;                                                                         \
        swap(&tn_couple);                                                                                              \
        tn_couple;                                                                                                     \
    })
#endif

/* ---- references in stack memory ---- */

static __attribute__((noinline)) struct row make_row(node a, node b, long number)
{
    struct row row = {{cons(number, a), b, cons(number + 1, b)}, number % 1000003};
    row.items[1] = cons(1, row.items[0]);
    return row;
}

static __attribute__((noinline)) void fill(node *items, int count, node first, long number)
{
    for (int i = 0; i < count; i++)
        items[i] = first = cons(number + i, i % 2 ? items[i - 1] : first);
}

static __attribute__((noinline)) void exchange(node *a, node *b, long number)
{
    node old = *a;
    *a = cons(number, *b);
    *b = old;
}

static __attribute__((noinline)) long sum_row(long number, struct row row, node list)
{
    row.items[0] = cons(number, row.items[2]);
    node last = cons(number, list);
    return sum(row.items[0]) + sum(row.items[1]) + sum(last) + row.number;
}

static __attribute__((noinline)) struct row rotated(struct row row, long number)
{
    struct row result = row;
    for (long i = 0; i < number; i++) {
        result = (struct row){{row.items[1], row.items[2], cons(i, row.items[0])}, row.number + i};
        row = result;
    }
    return result;
}

/* ---- the C library's callbacks and other calls out ---- */

static int compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    called_back = cons(x, x % 4 ? called_back : NULL);
    return x < y ? -1 : x > y;
}

/* The C library calls compare(). The number of calls differs between libraries, so only the sorted result is used. */
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

STATE _Thread_local jmp_buf *way_out;

static int leave(const void *a, const void *b)
{
    called_back = cons(*(const int *)a, called_back);
    longjmp(*way_out, 1 + (*(const int *)b & 0));
}

/* The callback does not return: frames of the C library and of the entry are abandoned. */
static __attribute__((noinline)) node left(node list, int count)
{
    int numbers[8] = {0};
    jmp_buf here, *outer = way_out;
    way_out = &here;
    if (setjmp(here) == 0)
        qsort(numbers, (size_t)count, sizeof *numbers, leave);
    way_out = outer;
    return cons(count, list);
}

struct context {
    struct couple pair;
    long number;
};

static int compare_in(const void *key, const void *element)
{
    struct context *context = (struct context *)key;
    context->pair.a = cons(*(const int *)element, context->pair.b);
    context->pair.b = cons(context->number, context->pair.a);
    return context->number - *(const int *)element;
}

/* A search finds its way in the same steps with each C library: there are three elements. */
static __attribute__((noinline)) long search(struct context *context)
{
    static const int elements[] = {0, 1, 2};
    const int *found = bsearch(context, elements, 3, sizeof *elements, compare_in);
    return found ? *found : -1;
}

static intptr_t count_nodes(intptr_t count, intptr_t b, intptr_t c, intptr_t d)
{
    node list = NULL;
    while (count-- > 0)
        list = cons(b + c + d, list);
    return sum(list);
}

static __attribute__((noinline)) long digits(long a, long b, double c)
{
    char text[80];
    return snprintf(text, sizeof text, "%ld %ld %.2f", a, b, c);
}

/* ---- unwinding ---- */

STATE _Thread_local struct _Unwind_Exception exception;
STATE _Thread_local int unwinding;

static _Unwind_Reason_Code go_on(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
                                 struct _Unwind_Exception *thrown, struct _Unwind_Context *context, void *argument)
{
    cons(version, NULL);
    return _URC_NO_REASON;
}

static __attribute__((noinline)) void throws(node list, long x)
{
    node mine = cons(x, list);
    note(value(mine));
    if ((unsigned long)(x + sum(list)) % 5 == 0) {
        unwinding = 1;
        _Unwind_ForcedUnwind(&exception, go_on, NULL);
    }
}

static void come_back(jmp_buf *here)
{
    if (unwinding) {
        unwinding = 0;
        longjmp(*here, 1);
    }
}

/* The result of f, or b if it ends with an exception. */
static __attribute__((noinline)) node caught(node (*f)(node, node, long), node a, node b, long x)
{
    jmp_buf here;
    if (setjmp(here))
        return b;
    _Defer come_back(&here);
    return f(a, b, x);
}

/* ---- handlers ---- */

struct handler {
    sigjmp_buf buffer; /* first */
    struct handler *outer;
};

STATE _Thread_local struct handler *handlers;
void tenon_enter_handler(struct handler *handler);
void tenon_pop_handler(int count);

#ifdef TN_UNMANAGED
#define HANDLER(name) struct handler name
#define TRY(handler)  (tenon_enter_handler(&(handler)), __sigsetjmp((handler).buffer, 0))
#else
int except_enter(void) __asm__("tenon.except_enter") __attribute__((returns_twice));
#define HANDLER(name)
#define TRY(handler) except_enter()
#endif

static __attribute__((noinline)) void throwing(node list, int depth)
{
    node mine = cons(depth, list);
    if (depth == 1)
        siglongjmp(handlers->buffer, 1);
    if (depth)
        throwing(mine, depth - 1);
    note(value(mine));
}

static int throw_from(const void *a, const void *b)
{
    called_back = cons(*(const int *)a, called_back);
    siglongjmp(handlers->buffer, 1 + (*(const int *)b & 0));
}

static __attribute__((noinline)) void throwing_callback(int count)
{
    int numbers[8] = {0};
    qsort(numbers, (size_t)count, sizeof *numbers, throw_from);
}

node ir_cons(long value, node next);
node ir_once(node list, long x);

#include "prologue_threads.h"
#include "prologue_leaves.h"

#ifndef OTHER_MODULE
#include "prologue_ir.h"

void tenon_enter_handler(struct handler *handler)
{
    handler->outer = handlers;
    handlers = handler;
}

/* Without a loop, in which there would be a poll: this is called as a leaf. Programs end one handler at a time. */
void tenon_pop_handler(int count)
{
    if (count > 0)
        handlers = handlers->outer;
}

/* Each program begins in the same state, whatever others did before. */
static void begin(void)
{
    for (int i = 0; i < THREADS; i++) {
        last_called_back[i] = NULL;
        for (int k = 0; k < 4; k++)
            all_globals[i][k] = NULL;
    }
    trace = 0, notes = 0;
    starts = 0;
    shared_shape = make_shape(NULL, 0);
    own_shape = NULL;
}

static void end(int program)
{
    printf("%d: %lx after %ld\n", program, trace + (unsigned long)(sum_shared() + sum_leaves()), notes);
    fflush(stdout);
}
#endif
