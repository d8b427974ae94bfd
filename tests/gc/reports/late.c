/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A destructor of thread-specific data that is managed code and comes in each round, also when the thread is detached
 * already. late leaf: one without safepoints does. */

#include <pthread.h>
#include <string.h>

#include <tenon_managed.h>

struct node {
    long value;
};
TN_LEAF(struct node);

static struct node tn_ref *kept;
static pthread_key_t key, leaf_key;
static int rounds, has_leaf;

/* In the round in which it would come too late itself, only the leaf is there. */
static void use(void *value)
{
    kept = tn_new(struct node);
    if (!has_leaf || ++rounds < 2)
        pthread_setspecific(key, value);
    if (has_leaf)
        pthread_setspecific(leaf_key, value);
}

static void read_only(void *value)
{
    kept->value += *(long *)value;
}

static void *run(void *unused)
{
    static long one = 1;
    pthread_setspecific(key, &one);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    has_leaf = argc > 1 && strcmp(argv[1], "leaf") == 0;
    kept = tn_new(struct node);
    if (pthread_key_create(&leaf_key, read_only) || pthread_key_create(&key, use) ||
        pthread_create(&thread, NULL, run, NULL))
        return 2;
    return pthread_join(thread, NULL);
}
