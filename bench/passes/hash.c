/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A hash map from numbers to numbers, which are boxes in its entries.
 *     hash [KEYS] */

#include "kernel.h"

struct number {
    uint64_t value;
};
TN_LEAF(struct number);
typedef struct number tn_ref *number;

struct entry {
    number key, value;
    struct entry tn_ref *next;
};
TN_TYPE(struct entry, key, value, next);
typedef struct entry tn_ref *entry;

struct map {
    size_t length;
    entry items[];
};
TN_ARRAY_OF_REFERENCES(struct map, items);
typedef struct map tn_ref *map;

static number make(uint64_t value)
{
    number n = tn_new(struct number);
    n->value = value;
    return n;
}

static number sum(number a, number b)
{
    return make(a->value + b->value);
}

static size_t bucket(map m, number key)
{
    return key->value * 0x9e3779b97f4a7c15ull % m->length;
}

static entry find(map m, number key)
{
    entry e = m->items[bucket(m, key)];
    while (e && e->key->value != key->value)
        e = e->next;
    return e;
}

static void add(map m, number key, number value)
{
    entry e = find(m, key);
    if (!e) {
        e = tn_new(struct entry);
        e->key = key;
        e->value = make(0);
        e->next = m->items[bucket(m, key)];
        m->items[bucket(m, key)] = e;
    }
    e->value = sum(e->value, value);
}

int main(int argc, char **argv)
{
    uint64_t keys = argument(argc, argv, 1, 10000), state = SEED, total = 0;
    map m = tn_new_array(struct map, items, keys + 1);
    for (uint64_t i = 0; i < 10 * keys; i++)
        add(m, make(next_random(&state) % keys), make(i));
    for (uint64_t i = 0; i < keys; i++) {
        entry e = find(m, make(i));
        total += e ? e->value->value ^ i : 0;
    }
    printf("%llu\n", (unsigned long long)total);
    return 0;
}
