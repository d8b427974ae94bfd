/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Ephemerons whose keys were not reached so far. Reaching the value of one may reach the key of another, and so on
 * along chains as long as the list; looking at all of them again for each link would take the square of their number.
 * So if there are many, they wait in a table by their keys, and each object that is reached is looked up in it
 * (tn__reached). */

#include "gc/collect/collect.h"

enum { KEY, VALUE, NEXT };

/* Chains begin in `buckets` and are linked by NEXT, as all lists of ephemerons are. */
struct tn__keys {
    void **buckets;
    size_t capacity;
    void *woken; /* their keys were reached */
};

static void **bucket_of(const struct tn__keys *keys, const void *key)
{
    return &keys->buckets[((uintptr_t)key >> 3) * 0x9E3779B97F4A7C15u >> 20 & (keys->capacity - 1)];
}

static void push(void **list, void **ephemeron)
{
    ephemeron[NEXT] = *list;
    *list = ephemeron;
}

static void **pop(void **list)
{
    void **first = *list;
    if (first)
        *list = first[NEXT];
    return first;
}

void tn__key_reached(struct tn__collecting *c, const void *object)
{
    for (void **at = bucket_of(c->keys, object); *at;) {
        void **ephemeron = *at;
        if (ephemeron[KEY] != object) {
            at = &ephemeron[NEXT];
            continue;
        }
        *at = ephemeron[NEXT];
        push(&c->keys->woken, ephemeron);
    }
}

/* False: no memory, so that all that wait are looked at each time. */
static bool open_keys(struct tn__keys *keys, size_t count)
{
    for (keys->capacity = 1; keys->capacity < count;)
        keys->capacity *= 2;
    keys->buckets = tn__alloc_zeroed(NULL, keys->capacity, sizeof *keys->buckets);
    return keys->buckets;
}

static void reach(struct tn__collecting *c, void **ephemeron)
{
    ephemeron[NEXT] = NULL;
    c->tracing->forward(c, &ephemeron[KEY]);
    c->tracing->forward(c, &ephemeron[VALUE]);
}

/* Reaches the values of ephemerons whose keys are live; the others wait. Returns how many wait; SIZE_MAX: no value was
 * reached. */
static size_t look_at_all(struct tn__collecting *c, void *list, void **waiting)
{
    size_t count = 0;
    bool found = false;
    for (void **ephemeron; (ephemeron = pop(&list));) {
        if (c->tracing->is_live(c, ephemeron[KEY])) {
            reach(c, ephemeron);
            found = true;
        } else {
            push(c->keys ? bucket_of(c->keys, ephemeron[KEY]) : waiting, ephemeron);
            count++;
        }
    }
    return found ? count : SIZE_MAX;
}

static void *take(void **list)
{
    void *all = *list;
    *list = NULL;
    return all;
}

static void append(void **list, void *more)
{
    for (void **ephemeron; (ephemeron = pop(&more));)
        push(list, ephemeron);
}

/* From now on they wait in the table. Some keys may have been reached since they were looked at. */
static void enter_all(struct tn__collecting *c, struct tn__keys *keys, void *waiting)
{
    c->keys = keys;
    for (void **ephemeron; (ephemeron = pop(&waiting));)
        push(c->tracing->is_live(c, ephemeron[KEY]) ? &keys->woken : bucket_of(keys, ephemeron[KEY]), ephemeron);
}

static void close_keys(struct tn__collecting *c)
{
    struct tn__keys *keys = c->keys;
    for (size_t i = 0; i < keys->capacity; i++)
        append(&c->ephemerons, keys->buckets[i]);
    tn__free(NULL, keys->buckets);
    c->keys = NULL;
}

void tn__settle_ephemerons(struct tn__collecting *c)
{
    enum { MANY = 32 };
    struct tn__keys keys = {0};
    void *waiting = NULL;
    for (bool goes_on = true; goes_on;) {
        append(&c->ephemerons, take(&waiting));
        size_t count = look_at_all(c, take(&c->ephemerons), &waiting);
        for (void **ephemeron; (ephemeron = pop(&keys.woken));)
            reach(c, ephemeron);
        if (count != SIZE_MAX && count >= MANY && !c->keys && open_keys(&keys, count))
            enter_all(c, &keys, take(&waiting)); /* before anything more is reached */
        c->tracing->drain(c);                    /* may find new ones */
        goes_on = c->ephemerons || keys.woken || (waiting && count != SIZE_MAX);
    }
    if (c->keys)
        close_keys(c);
    append(&c->ephemerons, waiting);
}

void tn__clear_ephemerons(struct tn__collecting *c)
{
    for (void **ephemeron, *list = take(&c->ephemerons); (ephemeron = pop(&list));)
        ephemeron[KEY] = ephemeron[VALUE] = ephemeron[NEXT] = NULL;
}
