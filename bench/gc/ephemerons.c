/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A cache of what was computed from objects, which must not keep these alive: ephemerons in a hash table. Values refer
 * to their keys, and to the keys of other entries, so chains of entries live and die together.
 *     ephemerons [OBJECTS STEPS] */

#include "workload.h"

struct object {
    uint64_t number;
    struct object tn_ref *other;
};
TN_TYPE(struct object, other);

struct value {
    struct object tn_ref *key, *next;
    uint64_t words[4];
};
TN_TYPE(struct value, key, next);

struct entry {
    struct tn_ephemeron tn_ref *pair;
    struct entry tn_ref *chain;
};
TN_TYPE(struct entry, pair, chain);

struct objects {
    size_t length;
    struct object tn_ref *items[];
};
struct entries {
    size_t length;
    struct entry tn_ref *items[];
};
TN_ARRAY_OF_REFERENCES(struct objects, items);
TN_ARRAY_OF_REFERENCES(struct entries, items);

enum { BUCKETS = 1 << 16 };

static struct entries tn_ref *buckets;
static uint64_t computed, found, cleared;

static struct object tn_ref *make_object(uint64_t number)
{
    struct object tn_ref *o = tn_new(struct object);
    o->number = number;
    return o;
}

/* The value of a key. Entries whose keys died are removed on the way. */
static struct value tn_ref *look_up(struct object tn_ref *key, struct object tn_ref *next)
{
    uint64_t bucket = key->number * 0x9E3779B97F4A7C15u >> 20 & (BUCKETS - 1);
    struct entry tn_ref *before = NULL;
    for (struct entry tn_ref *e = buckets->items[bucket]; e; e = e->chain) {
        if (e->pair->key == key) {
            found++;
            return (struct value tn_ref *)e->pair->value;
        }
        if (e->pair->key) {
            before = e;
            continue;
        }
        cleared++;
        if (before)
            before->chain = e->chain;
        else
            buckets->items[bucket] = e->chain;
    }
    struct value tn_ref *v = tn_new(struct value);
    v->key = key;
    v->next = next;
    v->words[0] = key->number * 3;
    struct entry tn_ref *e = tn_new(struct entry);
    e->pair = tn_new_ephemeron(key, v);
    e->chain = buckets->items[bucket];
    buckets->items[bucket] = e;
    computed++;
    return v;
}

int main(int argc, char **argv)
{
    uint64_t count = argument(argc, argv, 1, 20000), steps = argument(argc, argv, 2, 1000000), state = SEED, sum = 0;
    struct objects tn_ref *objects = tn_new_array(struct objects, items, count);
    buckets = tn_new_array(struct entries, items, BUCKETS);
    for (uint64_t i = 0; i < count; i++)
        objects->items[i] = make_object(i);
    for (uint64_t i = 0; i < steps; i++) {
        uint64_t at = next_random(&state) % count, other = next_random(&state) % count;
        if (i % 4 == 0)
            objects->items[at] = make_object(count + i);
        struct value tn_ref *v = look_up(objects->items[at], objects->items[other]);
        if (v->key != objects->items[at] || !v->next)
            puts("another key's value");
        sum += v->words[0];
    }
    fprintf(stderr, "%llu entries removed\n", (unsigned long long)cleared);
    printf("sum %llu computed %llu found %llu\n", (unsigned long long)sum, (unsigned long long)computed,
           (unsigned long long)found);
    return 0;
}
