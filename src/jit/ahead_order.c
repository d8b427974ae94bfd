/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The order in which the parts of a module were needed first, kept as a pack of its own (doc/CACHE.md): it is good for
 * all options, and small. The item has 8 bytes for each part, in order: its number, and in how many of the last runs it
 * was not needed, 0 or 1; a part that was not needed in two runs leaves. */

#include "cache/cache.h"
#include "jit/ahead.h"

enum { ROW = 8, UNUSED_RUNS_MOST = 2 };

/* False: nothing can be kept of the module. */
static bool key_of(const struct tn__ahead_module *m, uint8_t key[TN__SHA256_SIZE])
{
    static const char format[] = "tenon order 1";
    const struct tn_compiler *compiler = &m->ahead->jit->compiler;
    struct tn_buffer identity = {0};
    struct tn__sha256 sha;
    uint8_t whole = m->ir.whole != 0;
    if (m->ir.copy || !compiler->identify || compiler->identify(compiler->context, &identity, NULL) != 0)
        return false;
    tn__sha256_begin(&sha);
    tn__sha256_add(&sha, format, sizeof format);
    tn__sha256_add(&sha, m->digest, sizeof m->digest);
    tn__sha256_add(&sha, &whole, sizeof whole);
    tn__sha256_add(&sha, identity.data, identity.size);
    tn__sha256_end(&sha, key);
    tn_buffer_free(&identity);
    return true;
}

/* ---- reading ---- */

/* Gives each part its place, from 1. False: a row makes no sense, or names a part for the second time; then no part has
 * one. */
static bool place_parts(struct tn__ahead_module *m, const struct tn__pack_item *item)
{
    const uint8_t *rows = item->bytes;
    bool good = item->size % ROW == 0;
    for (size_t i = 0; i < item->size / ROW && good; i++) {
        uint32_t part = tn__get32(rows + i * ROW), unused = tn__get32(rows + i * ROW + 4);
        good = part < m->description.parts && unused < UNUSED_RUNS_MOST && !m->parts[part].place;
        if (good)
            m->parts[part].place = (uint32_t)i + 1;
    }
    for (uint32_t part = 0; part < m->description.parts && !good; part++)
        m->parts[part].place = 0;
    return good;
}

void tn__ahead_read_order(struct tn__ahead_module *m)
{
    const struct tn_store *store = m->ahead->options.orders;
    uint8_t key[TN__SHA256_SIZE];
    struct tn_buffer bytes = {0};
    struct tn__pack pack;
    struct tn__pack_item item;
    bool is_damaged;
    if (!store || !key_of(m, key) || store->get(store->context, key, &bytes) != 0)
        return;
    if (tn__pack_read(bytes.data, bytes.size, key, &pack) &&
        tn__pack_find(&pack, TN__PACK_ORDER, 0, &item, &is_damaged) &&
        tn__buffer_fill(&m->last_order, item.bytes, item.size) && !place_parts(m, &item))
        tn_buffer_free(&m->last_order);
    tn_buffer_free(&bytes);
}

/* ---- writing ---- */

static size_t put(uint8_t *rows, size_t count, uint32_t part, uint32_t unused)
{
    tn__put32(rows + count * ROW, part);
    tn__put32(rows + count * ROW + 4, unused);
    return count + 1;
}

void tn__ahead_write_order(struct tn__ahead_module *m)
{
    const struct tn_store *store = m->ahead->options.orders;
    const uint8_t *last = m->last_order.data;
    uint8_t key[TN__SHA256_SIZE];
    struct tn_buffer bytes = {0};
    size_t count = 0;
    if (!store || !store->put || !m->called || !key_of(m, key))
        return;
    uint8_t *rows = tn__alloc(NULL, ((size_t)m->description.parts + m->last_order.size / ROW) * ROW);
    for (uint32_t i = 0; i < m->called && rows; i++)
        count = put(rows, count, m->order[i], 0);
    for (size_t i = 0; i < m->last_order.size / ROW && rows; i++) {
        uint32_t part = tn__get32(last + i * ROW), unused = tn__get32(last + i * ROW + 4) + 1;
        if (!m->parts[part].is_listed && unused < UNUSED_RUNS_MOST) {
            m->parts[part].is_listed = true;
            count = put(rows, count, part, unused);
        }
    }
    bool differs = rows && (count * ROW != m->last_order.size || memcmp(rows, last, count * ROW) != 0);
    struct tn__pack_item item = {TN__PACK_ORDER, 0, rows, count * ROW, NULL};
    if (differs && tn__pack_write(key, &item, 1, &bytes))
        store->put(store->context, key, bytes.data, bytes.size);
    tn_buffer_free(&bytes);
    tn__free(NULL, rows);
}
