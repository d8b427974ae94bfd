/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Any bytes as the order of first calls that a store has of a module (doc/CACHE.md). One that is accepted places each
 * part once; what is written after a run is accepted by the next one, and begins with what was called.
 *
 * An input is the count of the module's parts, that of calls, the parts that are called, and the rows of the item. */

#include <string.h>

#include "cache/cache.h"
#include "fuzz.h"
#include "holds.h"
#include "jit/ahead.h"

enum { ROW = 8 };

static struct tn_buffer pack; /* what the store has */

static int get(void *context, const unsigned char key[TN_CACHE_KEY_SIZE], struct tn_buffer *out)
{
    struct tn__pack_item *item = context;
    if (!pack.size && !tn__pack_write(key, item, 1, &pack))
        return TN_ENOMEM;
    return tn__buffer_fill(out, pack.data, pack.size) ? 0 : TN_ENOMEM;
}

static int put(void *context, const unsigned char key[TN_CACHE_KEY_SIZE], const void *bytes, size_t length)
{
    (void)context, (void)key;
    tn_buffer_free(&pack);
    return tn__buffer_fill(&pack, bytes, length) ? 0 : TN_ENOMEM;
}

static int identify(void *context, struct tn_buffer *text, struct tn_error *err)
{
    (void)context, (void)err;
    return tn__buffer_fill(text, "compiler", 8) ? 0 : TN_ENOMEM;
}

static struct tn__ahead_module *open_module(struct tn__ahead *ahead, uint32_t parts)
{
    struct tn__ahead_module *m = calloc(1, sizeof *m + parts * sizeof *m->parts);
    holds(m);
    m->ahead = ahead;
    m->description.parts = parts;
    m->order = calloc(parts, sizeof *m->order);
    tn__ahead_read_order(m);
    return m;
}

static void close_module(struct tn__ahead_module *m)
{
    tn_buffer_free(&m->last_order);
    free(m->order);
    free(m);
}

static uint32_t row(const struct tn__ahead_module *m, size_t number, size_t word)
{
    return tn__get32((const uint8_t *)m->last_order.data + number * ROW + word);
}

static void look_at_order(const struct tn__ahead_module *m)
{
    uint32_t placed = 0;
    holds(m->last_order.size % ROW == 0);
    for (uint32_t i = 0; i < m->last_order.size / ROW; i++) {
        holds(row(m, i, 0) < m->description.parts && row(m, i, 4) < 2);
        holds(m->parts[row(m, i, 0)].place == i + 1);
    }
    for (uint32_t part = 0; part < m->description.parts; part++)
        placed += m->parts[part].place != 0;
    holds(placed == m->last_order.size / ROW);
}

static void call(struct tn__ahead_module *m, const uint8_t *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t part = parts[i] % m->description.parts;
        if (m->parts[part].is_listed)
            continue;
        m->parts[part].is_listed = true;
        m->order[m->called++] = part;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 2 || !bytes[0] || (size_t)bytes[1] + 2 > size)
        return 0;
    size_t calls = bytes[1], used = 2 + calls;
    struct tn__pack_item item = {TN__PACK_ORDER, 0, bytes + used, size - used, NULL};
    const struct tn_store store = {sizeof store, &item, get, put};
    struct tn_jit jit = {.compiler = {.identify = identify}};
    struct tn__ahead ahead = {.jit = &jit, .options = {.orders = &store}};
    struct tn__ahead_module *m = open_module(&ahead, bytes[0]);
    look_at_order(m);
    call(m, bytes + 2, calls);
    tn__ahead_write_order(m);
    struct tn__ahead_module *next = open_module(&ahead, bytes[0]);
    look_at_order(next);
    holds(!m->called || next->last_order.size / ROW >= m->called);
    for (uint32_t i = 0; i < m->called; i++)
        holds(row(next, i, 0) == m->order[i] && row(next, i, 4) == 0);
    close_module(next);
    close_module(m);
    tn_buffer_free(&pack);
    return 0;
}
