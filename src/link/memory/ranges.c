/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Free ranges of similar size share a list: the class is the power of two, each split in TN__RANGE_STEPS steps. A
 * bitmap over classes and one per class over steps find the first list that surely fits. */

#include "link/memory/ranges.h"

enum { STEP_BITS = 3, SMALLEST_CLASS = 4 + STEP_BITS }; /* below 128 bytes one list per granule */
enum { LOOKS = 16 };                                    /* at ranges of which some may fit */

_Static_assert(1 << STEP_BITS == TN__RANGE_STEPS, "steps are addressed by STEP_BITS bits");
_Static_assert(1 << (SMALLEST_CLASS - STEP_BITS) == TN__RANGE_GRANULE, "the first class has one list per granule");

struct slot {
    unsigned class, step;
};

static struct slot slot_of(size_t size)
{
    if (size < (size_t)1 << SMALLEST_CLASS)
        return (struct slot){0, (unsigned)(size / TN__RANGE_GRANULE)};
    unsigned log = 63U - (unsigned)__builtin_clzll(size);
    return (struct slot){log - SMALLEST_CLASS + 1, (unsigned)(size >> (log - STEP_BITS)) - TN__RANGE_STEPS};
}

/* The first list all of whose ranges hold at least `size` bytes. */
static struct slot slot_that_fits(size_t size)
{
    if (size < (size_t)1 << SMALLEST_CLASS)
        return slot_of(size);
    unsigned log = 63U - (unsigned)__builtin_clzll(size);
    return slot_of(size + ((size_t)1 << (log - STEP_BITS)) - 1);
}

static void insert(struct tn__ranges *ranges, struct tn__mem_range *range)
{
    struct slot slot = slot_of(range->size);
    struct tn__mem_range **head = &ranges->heads[slot.class][slot.step];
    range->free = true;
    range->previous = NULL;
    range->next = *head;
    if (*head)
        (*head)->previous = range;
    *head = range;
    ranges->class_bits |= 1U << slot.class;
    ranges->step_bits[slot.class] |= (uint8_t)(1U << slot.step);
}

static void unlink_free(struct tn__ranges *ranges, struct tn__mem_range *range)
{
    struct slot slot = slot_of(range->size);
    range->free = false;
    if (range->next)
        range->next->previous = range->previous;
    if (range->previous) {
        range->previous->next = range->next;
        return;
    }
    ranges->heads[slot.class][slot.step] = range->next;
    if (range->next)
        return;
    ranges->step_bits[slot.class] &= (uint8_t) ~(1U << slot.step);
    if (!ranges->step_bits[slot.class])
        ranges->class_bits &= ~(1U << slot.class);
}

static struct tn__mem_range *find_free(const struct tn__ranges *ranges, size_t size)
{
    struct slot slot = slot_that_fits(size);
    if (slot.class >= TN__RANGE_CLASSES)
        return NULL;
    unsigned steps = ranges->step_bits[slot.class] & (~0U << slot.step);
    if (!steps) {
        uint32_t classes = ranges->class_bits & (~1U << slot.class);
        if (!classes)
            return NULL;
        slot.class = (unsigned)__builtin_ctz(classes);
        steps = ranges->step_bits[slot.class];
    }
    return ranges->heads[slot.class][__builtin_ctz(steps)];
}

static size_t padding_of(const struct tn__mem_range *range, size_t alignment)
{
    return (size_t)(tn__align_up(range->address, alignment) - range->address);
}

/* The list below the first that surely fits may hold a range that fits: the last chance in a nearly full region. */
static struct tn__mem_range *find_tight(const struct tn__ranges *ranges, size_t size, size_t alignment)
{
    struct slot slot = slot_of(size);
    if (slot.class >= TN__RANGE_CLASSES)
        return NULL;
    struct tn__mem_range *range = ranges->heads[slot.class][slot.step];
    for (int looks = 0; range && looks < LOOKS; range = range->next, looks++)
        if (range->size >= size + padding_of(range, alignment))
            return range;
    return NULL;
}

static struct tn__mem_range *new_descriptor(struct tn__range_pool *pool)
{
    struct tn__mem_range *range = pool->spare;
    if (range)
        pool->spare = range->next;
    else
        range = tn__arena_alloc(&pool->descriptors, sizeof *range);
    return range;
}

static void drop_descriptor(struct tn__range_pool *pool, struct tn__mem_range *range)
{
    range->next = pool->spare;
    pool->spare = range;
}

bool tn__ranges_open(struct tn__ranges *ranges, struct tn__range_pool *pool, uint64_t address, size_t size,
                     uint8_t *write)
{
    struct tn__mem_range *range = size >> 32 ? NULL : new_descriptor(pool);
    if (!range)
        return false;
    *ranges = (struct tn__ranges){.pool = pool, .start = address, .write = write};
    *range = (struct tn__mem_range){.address = address, .size = size, .fresh = true};
    insert(ranges, range);
    return true;
}

/* Cuts `range` after `size` bytes; `rest` becomes the remainder. */
static void split(struct tn__mem_range *range, size_t size, struct tn__mem_range *rest)
{
    *rest = *range;
    rest->address += size;
    rest->size -= size;
    rest->before = range;
    range->size = size;
    range->after = rest;
    if (rest->after)
        rest->after->before = rest;
}

struct tn__mem_range *tn__ranges_take(struct tn__ranges *ranges, size_t size, size_t alignment, bool *no_memory)
{
    *no_memory = false;
    if (size > SIZE_MAX / 4 || alignment > SIZE_MAX / 4)
        return NULL;
    size = size ? (size_t)tn__align_up(size, TN__RANGE_GRANULE) : TN__RANGE_GRANULE;
    size_t slack = alignment > TN__RANGE_GRANULE ? alignment - TN__RANGE_GRANULE : 0;
    struct tn__mem_range *range = find_free(ranges, size + slack);
    if (!range)
        range = find_tight(ranges, size, alignment);
    if (!range)
        return NULL;
    /* Both descriptors first, so that running out of memory leaves nothing half cut. */
    struct tn__range_pool *pool = ranges->pool;
    struct tn__mem_range *front = new_descriptor(pool), *rest = front ? new_descriptor(pool) : NULL;
    if (!rest) {
        if (front)
            drop_descriptor(pool, front);
        *no_memory = true;
        return NULL;
    }
    unlink_free(ranges, range);
    size_t padding = padding_of(range, alignment);
    if (padding) {
        split(range, padding, front);
        insert(ranges, range);
        range = front;
    } else {
        drop_descriptor(pool, front);
    }
    if (range->size > size) {
        split(range, size, rest);
        insert(ranges, rest);
    } else {
        drop_descriptor(pool, rest);
    }
    ranges->used += range->size;
    range->write = ranges->write ? ranges->write + (range->address - ranges->start) : NULL;
    range->writing = false;
    return range;
}

struct tn__mem_range *tn__ranges_cut(struct tn__ranges *ranges, struct tn__mem_range *range, size_t size)
{
    struct tn__mem_range *rest = new_descriptor(ranges->pool);
    if (!rest)
        return NULL;
    split(range, size, rest);
    rest->write = range->write + size;
    return rest;
}

/* ---- giving back ---- */

/* Joins `range` with the one after it; neither is in a list. */
static void absorb_after(struct tn__ranges *ranges, struct tn__mem_range *range)
{
    struct tn__mem_range *after = range->after;
    range->size += after->size;
    range->fresh = range->fresh && after->fresh;
    range->after = after->after;
    if (range->after)
        range->after->before = range;
    drop_descriptor(ranges->pool, after);
}

/* Joins the range with free neighbours; the result is in no list. `listed`: the neighbours are. */
static struct tn__mem_range *merge(struct tn__ranges *ranges, struct tn__mem_range *range, bool listed)
{
    ranges->used -= range->size;
    range->fresh = false;
    range->free = true;
    if (range->after && range->after->free) {
        if (listed)
            unlink_free(ranges, range->after);
        absorb_after(ranges, range);
    }
    if (range->before && range->before->free) {
        range = range->before;
        if (listed)
            unlink_free(ranges, range);
        absorb_after(ranges, range);
    }
    return range;
}

const struct tn__mem_range *tn__ranges_give(struct tn__ranges *ranges, struct tn__mem_range *range)
{
    range = merge(ranges, range, true);
    insert(ranges, range);
    return range;
}

/* ---- regions that are abandoned ---- */

/* Takes the bytes from `start` to `end` out of a free range that is in no list. What is left before and behind them,
 * less than a page each, belongs to no list either: it waits for the neighbour with which it makes up a page. */
static bool cut_out(struct tn__ranges *ranges, struct tn__mem_range *range, uint64_t start, uint64_t end)
{
    uint64_t range_end = range->address + range->size;
    struct tn__mem_range *after = range->after, *rest = NULL;
    if (end < range_end) {
        rest = start > range->address ? new_descriptor(ranges->pool) : range;
        if (!rest)
            return false;
        if (rest == range && range->before)
            range->before->after = NULL;
    }
    if (start > range->address) {
        range->size = start - range->address;
        range->after = NULL;
    } else if (rest != range) {
        if (range->before)
            range->before->after = NULL;
        drop_descriptor(ranges->pool, range);
    }
    if (rest)
        *rest = (struct tn__mem_range){.address = end, .size = range_end - end, .after = after, .free = true};
    if (after)
        after->before = rest;
    return true;
}

static struct tn__pages cut_pages(struct tn__ranges *ranges, struct tn__mem_range *range, size_t page_size)
{
    uint64_t start = tn__align_up(range->address, page_size);
    uint64_t end = (range->address + range->size) & -(uint64_t)page_size;
    unsigned sides = (range->before || start > range->address) + (range->after || end < range->address + range->size);
    if (start >= end || !cut_out(ranges, range, start, end))
        return (struct tn__pages){0};
    return (struct tn__pages){start, end - start, sides};
}

bool tn__ranges_abandon(struct tn__ranges *ranges, size_t page_size, struct tn__pages *pages)
{
    if (!ranges->class_bits)
        return false;
    unsigned class = (unsigned)__builtin_ctz(ranges->class_bits);
    struct tn__mem_range *range = ranges->heads[class][__builtin_ctz(ranges->step_bits[class])];
    unlink_free(ranges, range);
    range->free = true;
    *pages = cut_pages(ranges, range, page_size);
    return true;
}

struct tn__pages tn__ranges_give_abandoned(struct tn__ranges *ranges, struct tn__mem_range *range, size_t page_size)
{
    return cut_pages(ranges, merge(ranges, range, false), page_size);
}
