/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An LRU cache, a hash table and a list, replaced all the time: most objects live long and die old, and old ones are
 * stored to.
 *     lru [ENTRIES REQUESTS] */

#include "workload.h"

struct value {
    uint64_t words[3];
};
TN_LEAF(struct value);

struct entry {
    uint64_t key;
    struct entry tn_ref *chain, *newer, *older;
    struct value tn_ref *value;
};
TN_TYPE(struct entry, chain, newer, older, value);

struct buckets {
    size_t length;
    struct entry tn_ref *items[];
};
TN_ARRAY_OF_REFERENCES(struct buckets, items);

typedef struct entry tn_ref *entry;

static struct buckets tn_ref *buckets;
static entry newest, oldest;
static uint64_t live, capacity, hits, sum;

static uint64_t bucket_of(uint64_t key)
{
    return (key * 0x9E3779B97F4A7C15u) >> 20 & (buckets->length - 1);
}

static void unlink_entry(entry e)
{
    if (e->newer)
        e->newer->older = e->older;
    else
        newest = e->older;
    if (e->older)
        e->older->newer = e->newer;
    else
        oldest = e->newer;
}

static void make_newest(entry e)
{
    e->newer = NULL;
    e->older = newest;
    if (newest)
        newest->newer = e;
    else
        oldest = e;
    newest = e;
}

static void evict(void)
{
    entry e = oldest;
    uint64_t bucket = bucket_of(e->key);
    entry at = buckets->items[bucket];
    if (at == e) {
        buckets->items[bucket] = e->chain;
    } else {
        while (at->chain != e)
            at = at->chain;
        at->chain = e->chain;
    }
    unlink_entry(e);
    live--;
    FREE(e->value);
    FREE(e);
}

static struct value tn_ref *make_value(uint64_t key)
{
    struct value tn_ref *v = tn_new(struct value);
    v->words[0] = v->words[1] = v->words[2] = key;
    return v;
}

static void request(uint64_t key)
{
    uint64_t bucket = bucket_of(key);
    entry e = buckets->items[bucket];
    while (e && e->key != key)
        e = e->chain;
    if (e) {
        hits++;
        sum += e->value->words[0];
        unlink_entry(e);
        make_newest(e);
        if (hits % 4 == 0) {
            FREE(e->value);
            e->value = make_value(key);
        }
        return;
    }
    if (live == capacity)
        evict();
    e = tn_new(struct entry);
    e->key = key;
    e->value = make_value(key);
    e->chain = buckets->items[bucket];
    buckets->items[bucket] = e;
    make_newest(e);
    live++;
}

int main(int argc, char **argv)
{
    enum { BATCH = 1000 };
    uint64_t requests = argument(argc, argv, 2, 20000000), state = SEED, count = 1, worst = 0;
    capacity = argument(argc, argv, 1, 4000000);
    while (count < capacity)
        count *= 2;
    buckets = tn_new_array(struct buckets, items, count);
    for (uint64_t key = 0; key < capacity; key++)
        request(key);
    uint64_t start = now_ns();
    for (uint64_t i = 0; i < requests; i += BATCH) {
        uint64_t before = now_ns();
        for (int j = 0; j < BATCH; j++)
            request(next_random(&state) % (capacity * 2));
        uint64_t took = now_ns() - before;
        worst = took > worst ? took : worst;
    }
    fprintf(stderr, "loop %.3f s, worst %d requests %.2f ms\n", (double)(now_ns() - start) / 1e9, BATCH,
            (double)worst / 1e6);
    printf("hits %llu sum %llu live %llu\n", (unsigned long long)hits, (unsigned long long)sum,
           (unsigned long long)live);
    return 0;
}
