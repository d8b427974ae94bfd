/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What compiled code calls, in collected C: clang makes bitcode of it, which becomes a part of the command and of every
 * executable. Nothing is freed here: the collector does that. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon_managed.h>

/* Behind the bytes is a 0, for C functions. The collector moves and saves as many items as `length` says, so the 0 is
 * one of them. */
struct text {
    size_t length;
    char items[];
};
TN_ARRAY_OF_LEAVES(struct text, items);

struct words {
    size_t length;
    long items[];
};
TN_ARRAY_OF_LEAVES(struct words, items);

struct references {
    size_t length;
    void tn_ref *items[];
};
TN_ARRAY_OF_REFERENCES(struct references, items);

/* ---- strings ---- */

static struct text tn_ref *new_text(size_t length)
{
    struct text tn_ref *text = tn_new_array(struct text, items, length + 1);
    text->items[length] = 0;
    return text;
}

/* Without the 0. */
static size_t length_of(struct text tn_ref *text)
{
    return text->length - 1;
}

struct text tn_ref *dowel_text(const char *bytes, size_t length)
{
    struct text tn_ref *text = new_text(length);
    for (size_t i = 0; i < length; i++)
        text->items[i] = bytes[i];
    return text;
}

struct text tn_ref *dowel_text_of_i64(long number)
{
    char bytes[32];
    return dowel_text(bytes, (size_t)snprintf(bytes, sizeof bytes, "%ld", number));
}

/* As few digits as are read as the same number, but for the last two. */
struct text tn_ref *dowel_text_of_double(double number)
{
    char bytes[64];
    int length = 0;
    for (int digits = 15; digits <= 17; digits++) {
        length = snprintf(bytes, sizeof bytes, "%.*g", digits, number);
        if (strtod(bytes, NULL) == number)
            break;
    }
    return dowel_text(bytes, (size_t)length);
}

struct text tn_ref *dowel_text_of_bool(_Bool value)
{
    return value ? dowel_text("true", 4) : dowel_text("false", 5);
}

struct text tn_ref *dowel_join(struct text tn_ref *a, struct text tn_ref *b)
{
    size_t length = length_of(a);
    struct text tn_ref *both = new_text(length + length_of(b));
    for (size_t i = 0; i < length; i++)
        both->items[i] = a->items[i];
    for (size_t i = 0; i < length_of(b); i++)
        both->items[length + i] = b->items[i];
    return both;
}

/* The bytes from one place up to another, as far as there are any. */
struct text tn_ref *dowel_sub(struct text tn_ref *text, long from, long to)
{
    from = from < 0 ? 0 : from;
    to = to > (long)length_of(text) ? (long)length_of(text) : to;
    struct text tn_ref *part = new_text(from < to ? (size_t)(to - from) : 0);
    for (size_t i = 0; i < length_of(part); i++)
        part->items[i] = text->items[(size_t)from + i];
    return part;
}

long dowel_equal(struct text tn_ref *a, struct text tn_ref *b)
{
    if (a->length != b->length)
        return 0;
    for (size_t i = 0; i < a->length; i++)
        if (a->items[i] != b->items[i])
            return 0;
    return 1;
}

/* printf is not managed: it gets the address of the string, which stays where it is until the end of the block. */
void dowel_print(struct text tn_ref *text)
{
    TN_PIN(address, text);
    printf("%s\n", ((struct text *)address)->items);
}

/* ---- arrays ---- */

struct words tn_ref *dowel_words(size_t length, long first)
{
    struct words tn_ref *words = tn_new_array(struct words, items, length);
    for (size_t i = 0; i < length; i++)
        words->items[i] = first;
    return words;
}

struct references tn_ref *dowel_references(size_t length, void tn_ref *first)
{
    struct references tn_ref *references = tn_new_array(struct references, items, length);
    for (size_t i = 0; i < length; i++)
        references->items[i] = first;
    return references;
}

struct text tn_ref *dowel_bad_index(long index, long length)
{
    char bytes[100];
    return dowel_text(bytes, (size_t)snprintf(bytes, sizeof bytes, "there is no element %ld of %ld", index, length));
}

#include "map_runtime.c"

/* ---- errors ---- */

/* A handler is a buffer in the frame of its function (doc/IR.md, "Handlers"), which begins with a sigjmp_buf and ends
 * with the address of the handler around it. */
enum { LINK = 504 };

static void *handlers;
static struct text tn_ref *thrown;
static const char *thrown_file;
static long thrown_line;

_Noreturn void siglongjmp(void *buffer, int value);

void tenon_enter_handler(void *buffer)
{
    memcpy((char *)buffer + LINK, &handlers, sizeof handlers);
    handlers = buffer;
}

/* One at a time. */
void tenon_pop_handler(int count)
{
    (void)count;
    memcpy(&handlers, (char *)handlers + LINK, sizeof handlers);
}

void dowel_throw(struct text tn_ref *text, const char *file, long line)
{
    thrown = text;
    thrown_file = file;
    thrown_line = line;
    siglongjmp(handlers, 1);
}

struct text tn_ref *dowel_caught(void)
{
    return thrown;
}

/* Of what nothing has caught. */
void dowel_report(void)
{
    TN_PIN(address, thrown);
    fflush(NULL);
    dprintf(2, "%s:%ld: %s\n", thrown_file, thrown_line, ((struct text *)address)->items);
}
