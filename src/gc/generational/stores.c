/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Stores while objects are marked beside threads. All of them are logged; when a thread's buffer is full, the thread
 * looks at what it has stored. If the object that was stored to has been scanned, and the value has not been marked,
 * the thread marks the value, and leaves it for the marker to be scanned. So each object is left once at most, however
 * often references to it are stored.
 *
 * Whether an object has been scanned is only known by its line. The marker notes that a line is in use before it reads
 * words of objects there; the thread looks at the line after its store. There is a full fence between the two steps on
 * either side: so the thread sees that the line is in use, or the marker sees the value. */

#include "gc/generational/cycle.h"

static bool is_large(const struct tn__generational *g, uint32_t block)
{
    return __atomic_load_n(&g->blocks[block], __ATOMIC_RELAXED) >= TN__BLOCK_LARGE;
}

/* False: the marker has not scanned the object that this word is in; it will see what is there if the object lives.
 * Lines of the nursery are not noted, and only the first one of a large object is. */
static bool may_be_scanned(const struct tn__generational *g, uintptr_t word)
{
    uint64_t at = word - g->base;
    return __atomic_load_n(&g->spare_lines[at >> TN__LINE_SHIFT], __ATOMIC_RELAXED) || at < TN__YOUNG_SIZE ||
           is_large(g, (uint32_t)(at >> TN__BLOCK_SHIFT));
}

static bool set_mark(const struct tn__generational *g, const void *object)
{
    uint64_t at = ((uintptr_t)object - g->base) / 8, bit = 1ull << at % 64;
    return !(__atomic_fetch_or(&g->marks[at / 64], bit, __ATOMIC_SEQ_CST) & bit);
}

/* Under the lock of logs. */
static void note(struct tn__generational *g, void *object)
{
    struct tn__cycle *cycle = g->cycle;
    struct tn__log *log = cycle->noted;
    if (!log || log->count == TN_COUNT(log->entries)) {
        log = tn__alloc(NULL, sizeof *log);
        if (!log) {
            __atomic_store_n(&g->marks_are_lost, true, __ATOMIC_RELAXED);
            return;
        }
        log->count = 0;
        log->next = cycle->noted;
        cycle->noted = log;
    }
    log->entries[log->count++] = (uintptr_t)object;
}

/* Pauses look at objects that were logged as a whole, and at words that refer to young objects. Stores of this thread
 * into these words have happened; those of others are in their own buffers. */
size_t tn__sift_stores(struct tn__generational *g, uintptr_t *entries, size_t count)
{
    size_t kept = 0;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    tn__mutex_lock(&g->log_lock);
    for (size_t i = 0; i < count; i++) {
        void *value = entries[i] & 1 ? NULL : __atomic_load_n((void **)entries[i], __ATOMIC_RELAXED);
        if (entries[i] & 1 || tn__is_young(g, value))
            entries[kept++] = entries[i];
        else if (tn__is_in_space(g, value) && !tn__has_bit(g, g->marks, value) && may_be_scanned(g, entries[i]) &&
                 set_mark(g, value))
            note(g, value);
    }
    tn__mutex_unlock(&g->log_lock);
    return kept;
}

struct tn__log *tn__take_noted(struct tn__cycle *cycle)
{
    struct tn__generational *g = cycle->marker.g;
    tn__mutex_lock(&g->log_lock);
    struct tn__log *log = cycle->noted;
    cycle->noted = log ? log->next : NULL;
    tn__mutex_unlock(&g->log_lock);
    return log;
}
