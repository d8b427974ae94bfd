/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Any bytes as a pack of a cache, as they are and with a checksum that fits. What is accepted lies inside, is found,
 * and written again is the same pack, byte by byte. */

#include <string.h>

#include "cache/cache.h"
#include "fuzz.h"
#include "holds.h"

static void find(const struct tn__pack *pack, const struct tn__pack_item *wanted)
{
    struct tn__pack_item found;
    bool is_damaged, is_sound = tn__pack_is_sound(wanted);
    bool is_found = tn__pack_find(pack, wanted->kind, wanted->part, &found, &is_damaged);
    holds(is_found == is_sound && is_damaged == !is_sound);
    holds(!is_found || (found.bytes == wanted->bytes && found.size == wanted->size));
}

static void write_again(const struct tn__pack *pack, struct tn__pack_item *items, const uint8_t *bytes, size_t size)
{
    struct tn_buffer again = {0};
    holds(tn__pack_write(bytes + 8, items, pack->count, &again));
    holds(again.size == size && memcmp(again.data, bytes, size) == 0);
    tn_buffer_free(&again);
}

static void look_at_pack(const uint8_t *bytes, size_t size)
{
    struct tn__pack pack;
    if (size < 40 || !tn__pack_read(bytes, size, bytes + 8, &pack))
        return;
    struct tn__pack_item *items = malloc((pack.count + 1) * sizeof *items);
    for (uint32_t i = 0; i < pack.count && items; i++) {
        items[pack.count - 1 - i] = tn__pack_item(&pack, i);
        const struct tn__pack_item *item = &items[pack.count - 1 - i];
        const uint8_t *at = item->bytes;
        holds(at >= bytes && tn__inside((uint64_t)(at - bytes), item->size, size));
        find(&pack, item);
    }
    if (items)
        write_again(&pack, items, bytes, size);
    free(items);
}

/* The checksum of header and rows is made to fit, which no fuzzer guesses. */
static void look_at_fitting_pack(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size);
    if (!copy)
        return;
    memcpy(copy, bytes, size);
    uint64_t table = 48 + (uint64_t)tn__get32(copy + 40) * 56;
    if (tn__inside(table, TN__SHA256_SIZE, size))
        tn__sha256_of(copy, (size_t)table, copy + table);
    look_at_pack(copy, size);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    look_at_pack(bytes, size);
    if (size >= 48)
        look_at_fitting_pack(bytes, size);
    return 0;
}
