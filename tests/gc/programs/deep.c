/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A million frames on one stack, and a list of ten million: the collector walks the ones and follows the other without depth of its
 * own.
 *     deep [FRAMES NODES] */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tenon_managed.h"

struct node {
    struct node tn_ref *next;
    long value;
};
TN_TYPE(struct node, next);

typedef struct node tn_ref *node;

static long frames = 1000, nodes = 100;

static node make_list(long count)
{
    node list = NULL;
    for (long i = 0; i < count; i++) {
        node n = tn_new(struct node);
        n->value = i;
        n->next = list;
        list = n;
    }
    return list;
}

static long sum(node list)
{
    long total = 0;
    for (; list; list = list->next)
        total += list->value;
    return total;
}

static long descend(long depth, node list)
{
    node mine = tn_new(struct node);
    mine->value = depth;
    long below = depth ? descend(depth - 1, mine) : sum(make_list(nodes));
    return below + mine->value + (list ? list->value & 1 : 0);
}

static void *run(void *unused)
{
    printf("%ld\n", descend(frames, NULL));
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    pthread_attr_t attributes;
    if (argc > 2) {
        frames = atol(argv[1]);
        nodes = atol(argv[2]);
    }
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)512 << 20);
    if (pthread_create(&thread, &attributes, run, NULL))
        return 1;
    tn_call_blocking((void *)pthread_join, (intptr_t)thread, 0, 0, 0);
    return 0;
}
