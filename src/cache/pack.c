/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Packs (doc/CACHE.md): a header, rows, a checksum of these two, and then the items that the rows name, without gaps,
 * in the order of the rows, up to the end, each with a checksum of its own. Numbers are little-endian, checksums
 * SHA-256.
 *
 *     header  magic (8 bytes), key (32), number of rows (4), zeros (4)
 *     row     kind (4), part (4), offset of the item in the pack (8), size (8), checksum of kind, part and item (32)
 *
 * Rows are in the order of their kinds, and of parts within a kind, so an item is found in few steps; no two are
 * alike. Kinds are 0, a description; 2, an order; of an object 1, its level << 8, 1 << 12 if it is of a higher tier,
 * 1 << 16 if it counts its calls. A part's number is 0 for a description. */

#include <stdlib.h>

#include "cache/cache.h"

static const char magic[8] = "tnpack2";

enum { COUNT_AT = 40, HEADER = 48, ROW = 56, OFFSET_AT = 8, SIZE_AT = 16, DIGEST_AT = 24 };

/* ---- checksums ---- */

static void digest_item(const struct tn__pack_item *item, uint8_t digest[TN__SHA256_SIZE])
{
    struct tn__sha256 sha;
    uint8_t head[8];
    tn__put32(head, item->kind);
    tn__put32(head + 4, item->part);
    tn__sha256_begin(&sha);
    tn__sha256_add(&sha, head, sizeof head);
    tn__sha256_add(&sha, item->bytes, item->size);
    tn__sha256_end(&sha, digest);
}

bool tn__pack_is_sound(const struct tn__pack_item *item)
{
    uint8_t digest[TN__SHA256_SIZE];
    digest_item(item, digest);
    return memcmp(digest, item->digest, sizeof digest) == 0;
}

/* ---- reading ---- */

struct tn__pack_item tn__pack_item(const struct tn__pack *pack, uint32_t index)
{
    const uint8_t *row = pack->bytes + HEADER + (size_t)index * ROW;
    return (struct tn__pack_item){.kind = tn__get32(row),
                                  .part = tn__get32(row + 4),
                                  .bytes = pack->bytes + tn__get64(row + OFFSET_AT),
                                  .size = (size_t)tn__get64(row + SIZE_AT),
                                  .digest = row + DIGEST_AT};
}

/* The order of rows: by kind, then by part. */
static uint64_t place_of(uint32_t kind, uint32_t part)
{
    return (uint64_t)kind << 32 | part;
}

static uint64_t place_in(const uint8_t *row)
{
    return place_of(tn__get32(row), tn__get32(row + 4));
}

bool tn__pack_read(const void *bytes, size_t size, const uint8_t key[TN__SHA256_SIZE], struct tn__pack *pack)
{
    const uint8_t *p = bytes;
    uint8_t digest[TN__SHA256_SIZE];
    *pack = (struct tn__pack){0};
    if (size < HEADER + sizeof digest || memcmp(p, magic, sizeof magic) != 0 ||
        memcmp(p + sizeof magic, key, TN__SHA256_SIZE) != 0 || tn__get32(p + COUNT_AT + 4))
        return false;
    uint32_t count = tn__get32(p + COUNT_AT);
    uint64_t table = HEADER + (uint64_t)count * ROW, next = table + sizeof digest;
    if (next > size)
        return false;
    tn__sha256_of(p, (size_t)table, digest);
    if (memcmp(digest, p + table, sizeof digest) != 0)
        return false;
    uint64_t before = 0;
    for (uint32_t i = 0; i < count; i++) { /* items follow each other up to the end */
        const uint8_t *row = p + HEADER + (size_t)i * ROW;
        uint64_t length = tn__get64(row + SIZE_AT), place = place_in(row);
        if (tn__get64(row + OFFSET_AT) != next || !tn__inside(next, length, size) || (i && place <= before))
            return false;
        before = place;
        next += length;
    }
    if (next != size)
        return false;
    *pack = (struct tn__pack){p, size, count};
    return true;
}

bool tn__pack_find(const struct tn__pack *pack, uint32_t kind, uint32_t part, struct tn__pack_item *item,
                   bool *is_damaged)
{
    const uint64_t wanted = place_of(kind, part);
    uint32_t first = 0, end = pack->count;
    *is_damaged = false;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        uint64_t place = place_in(pack->bytes + HEADER + (size_t)middle * ROW);
        if (place == wanted) {
            *item = tn__pack_item(pack, middle);
            *is_damaged = !tn__pack_is_sound(item);
            return !*is_damaged;
        }
        if (place < wanted)
            first = middle + 1;
        else
            end = middle;
    }
    return false;
}

/* ---- writing ---- */

static int compare_items(const void *a, const void *b)
{
    const struct tn__pack_item *x = a, *y = b;
    const uint64_t first = place_of(x->kind, x->part), second = place_of(y->kind, y->part);
    return (first > second) - (first < second);
}

bool tn__pack_write(const uint8_t key[TN__SHA256_SIZE], struct tn__pack_item *items, uint32_t count,
                    struct tn_buffer *out)
{
    qsort(items, count, sizeof *items, compare_items);
    size_t table = HEADER + (size_t)count * ROW, size = table + TN__SHA256_SIZE;
    for (uint32_t i = 0; i < count; i++)
        size += items[i].size;
    uint8_t *p = tn__alloc(NULL, size);
    if (!p)
        return false;
    memcpy(p, magic, sizeof magic);
    memcpy(p + sizeof magic, key, TN__SHA256_SIZE);
    tn__put32(p + COUNT_AT, count);
    tn__put32(p + COUNT_AT + 4, 0);
    size_t next = table + TN__SHA256_SIZE;
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *row = p + HEADER + (size_t)i * ROW;
        tn__put32(row, items[i].kind);
        tn__put32(row + 4, items[i].part);
        tn__put64(row + OFFSET_AT, next);
        tn__put64(row + SIZE_AT, items[i].size);
        if (items[i].digest)
            memcpy(row + DIGEST_AT, items[i].digest, TN__SHA256_SIZE);
        else
            digest_item(&items[i], row + DIGEST_AT);
        memcpy(p + next, items[i].bytes, items[i].size);
        next += items[i].size;
    }
    tn__sha256_of(p, table, p + table);
    bool good = tn__buffer_fill(out, p, size);
    tn__free(NULL, p);
    return good;
}
