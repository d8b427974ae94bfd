/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Writing and reading descriptions of modules: a header of five words, rows of seven words for symbols, texts, and
 * layouts of types. */

#include "cache/description.h"

#include "base/types.h"

#define MAGIC 0x31646e54 /* "Tnd1" */

enum { HEADER = 20, ROW = 28 };

/* ---- writing ---- */

static size_t size_of(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

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

bool tn__description_write(const struct tn__description *d, struct tn_buffer *out)
{
    uint64_t texts = 0, used = 0;
    for (size_t i = 0; i < d->count; i++)
        texts += size_of(d->symbols[i].name) + size_of(d->symbols[i].of) + size_of(d->symbols[i].body);
    uint64_t size = HEADER + (uint64_t)d->count * ROW + texts + d->types_size;
    char *bytes = size <= UINT32_MAX ? tn__alloc(NULL, (size_t)size) : NULL;
    if (!bytes)
        return false;
    const uint32_t header[] = {MAGIC, d->flags, d->parts, (uint32_t)d->count, (uint32_t)texts};
    for (size_t i = 0; i < TN_COUNT(header); i++)
        tn__put32(bytes + 4 * i, header[i]);
    char *all = bytes + HEADER + d->count * ROW;
    for (size_t i = 0; i < d->count; i++) {
        const struct tn__described_symbol *s = &d->symbols[i];
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
    const char *rows, *texts;
    size_t text_size;
    bool good;
};

static const char *read_text(struct reading *r, uint32_t place)
{
    r->good &= place <= r->text_size;
    return place && r->good ? r->texts + place - 1 : NULL;
}

static void read_symbol(struct reading *r, const char *row, struct tn__described_symbol *s)
{
    *s = (struct tn__described_symbol){.part = tn__get32(row),
                                       .name = read_text(r, tn__get32(row + 4)),
                                       .of = read_text(r, tn__get32(row + 8)),
                                       .body = read_text(r, tn__get32(row + 12)),
                                       .flags = tn__get32(row + 16),
                                       .managed_registers = tn__get32(row + 20),
                                       .managed_stack = tn__get32(row + 24)};
    r->good &= s->name && *s->name && (s->flags & ~TN__SYMBOL_DISCARDABLE) <= TN__SYMBOL_ALL;
    r->good &= !s->of || (*s->of && !s->body);
    r->good &= !s->body || *s->body;
}

/* Every part but the first begins with a symbol that its object defines. */
static bool read_symbols(struct reading *r, struct tn__description *d)
{
    uint32_t part = 0;
    d->first[0] = 0;
    for (size_t i = 0; i < d->count && r->good; i++) {
        struct tn__described_symbol *s = &d->symbols[i];
        read_symbol(r, r->rows + i * ROW, s);
        bool begins = s->part != part;
        r->good &= s->part < d->parts && (!begins || (s->part == part + 1 && !s->of));
        if (begins && r->good)
            d->first[part = s->part] = i;
    }
    d->first[d->parts] = d->count;
    return r->good && part == d->parts - 1;
}

int tn__description_read(const void *bytes, size_t size, struct tn__arena *arena, struct tn__description *d,
                         struct tn_error *err)
{
    const char *p = bytes;
    *d = (struct tn__description){0};
    bool good = size >= HEADER && tn__get32(p) == MAGIC;
    uint64_t count = good ? tn__get32(p + 12) : 0, texts = good ? tn__get32(p + 16) : 0;
    if (good) {
        d->flags = tn__get32(p + 4);
        d->parts = tn__get32(p + 8);
        d->count = (size_t)count;
        uint64_t end = HEADER + count * ROW + texts;
        good = size >= end && d->flags <= TN__DESCRIBED_ALL && d->parts && d->parts - 1 <= count &&
               (d->parts == 1 || !(d->flags & TN__DESCRIBED_WHOLE)) && (!texts || !p[end - 1]);
        d->types = good ? p + end : NULL;
        d->types_size = good ? (size_t)(size - end) : 0;
    }
    good = good && tn__types_are_sound(d->types, d->types_size);
    if (!good)
        return tn__fail(err, TN_EFORMAT, "the description of a module is damaged");
    d->symbols = tn__arena_array(arena, d->count + 1, sizeof *d->symbols);
    d->first = tn__arena_array(arena, (size_t)d->parts + 1, sizeof *d->first);
    if (!d->symbols || !d->first)
        return tn__no_memory(err, NULL);
    struct reading r = {p + HEADER, p + HEADER + d->count * ROW, (size_t)texts, true};
    return read_symbols(&r, d) ? TN_OK : tn__fail(err, TN_EFORMAT, "the description of a module is damaged");
}
