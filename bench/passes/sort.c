/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Merge sort of boxed numbers; ranges are boxes, and each merge has an array of its own.
 *     sort [LENGTH] */

#include "kernel.h"

struct number {
    uint64_t value;
};
TN_LEAF(struct number);
typedef struct number tn_ref *number;

struct numbers {
    size_t length;
    number items[];
};
TN_ARRAY_OF_REFERENCES(struct numbers, items);
typedef struct numbers tn_ref *numbers;

struct range {
    size_t begin, end;
};
TN_LEAF(struct range);
typedef BOX(struct range) range;

static size_t length_of(range r)
{
    return UNBOX(r).end - UNBOX(r).begin;
}

static range lower(range r)
{
    return NEW_BOX(struct range, UNBOX(r).begin, UNBOX(r).begin + length_of(r) / 2);
}

static range upper(range r)
{
    return NEW_BOX(struct range, UNBOX(r).begin + length_of(r) / 2, UNBOX(r).end);
}

static void merge(numbers all, range low, range high)
{
    numbers merged = tn_new_array(struct numbers, items, length_of(low) + length_of(high));
    size_t i = UNBOX(low).begin, k = UNBOX(high).begin;
    for (size_t n = 0; n < merged->length; n++) {
        bool takes_low = k == UNBOX(high).end || (i < UNBOX(low).end && all->items[i]->value <= all->items[k]->value);
        merged->items[n] = takes_low ? all->items[i++] : all->items[k++];
    }
    for (size_t n = 0; n < merged->length; n++)
        all->items[UNBOX(low).begin + n] = merged->items[n];
}

static void sort(numbers all, size_t begin, size_t end)
{
    range whole = NEW_BOX(struct range, begin, end), low = lower(whole), high = upper(whole);
    if (length_of(whole) < 2)
        return;
    sort(all, UNBOX(low).begin, UNBOX(low).end);
    sort(all, UNBOX(high).begin, UNBOX(high).end);
    merge(all, low, high);
}

int main(int argc, char **argv)
{
    uint64_t state = SEED, sum = 0;
    numbers all = tn_new_array(struct numbers, items, argument(argc, argv, 1, 100000));
    for (size_t i = 0; i < all->length; i++) {
        number n = tn_new(struct number);
        n->value = next_random(&state);
        all->items[i] = n;
    }
    sort(all, 0, all->length);
    for (size_t i = 0; i < all->length; i++)
        sum = sum * 31 + all->items[i]->value;
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
