/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Fourth part of the prologue: code without safepoints that touches objects, and calls of it by native code (native.c),
 * by the other module, through tables of methods, and by threads; atomic operations, and a stack without locks. What
 * threads share is added up at the end, as in prologue_threads.h. */

struct shape;
struct methods {
    long (*get)(struct shape tn_ref *shape);
    void (*set)(struct shape tn_ref *shape, long number);
    node (*list)(struct shape tn_ref *shape);
    void (*give)(struct shape tn_ref *shape, node list);
    long (*value)(void);
};
struct shape {
    const struct methods *methods;
    node list;
    long number;
};
TN_TYPE(struct shape, list);

/* Each module has methods of its own. */
extern const struct methods first_methods, other_methods;

STATE struct shape tn_ref *all_shapes[THREADS];
STATE struct shape tn_ref *shared_shape;
STATE struct nodes tn_ref *compared[THREADS];
STATE node handed[THREADS];
STATE int readers[THREADS], phases[THREADS];
#define own_shape (all_shapes[self])

long native_get(long count), native_set(long number);
long native_call(long (*getter)(void), void (*setter)(long number), long number);
void native_sort(int *numbers, int count, int (*compare)(const void *a, const void *b));
void native_start(void *(*start)(void *argument), long argument, int *phase);
long native_join(void);

/* How long a leaf has a reference: collections of other threads must not come in between. Short enough for the loop to
 * have no poll, which would be a collection in each turn under stress. */
static void stay(void)
{
    static volatile int zero;
    for (int i = 0, sum = 0; i < 1000; i++)
        sum += zero;
}

/* ---- methods ---- */

static long get_number(struct shape tn_ref *shape)
{
    stay();
    return shape->number;
}

static void set_number(struct shape tn_ref *shape, long number)
{
    shape->number = (unsigned long)number % 1000003;
}

static node get_list(struct shape tn_ref *shape)
{
    return shape->list;
}

static void set_list(struct shape tn_ref *shape, node list)
{
    shape->list = list;
}

/* An object of this thread, which no other thread moves meanwhile. */
static struct shape tn_ref *find_own(void)
{
    struct shape tn_ref *shape = *(struct shape tn_ref *volatile *)&own_shape;
    stay();
    return shape == *(struct shape tn_ref *volatile *)&own_shape ? shape : NULL;
}

static long own_value(void)
{
    struct shape tn_ref *shape = find_own();
    return shape ? value(shape->list) : -2;
}

#ifdef OTHER_MODULE
const struct methods other_methods
#else
const struct methods first_methods
#endif
    = {get_number, set_number, get_list, set_list, own_value};

static __attribute__((noinline)) struct shape tn_ref *make_shape(node list, long which)
{
    struct shape tn_ref *shape = tn_new(struct shape);
    shape->methods = which & 1 ? &first_methods : &other_methods;
    shape->list = list;
    shape->number = (unsigned long)which % 1000003;
    return own_shape = shape;
}

/* ---- what native code calls ---- */

#ifdef OTHER_MODULE
long leaf_get(void), leaf_value(void);
void leaf_set(long number), leaf_give(long which);
#else
long leaf_get(void)
{
    struct shape tn_ref *shape = find_own();
    return shape ? shape->number : 0;
}

long leaf_value(void)
{
    return own_value();
}

void leaf_set(long number)
{
    if (own_shape)
        set_number(own_shape, number);
}

void leaf_give(long which)
{
    if (own_shape)
        own_shape->list = globals[which & 3];
}
#endif

/* ---- calls ---- */

/* Through tables of methods; and of the functions above, which another module may have. */
static __attribute__((noinline)) node virtual_calls(node list, long number, int count)
{
    struct shape tn_ref *shape = own_shape ? own_shape : make_shape(list, number);
    for (int i = 0; i < count; i++) {
        node before = shape->methods->list(shape);
        shape->methods->set(shape, number + i);
        list = cons(shape->methods->get(shape), list);
        shape->methods->give(shape, list);
        note(sum(before) + shape->methods->value() + leaf_get() + leaf_value());
        if (shape->methods->list(shape) != list)
            note(-1);
    }
    leaf_set(number);
    return shape->list;
}

static int compare_values(const void *a, const void *b)
{
    int i = *(const int *)a, k = *(const int *)b;
    struct nodes tn_ref *nodes = compared[self];
    long x = value(nodes->items[i]), y = value(nodes->items[k]);
    return x != y ? (x > y) - (x < y) : i - k;
}

static __attribute__((noinline)) node sorted_by_leaf(node list, int count)
{
    int numbers[8];
    struct nodes tn_ref *nodes = make_nodes((size_t)count, list);
    for (int i = 0; i < count; i++)
        numbers[i] = i;
    compared[self] = nodes;
    native_sort(numbers, count, compare_values);
    compared[self] = NULL;
    for (int i = 0; i < count; i++)
        list = cons(numbers[i] * 3 + value(nodes->items[numbers[i]]), list);
    return list;
}

/* A thread starts with this, and has a reference while the other one goes on. */
static void *read_list(void *argument)
{
    intptr_t number = (intptr_t)argument;
    node n = *(node volatile *)&handed[number];
    __atomic_store_n(&phases[number], 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&phases[number], __ATOMIC_ACQUIRE) == 1)
        ;
    for (int i = 0; i < 50; i++)
        stay();
    long total = n != *(node volatile *)&handed[number];
    for (int k = 0; n && k < 6; k++, n = n->next)
        total += n->value * (k + 1);
    return (void *)total;
}

static __attribute__((noinline)) long started(node list)
{
    if (readers[self]++ >= STARTS)
        return 1;
    handed[self] = list;
    native_start(read_list, (long)self, &phases[self]);
    for (int i = 0; i < 20; i++)
        cons(i, list);
    long total = native_join();
    handed[self] = NULL;
    return total;
}

/* ---- atomic operations ---- */

static __attribute__((noinline)) long exchange_atomically(long number)
{
    struct shape tn_ref *shape = own_shape;
    if (!shape)
        return 0;
    long old = __atomic_exchange_n(&shape->number, (unsigned long)number % 1000003, __ATOMIC_SEQ_CST);
    long sum = __atomic_add_fetch(&shape->number, 3, __ATOMIC_ACQ_REL);
    __atomic_compare_exchange_n(&shape->number, &sum, old, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
    return old + sum;
}

/* Of all threads. */
static __attribute__((noinline)) void add_atomically(long number)
{
    if (shared_shape)
        __atomic_fetch_add(&shared_shape->number, (unsigned long)number % 1009, __ATOMIC_RELAXED);
}

/* ---- a stack without locks, in IR, since atomic operations on references are not in C ---- */

void stack_push(node n);
node stack_pop(void);

#if defined(TN_UNMANAGED) && !defined(OTHER_MODULE)
static node stack;

void stack_push(node n)
{
    node head = __atomic_load_n(&stack, __ATOMIC_ACQUIRE);
    do
        n->next = head;
    while (!__atomic_compare_exchange_n(&stack, &head, n, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

node stack_pop(void)
{
    node head = __atomic_load_n(&stack, __ATOMIC_ACQUIRE);
    while (head && !__atomic_compare_exchange_n(&stack, &head, head->next, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
    return head;
}
#endif

/* The stack's nodes are in no other list, and none is pushed twice. */
static __attribute__((noinline)) void push(long number, int count)
{
    for (int i = 0; i < count; i++) {
        node n = cons(number + i, NULL);
        n->other = cons(value(n), NULL);
        stack_push(n);
    }
}

static __attribute__((noinline)) void exchange_on_stack(int count)
{
    for (int i = 0; i < count; i++) {
        node n = stack_pop();
        if (!n)
            continue;
        if (value(n->other) != value(n))
            note(-3);
        push(value(n), 1);
    }
}

static long sum_stack(void)
{
    long total = 0;
    for (node n = stack_pop(); n; n = stack_pop())
        total += value(n) + value(n->other);
    return total;
}

static long sum_leaves(void)
{
    long total = sum_stack() + (shared_shape ? shared_shape->number : 0);
    shared_shape = NULL;
    for (int i = 0; i < THREADS; i++)
        all_shapes[i] = NULL, readers[i] = 0;
    return total;
}
