/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How often a word is in a text; each comparison is of a slice, which is a box.
 *     search [LENGTH] */

#include "kernel.h"

struct string {
    size_t length;
    char items[];
};
TN_ARRAY_OF_LEAVES(struct string, items);
typedef struct string tn_ref *string;

struct slice {
    string of;
    size_t begin, end;
};
#ifdef TN_UNMANAGED
TN_LEAF(struct slice);
#else
TN_TYPE(struct slice, of);
#endif
typedef BOX(struct slice) slice;

static slice part(string of, size_t begin, size_t end)
{
    return NEW_BOX(struct slice, of, begin, end);
}

static bool equals(slice a, string b)
{
    if (UNBOX(a).end - UNBOX(a).begin != b->length)
        return false;
    for (size_t i = 0; i < b->length; i++)
        if (UNBOX(a).of->items[UNBOX(a).begin + i] != b->items[i])
            return false;
    return true;
}

static size_t occurrences(string text, string word)
{
    size_t found = 0;
    for (size_t i = 0; i + word->length <= text->length; i++)
        found += equals(part(text, i, i + word->length), word);
    return found;
}

static string random_string(size_t length, uint64_t *state)
{
    string s = tn_new_array(struct string, items, length);
    for (size_t i = 0; i < length; i++)
        s->items[i] = (char)('a' + next_random(state) % 2);
    return s;
}

int main(int argc, char **argv)
{
    uint64_t state = SEED;
    string text = random_string(argument(argc, argv, 1, 200000), &state);
    size_t found = 0;
    for (size_t length = 1; length < 20; length++)
        found += occurrences(text, random_string(length, &state));
    printf("%zu\n", found);
    return 0;
}
