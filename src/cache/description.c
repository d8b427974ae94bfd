/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Descriptions of modules: checked and copied, written and read. As bytes, with words of 4: a header (magic, flags,
 * number of parts, number of symbols, bytes of texts), a row for each symbol in the order of parts (part, name, `of`,
 * body, flags, managed registers, managed words in memory), texts, each with a NUL, and layouts of types. The place of
 * a text counts from 1; 0: there is none. */

#include "cache/description.h"

#include "base/types.h"

#define MAGIC 0x31646e54 /* "Tnd1" */

enum { HEADER = 20, ROW = 28 };

/* ---- checking, and copying ---- */

static int fail_damaged(struct tn_error *err)
{
    return tn__fail(err, TN_EFORMAT, "the description of a module is damaged");
}

static bool is_sound_symbol(const struct tn_module_symbol *s)
{
    const uint32_t without_body = TN__SYMBOL_DISCARDABLE | TN__SYMBOL_CALLABLE;
    return s->name && *s->name && (s->flags & ~(s->body ? 0 : without_body)) <= TN__SYMBOL_ALL &&
           (!s->of || (*s->of && !s->body)) && (!s->body || *s->body);
}

/* Every part but the first begins with a symbol that its object defines. */
static bool is_sound(const struct tn_module_description *d)
{
    uint32_t part = 0;
    if (d->flags > TN__DESCRIBED_ALL || !d->parts || d->parts - 1 > d->count ||
        (d->parts > 1 && d->flags & TN__DESCRIBED_WHOLE) || !tn__types_are_sound(d->types, d->types_size))
        return false;
    for (size_t i = 0; i < d->count; i++) {
        const struct tn_module_symbol *s = &d->symbols[i];
        bool begins = s->part != part;
        if (!is_sound_symbol(s) || s->part >= d->parts || (begins && (s->part != part + 1 || s->of)))
            return false;
        part = s->part;
    }
    return part == d->parts - 1;
}

static size_t size_of(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static size_t text_size(const struct tn_module_description *d)
{
    size_t size = 0;
    for (const struct tn_module_symbol *s = d->symbols; s < d->symbols + d->count; s++)
        size += size_of(s->name) + size_of(s->of) + size_of(s->body);
    return size;
}

static const char *copy_text(char **at, const char *text)
{
    const char *copy = *at;
    if (!text)
        return NULL;
    *at = stpcpy(*at, text) + 1;
    return copy;
}

static void copy_symbols(const struct tn_module_description *from, struct tn__description *to, char *texts)
{
    for (size_t i = from->count; i-- > 0;) { /* so that the first of each part is the last that is noted */
        const struct tn_module_symbol *s = &from->symbols[i];
        to->first[s->part] = i;
        to->symbols[i] = *s;
        to->symbols[i].name = copy_text(&texts, s->name);
        to->symbols[i].of = copy_text(&texts, s->of);
        to->symbols[i].body = copy_text(&texts, s->body);
    }
    to->first[0] = 0; /* which may define nothing */
    to->first[from->parts] = from->count;
}

/* One block: the number of users, the tables, types, texts. */
int tn__description_copy(const struct tn_module_description *from, struct tn__description *to, struct tn_error *err)
{
    if (!is_sound(from))
        return fail_damaged(err);
    const size_t head = sizeof(uint64_t), symbols = from->count * sizeof *to->symbols;
    const size_t first = ((size_t)from->parts + 1) * sizeof *to->first;
    char *block = tn__alloc(NULL, head + symbols + first + from->types_size + text_size(from));
    *to = (struct tn__description){0};
    if (!block)
        return tn__no_memory(err, NULL);
    *to = (struct tn__description){.flags = from->flags,
                                   .parts = from->parts,
                                   .count = from->count,
                                   .users = (uint64_t *)(void *)block,
                                   .symbols = (void *)(block + head),
                                   .first = (void *)(block + head + symbols),
                                   .types = block + head + symbols + first,
                                   .types_size = from->types_size};
    *to->users = 1;
    if (from->types_size)
        memcpy(block + head + symbols + first, from->types, from->types_size);
    copy_symbols(from, to, block + head + symbols + first + from->types_size);
    return 0;
}

struct tn__description tn__description_share(const struct tn__description *description)
{
    __atomic_add_fetch(description->users, 1, __ATOMIC_RELAXED);
    return *description;
}

void tn__description_drop(struct tn__description *description)
{
    if (description->users && !__atomic_sub_fetch(description->users, 1, __ATOMIC_ACQ_REL))
        tn__free(NULL, description->users);
    description->users = NULL;
}

/* ---- writing ---- */

/* Adds a text; the place of its first byte counted from 1, 0 for none. */
static uint32_t put_text(char *texts, size_t *used, const char *text)
{
    if (!text)
        return 0;
    size_t at = *used;
    memcpy(texts + at, text, size_of(text));
    *used += size_of(text);
    return (uint32_t)at + 1;
}

bool tn__description_write(const struct tn_module_description *d, struct tn_buffer *out)
{
    size_t texts = text_size(d), used = 0;
    uint64_t size = HEADER + (uint64_t)d->count * ROW + texts + d->types_size;
    char *bytes = size <= UINT32_MAX ? tn__alloc(NULL, (size_t)size) : NULL;
    if (!bytes)
        return false;
    const uint32_t header[] = {MAGIC, d->flags, d->parts, (uint32_t)d->count, (uint32_t)texts};
    for (size_t i = 0; i < TN_COUNT(header); i++)
        tn__put32(bytes + 4 * i, header[i]);
    char *all = bytes + HEADER + d->count * ROW;
    for (size_t i = 0; i < d->count; i++) {
        const struct tn_module_symbol *s = &d->symbols[i];
        const uint32_t name = put_text(all, &used, s->name), of = put_text(all, &used, s->of);
        const uint32_t row[] = {
            s->part, name, of, put_text(all, &used, s->body), s->flags, s->managed_registers, s->managed_stack};
        for (size_t word = 0; word < TN_COUNT(row); word++)
            tn__put32(bytes + HEADER + i * ROW + 4 * word, row[word]);
    }
    if (d->types_size)
        memcpy(all + texts, d->types, d->types_size);
    bool good = tn__buffer_fill(out, bytes, (size_t)size);
    tn__free(NULL, bytes);
    return good;
}

/* ---- reading ---- */

struct reading {
    const char *texts;
    size_t text_size;
    bool good;
};

static const char *read_text(struct reading *r, uint32_t place)
{
    r->good &= place <= r->text_size;
    return place && r->good ? r->texts + place - 1 : NULL;
}

int tn__description_read(const void *bytes, size_t size, struct tn__arena *arena, struct tn_module_description *d,
                         struct tn_error *err)
{
    const char *p = bytes;
    *d = (struct tn_module_description){0};
    if (size < HEADER || tn__get32(p) != MAGIC)
        return fail_damaged(err);
    uint64_t count = tn__get32(p + 12), texts = tn__get32(p + 16), end = HEADER + count * ROW + texts;
    if (size < end || (texts && p[end - 1]))
        return fail_damaged(err);
    struct tn_module_symbol *symbols = tn__arena_array(arena, (size_t)count + 1, sizeof *symbols);
    if (!symbols)
        return tn__no_memory(err, NULL);
    struct reading r = {p + HEADER + count * ROW, (size_t)texts, true};
    for (size_t i = 0; i < count; i++) {
        const char *row = p + HEADER + i * ROW;
        symbols[i] = (struct tn_module_symbol){.part = tn__get32(row),
                                               .name = read_text(&r, tn__get32(row + 4)),
                                               .of = read_text(&r, tn__get32(row + 8)),
                                               .body = read_text(&r, tn__get32(row + 12)),
                                               .flags = tn__get32(row + 16),
                                               .managed_registers = tn__get32(row + 20),
                                               .managed_stack = tn__get32(row + 24)};
    }
    *d = (struct tn_module_description){.flags = tn__get32(p + 4),
                                        .parts = tn__get32(p + 8),
                                        .count = (size_t)count,
                                        .symbols = symbols,
                                        .types = p + end,
                                        .types_size = (size_t)(size - end)};
    return r.good && is_sound(d) ? 0 : fail_damaged(err);
}
