/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Eight threads build, share, rewrite and drop objects for a while; each object says what it must refer to, and the
 * threads check that all the time. Now and then one ends and another one takes its place, and one asks for a
 * collection.
 *     mutators [SECONDS] */

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tenon_managed.h"

enum { THREADS = 8, SLOTS = 64, ELEMENTS = 600, DEPTH = 4, ROUNDS = 400 };

/* Of a tree: the number of each node follows from that of its parent. */
struct node {
    struct node tn_ref *left, *right;
    uint64_t number;
};
TN_TYPE(struct node, left, right);

struct nodes {
    size_t length;
    struct node tn_ref *items[];
};
TN_ARRAY_OF_REFERENCES(struct nodes, items);

struct bytes {
    size_t length;
    uint64_t items[];
};
TN_ARRAY_OF_LEAVES(struct bytes, items);

typedef struct node tn_ref *node;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static node shared[SLOTS];
static struct nodes tn_ref *table;
static _Atomic uint64_t wrong, rounds;

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static node make(uint64_t number, int depth)
{
    node n = tn_new(struct node);
    n->number = number;
    if (depth) {
        n->left = make(2 * number, depth - 1);
        n->right = make(2 * number + 1, depth - 1);
    }
    return n;
}

static void check(node n)
{
    if (!n || !n->left)
        return;
    wrong += n->left->number != 2 * n->number || n->right->number != 2 * n->number + 1;
    check(n->left);
    check(n->right);
}

static void take_lock(void)
{
    tn_call_blocking((void *)pthread_mutex_lock, (intptr_t)&lock, 0, 0, 0);
}

/* Subtrees of a shared tree are replaced by new ones, or by those of another thread. */
static void share(uint64_t *state, node mine)
{
    uint64_t slot = next_random(state) % SLOTS, at = next_random(state) % ELEMENTS;
    take_lock();
    node other = shared[slot];
    shared[slot] = mine;
    if (other && other->left)
        other->left = make(2 * other->number, 2);
    table->items[at] = other;
    table->items[(at * 7 + 1) % ELEMENTS] = mine->right;
    check(table->items[(at * 13) % ELEMENTS]);
    pthread_mutex_unlock(&lock);
}

/* Large objects and medium ones, with what was written into them. */
static void use_bytes(uint64_t *state)
{
    uint64_t length = next_random(state) % 100 ? next_random(state) % 60 + 1 : next_random(state) % 20000 + 1;
    struct bytes tn_ref *b = tn_new_array(struct bytes, items, length);
    wrong += b->items[length - 1] != 0;
    b->items[length - 1] = length;
    node kept = make(length, 1);
    wrong += b->items[length - 1] != length;
    check(kept);
}

static void work(uint64_t seed)
{
    uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
    node own = make(seed, DEPTH);
    struct nodes tn_ref *mine = tn_new_array(struct nodes, items, ELEMENTS);
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t at = next_random(&state) % ELEMENTS;
        mine->items[at] = make(next_random(&state) >> 20, DEPTH);
        check(mine->items[next_random(&state) % ELEMENTS]);
        struct tn_weak tn_ref *weak = tn_new_weak(mine->items[at]);
        use_bytes(&state);
        node still = (node)weak->target;
        wrong += still != mine->items[at];
        if (round % 8 == 0)
            share(&state, make(next_random(&state) >> 20, DEPTH));
        check(own);
        rounds++;
    }
}

static void *run(void *seed)
{
    work((uint64_t)(uintptr_t)seed);
    if ((uintptr_t)seed % 64 == 0)
        tn_heap_collect(tn_heap_current(), (uintptr_t)seed % 128 ? TN_COLLECT_FULL : TN_COLLECT_PARTIAL);
    return NULL;
}

int main(int argc, char **argv)
{
    time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
    pthread_t threads[THREADS];
    uint64_t started = 0;
    table = tn_new_array(struct nodes, items, ELEMENTS);
    for (; started < THREADS; started++)
        if (pthread_create(&threads[started], NULL, run, (void *)(uintptr_t)started))
            return 1;
    while (time(NULL) < end && !wrong) {
        uint64_t at = started % THREADS;
        pthread_join(threads[at], NULL);
        if (pthread_create(&threads[at], NULL, run, (void *)(uintptr_t)started++))
            return 1;
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    fprintf(stderr, "%llu rounds of %llu threads\n", (unsigned long long)rounds, (unsigned long long)started);
    printf("wrong: %llu\n", (unsigned long long)wrong);
    return wrong != 0;
}
