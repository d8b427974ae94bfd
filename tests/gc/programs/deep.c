/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A million frames on one stack, and a list of ten million: the collector walks the ones and follows the other without
 * depth of its own.
 *     deep [FRAMES NODES] */

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "list.h"

static long frames = 1000, nodes = 100;

static long descend(long depth, node list)
{
    node mine = tn_new(struct node);
    mine->value = depth;
    long below = depth ? descend(depth - 1, mine) : sum_of(make_list(nodes));
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
