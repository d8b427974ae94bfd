/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What barriers remember: words of old objects that references to young ones were stored into, and old objects. Each
 * thread fills a buffer of its own, and hands it over when it is full. Then it is sorted, because programs store into
 * few words often; and when there are many buffers, all that were handed over are sorted together, so that the memory
 * that they take is bounded by the number of words. */

#include <stdlib.h>

#include "gc/generational/generational.h"

enum { MOST = sizeof((struct tn__log *)0)->entries / sizeof(uintptr_t), FIRST_LIMIT = 256 };

static int compare_entries(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

/* Sorts entries and leaves each once; their number. */
static __attribute__((cold)) size_t sort(uintptr_t *entries, size_t count)
{
    size_t kept = 0;
    qsort(entries, count, sizeof *entries, compare_entries);
    for (size_t i = 0; i < count; i++)
        if (!kept || entries[kept - 1] != entries[i])
            entries[kept++] = entries[i];
    return kept;
}

/* Under the lock. */
static __attribute__((cold)) void merge_all(struct tn__generational *g)
{
    uintptr_t *all = tn__alloc(NULL, g->log_count * sizeof(struct tn__log)), *from;
    size_t count = 0;
    if (!all)
        return;
    for (const struct tn__log *log = g->logs; log; log = log->next) {
        memcpy(all + count, log->entries, log->count * sizeof *all);
        count += log->count;
    }
    count = sort(all, count);
    from = all;
    for (struct tn__log **at = &g->logs, *log; (log = *at);) {
        log->count = (uint32_t)tn__min64(count, MOST);
        memcpy(log->entries, from, log->count * sizeof *from);
        from += log->count;
        count -= log->count;
        if (log->count) {
            at = &log->next;
            continue;
        }
        *at = log->next;
        g->log_count--;
        tn__free(NULL, log);
    }
    tn__free(NULL, all);
}

static struct tn__log *make_log(struct tn__generational *g)
{
    struct tn__log *log = tn__alloc(NULL, sizeof *log);
    if (log)
        log->count = 0;
    else
        __atomic_store_n(&g->log_is_lost, true, __ATOMIC_RELAXED);
    return log;
}

/* Under the lock. */
static void add_log(struct tn__generational *g, struct tn__log *log)
{
    log->next = g->logs;
    g->logs = log;
    if (++g->log_count < tn__max64(g->log_limit, FIRST_LIMIT))
        return;
    merge_all(g);
    g->log_limit = 2 * g->log_count;
}

/* ---- a thread's buffer ---- */

/* Entries of a thread's buffer: few while pauses have to be short. */
static size_t most_entries(const struct tn__generational *g)
{
    return g->marks ? MOST / 4 : MOST;
}

/* Where the next entry goes is known to tn__gc_log, which need not come here then; unless stores are
 * verified: then no space is left there. */
static void set_at(struct tn__mutator *mutator, struct tn__log *log, uintptr_t *at)
{
    bool verify = mutator->heap->options.flags & TN_HEAP_VERIFY;
    mutator->log = log;
    mutator->log_at = at;
    mutator->log_end = log && !verify ? log->entries + most_entries(tn__generational_of(mutator->heap)) : NULL;
}

void tn__gen_hand_over(struct tn__generational *g, struct tn__mutator *mutator)
{
    struct tn__log *log = mutator->log;
    if (!log)
        return;
    size_t count = (size_t)(mutator->log_at - log->entries);
    log->count = (uint32_t)(g->marks ? g->beside->sift(g, log->entries, count) : count);
    set_at(mutator, NULL, NULL);
    tn__mutex_lock(&g->log_lock);
    add_log(g, log);
    tn__mutex_unlock(&g->log_lock);
}

/* The thread has a buffer that is not full. False: no memory. */
static bool make_space(struct tn__generational *g, struct tn__mutator *mutator)
{
    struct tn__log *log = mutator->log;
    size_t most = most_entries(g);
    if (log && mutator->log_at != log->entries + most)
        return true;
    if (log) {
        size_t count = g->marks ? g->beside->sift(g, log->entries, most) : most;
        if (count == most)
            count = sort(log->entries, most);
        set_at(mutator, log, log->entries + count);
        if (count <= most / 4 * 3)
            return true;
        tn__gen_hand_over(g, mutator);
    }
    log = make_log(g);
    if (log)
        set_at(mutator, log, log->entries);
    return log;
}

void tn__gen_log(struct tn__generational *g, struct tn__mutator *mutator, uintptr_t entry)
{
    if (mutator) {
        if (make_space(g, mutator))
            *mutator->log_at++ = entry;
        return;
    }
    tn__mutex_lock(&g->log_lock);
    struct tn__log *log = g->logs;
    bool is_new = !log || log->count == MOST;
    if (is_new)
        log = make_log(g);
    if (log)
        log->entries[log->count++] = entry;
    if (log && is_new) /* may merge it with others */
        add_log(g, log);
    tn__mutex_unlock(&g->log_lock);
}

/* ---- all buffers ---- */

struct tn__log *tn__gen_take_log(struct tn__generational *g)
{
    struct tn__log *log = g->logs;
    if (log)
        g->logs = log->next;
    g->log_count = g->log_limit = 0;
    return log;
}

__attribute__((cold)) void tn__gen_free_logs(struct tn__generational *g)
{
    for (struct tn__log *log; (log = tn__gen_take_log(g));)
        tn__free(NULL, log);
}
