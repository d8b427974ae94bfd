/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Any bytes as a pack of a cache, as they are and with a checksum that fits, and as the description of a module. What
 * is accepted lies inside; a description that is read and written again has the same symbols. */

#include <stdlib.h>
#include <string.h>

#include "cache/cache.h"
#include "cache/description.h"
#include "fuzz.h"

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void look_at_pack(const uint8_t *bytes, size_t size)
{
    struct tn__pack pack;
    if (size < 40 || !tn__pack_read(bytes, size, bytes + 8, &pack))
        return;
    for (uint32_t i = 0; i < pack.count; i++) {
        struct tn__pack_item item = tn__pack_item(&pack, i);
        const uint8_t *at = item.bytes;
        check(at >= bytes && tn__inside((uint64_t)(at - bytes), item.size, size));
        tn__pack_is_sound(&item);
    }
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

static bool same(const char *a, const char *b)
{
    return !a == !b && (!a || strcmp(a, b) == 0);
}

static void look_at_description(const uint8_t *bytes, size_t size)
{
    struct tn__arena arena = {0}, again_arena = {0};
    struct tn__description d, again;
    struct tn_buffer written = {0};
    if (tn__description_read(bytes, size, &arena, &d, NULL) == TN_OK) {
        check(tn__description_write(&d, &written));
        check(tn__description_read(written.data, written.size, &again_arena, &again, NULL) == TN_OK);
        check(again.parts == d.parts && again.count == d.count && again.flags == d.flags);
        for (size_t i = 0; i < d.count; i++) {
            const struct tn__described_symbol *a = &d.symbols[i], *b = &again.symbols[i];
            check(a->part == b->part && a->flags == b->flags && same(a->name, b->name) && same(a->of, b->of) &&
                  same(a->body, b->body));
        }
        for (uint32_t part = 1; part < d.parts; part++)
            check(d.first[part] < d.first[part + 1] && d.symbols[d.first[part]].part == part);
    }
    tn_buffer_free(&written);
    tn__arena_free(&arena);
    tn__arena_free(&again_arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    look_at_pack(bytes, size);
    if (size >= 48)
        look_at_fitting_pack(bytes, size);
    look_at_description(bytes, size);
    return 0;
}
