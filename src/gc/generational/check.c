/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Verifies, after a full collection, what only this collector knows: the used lines of a block are those in which its
 * objects are; free blocks have no objects; headers have the bits of old objects; what is counted is there. */

#include "gc/generational/generational.h"

struct lines {
    const struct tn__generational *g;
    uint32_t block;
    bool is_right;
    uint8_t used[TN__LINES];
};

static void note_object(void *context, void *object)
{
    struct lines *lines = context;
    uint64_t header = *tn__header(object), size = tn__size_by(object, header);
    uint64_t at = ((uintptr_t)object - TN_GC_HEADER_SIZE - lines->g->base) % TN__BLOCK;
    uint64_t last = size > TN__BLOCK / 2 ? at : at + size - 1;
    bool has_references = tn__type_of(object)->kind != TN_KIND_LEAF;
    lines->is_right &= !(header & TN_GC_FORWARDED) && (!has_references || header & TN_GC_UNLOGGED) && last < TN__BLOCK;
    for (uint64_t line = at >> TN__LINE_SHIFT; lines->is_right && line <= last >> TN__LINE_SHIFT; line++)
        lines->used[line] = 1;
}

static const char *check_block(const struct tn__generational *g, uint32_t block)
{
    struct lines lines = {.g = g, .block = block, .is_right = true};
    const uint8_t *known = g->lines + ((uint64_t)block << (TN__BLOCK_SHIFT - TN__LINE_SHIFT));
    tn__gen_each_start(g, (uint64_t)block << TN__BLOCK_SHIFT, TN__BLOCK, note_object, &lines);
    if (!lines.is_right)
        return "an old object's header is not that of an old object after a full collection";
    if (memcmp(lines.used, known, TN__LINES) != 0)
        return "the used lines of a block are not those of its objects";
    return NULL;
}

const char *tn__gen_check(const struct tn__generational *g)
{
    const char *wrong = NULL;
    uint64_t used = g->pieces_old * (uint64_t)TN__PIECE;
    for (uint32_t block = TN__FIRST_OLD; !wrong && block < g->block_end; block++) {
        uint8_t state = g->blocks[block];
        const uint8_t *lines = g->lines + ((uint64_t)block << (TN__BLOCK_SHIFT - TN__LINE_SHIFT));
        uint32_t count = 0;
        if (state == TN__BLOCK_REST ||
            (state == TN__BLOCK_FREE && !g->units[(uint64_t)block * TN__BLOCK >> TN__UNIT_SHIFT]))
            continue;
        wrong = check_block(g, block);
        for (uint32_t line = 0; line < TN__LINES; line++)
            count += lines[line];
        if (state == TN__BLOCK_FREE && count)
            wrong = "a block with objects is free";
        used += state == TN__BLOCK_LARGE ? 0 : count * (uint64_t)TN__LINE;
    }
    return wrong ? wrong : used + g->large == g->used ? NULL : "the heap counts other bytes than it uses";
}
