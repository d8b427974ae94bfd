/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Strings: each is built in an array that doubles when it is full; some stay, and all that stay are joined now and
 * then. Most of the bytes are in large arrays without references, which die soon.
 *     strings [STRINGS LENGTH] */

#include "workload.h"

struct text {
    size_t length;
    char items[];
};
TN_ARRAY_OF_LEAVES(struct text, items);

struct builder {
    struct text tn_ref *text;
    uint64_t used;
};
TN_TYPE(struct builder, text);

struct texts {
    size_t length;
    struct builder tn_ref *items[];
};
TN_ARRAY_OF_REFERENCES(struct texts, items);

enum { FIRST = 16, KEPT = 64, JOINED = 256 };

static struct builder tn_ref *make_builder(void)
{
    struct builder tn_ref *b = tn_new(struct builder);
    b->text = tn_new_array(struct text, items, FIRST);
    return b;
}

static void append(struct builder tn_ref *b, char c)
{
    if (b->used == b->text->length) {
        struct text tn_ref *larger = tn_new_array(struct text, items, 2 * b->used);
        for (uint64_t i = 0; i < b->used; i++)
            larger->items[i] = b->text->items[i];
        b->text = larger;
    }
    b->text->items[b->used++] = c;
}

static void append_number(struct builder tn_ref *b, uint64_t number)
{
    for (; number; number /= 10)
        append(b, (char)('0' + number % 10));
    append(b, ' ');
}

static uint64_t hash_of(struct builder tn_ref *b)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (uint64_t i = 0; i < b->used; i++)
        hash = (hash ^ (unsigned char)b->text->items[i]) * 1099511628211u;
    return hash;
}

static uint64_t join(struct texts tn_ref *kept)
{
    struct builder tn_ref *all = make_builder();
    for (uint64_t i = 0; i < KEPT; i++)
        for (uint64_t k = 0; kept->items[i] && k < kept->items[i]->used; k++)
            append(all, kept->items[i]->text->items[k]);
    return hash_of(all);
}

int main(int argc, char **argv)
{
    uint64_t strings = argument(argc, argv, 1, 3000), length = argument(argc, argv, 2, 20000), state = SEED, sum = 0;
    struct texts tn_ref *kept = tn_new_array(struct texts, items, KEPT);
    for (uint64_t i = 0; i < strings; i++) {
        struct builder tn_ref *b = make_builder();
        uint64_t wanted = next_random(&state) % (2 * length) + 1;
        while (b->used < wanted)
            append_number(b, next_random(&state));
        sum += hash_of(b) % 1000;
        if (i % 4 == 0)
            kept->items[next_random(&state) % KEPT] = b;
        if (i % JOINED == JOINED - 1)
            sum += join(kept) % 1000;
    }
    printf("sum %llu\n", (unsigned long long)sum);
    return 0;
}
