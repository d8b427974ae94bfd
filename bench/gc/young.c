/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Small objects that die young; a ring keeps the last ones.
 *     young [MILLIONS] */

#include "workload.h"

struct small {
    struct small tn_ref *next;
    uint64_t words[1];
};
struct middle {
    struct small tn_ref *next;
    uint64_t words[3];
};
struct large {
    struct small tn_ref *next;
    uint64_t words[7];
};
TN_TYPE(struct small, next);
TN_TYPE(struct middle, next);
TN_TYPE(struct large, next);

enum { RING = 1024 };

static void tn_ref *ring[RING];

static struct small tn_ref *make_small(uint64_t word)
{
    struct small tn_ref *s = tn_new(struct small);
    s->words[0] = word;
    return s;
}

/* All of them begin with the same member. */
static void drop(void tn_ref *object)
{
    if (!FREES || !object)
        return;
    FREE(((struct middle tn_ref *)object)->next);
    FREE(object);
}

int main(int argc, char **argv)
{
    uint64_t count = argument(argc, argv, 1, 100) * 1000000, sum = 0, start = now_ns();
    for (uint64_t i = 0; i < count; i += 4) {
        uint64_t slot = i / 2 % RING;
        struct small tn_ref *first = make_small(i);
        struct middle tn_ref *m = tn_new(struct middle);
        m->next = first;
        m->words[0] = i;
        struct small tn_ref *second = make_small(i);
        struct large tn_ref *l = tn_new(struct large);
        l->next = second;
        l->words[0] = i;
        drop(ring[slot]);
        drop(ring[slot + 1]);
        ring[slot] = m;
        ring[slot + 1] = l;
        sum += m->next->words[0];
    }
    double seconds = (double)(now_ns() - start) / 1e9, bytes = (double)count / 4 * (16 + 32 + 16 + 64);
    fprintf(stderr, "loop %.3f s, %.2f GB/s, %.1f M objects/s\n", seconds, bytes / seconds / 1e9,
            (double)count / seconds / 1e6);
    printf("sum %llu\n", (unsigned long long)sum);
    return 0;
}
