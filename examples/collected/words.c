/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Collected C: counts the words of its input in a tree that nobody frees. The same file is plain C with -DTN_UNMANAGED.
 *     make run */

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>

#include <tenon_managed.h>

enum { LONGEST = 63 };

struct text {
    size_t length;
    char items[];
};
TN_ARRAY_OF_LEAVES(struct text, items);

/* tn_ref says that a pointer is a reference, and TN_TYPE which members are. */
struct word {
    struct word tn_ref *before, *behind;
    struct text tn_ref *text;
    long count;
};
TN_TYPE(struct word, before, behind, text);

static struct word tn_ref *words;

static struct text tn_ref *make_text(const char *from, size_t length)
{
    struct text tn_ref *text = tn_new_array(struct text, items, length + 1);
    for (size_t i = 0; i < length; i++)
        text->items[i] = from[i];
    return text;
}

static int compare(const char *a, struct text tn_ref *b)
{
    size_t i = 0;
    while (a[i] && a[i] == b->items[i])
        i++;
    return (unsigned char)a[i] - (unsigned char)b->items[i];
}

static struct word tn_ref *add(struct word tn_ref *at, const char *word, size_t length)
{
    if (!at) {
        at = tn_new(struct word);
        at->text = make_text(word, length);
    }
    int order = compare(word, at->text);
    if (order < 0)
        at->before = add(at->before, word, length);
    else if (order > 0)
        at->behind = add(at->behind, word, length);
    else
        at->count++;
    return at;
}

static bool read_word(char *word, size_t *length)
{
    int c;
    for (*length = 0; (c = getchar()) != EOF && (isalpha(c) || !*length);)
        if (isalpha(c) && *length < LONGEST)
            word[(*length)++] = (char)tolower(c);
    word[*length] = 0;
    return *length;
}

/* printf is not managed: it gets the address of the text, which is pinned until the end of the block. */
static void print(struct word tn_ref *at)
{
    if (!at)
        return;
    print(at->before);
    {
        TN_PIN(text, at->text);
        printf("%6ld %s\n", at->count, ((struct text *)text)->items);
    }
    print(at->behind);
}

int main(void)
{
    char word[LONGEST + 1];
    for (size_t length; read_word(word, &length);)
        words = add(words, word, length);
    print(words);
    return 0;
}
