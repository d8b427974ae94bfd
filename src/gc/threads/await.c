/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How a collector waits until the threads of a heap have stopped. Most stop within microseconds, so it looks often at
 * first, and then sleeps. Threads that stop in a slow path (a poll, an allocation, the end of a transition) find the
 * request and wake the collector. Those that stop in a fast path (the return of an entry, the beginning of a
 * transition) do not look for a request, because that would slow down every call: so each sleep ends by itself after a
 * fraction of the time that was waited so far. That needs no further state, and a lost wakeup costs little. */

#include "base/delay.h"
#include "gc/threads/threads.h"

/* ---- where a thread was last seen ---- */

static bool is_known(uint64_t address)
{
    tn__maps_lock();
    bool known = tn__maps_find(address) != NULL;
    tn__maps_unlock();
    return known;
}

/* The word if it is a return address in managed code, else 0. The thread may run meanwhile, and reuse its stack. */
static uint64_t return_address_at(uint64_t place)
{
    uint64_t word;
    if (!tn__os_peek(place, &word))
        return 0;
    word = tn__plain_address(word);
    return is_known(word) ? word : 0;
}

/* Where the body of an entry with this frame will return to: it is called soon after the entry set up its frame. */
static uint64_t find_entry(uint64_t frame)
{
    enum { SMALLEST_FRAME = 4096, MOST = 64 }; /* smaller numbers count levels of tn_managed_begin */
    for (uint64_t i = 1; frame >= SMALLEST_FRAME && i <= MOST; i++) {
        uint64_t found = return_address_at(frame - 8 * i);
        if (found)
            return found;
    }
    return 0;
}

/* Of a level: its last call out of managed code, or else the entry that it began with. */
static uint64_t seen_in_level(const struct tn_gc_anchor *anchor)
{
    uint64_t sp = tn__sp_of(anchor), fp = __atomic_load_n(&anchor->fp, __ATOMIC_RELAXED);
    uint64_t ra = __atomic_load_n(&anchor->ra, __ATOMIC_RELAXED);
    if (!sp)
        return find_entry(fp);
    if (ra)
        return is_known(ra) ? ra : 0;
    uint64_t found = return_address_at(sp);
    return found ? found : return_address_at(tn__return_address_at(fp)); /* of the frame that called out */
}

/* A guess: the thread may have gone on since. */
static const void *last_seen(const struct tn__mutator *mutator)
{
    uint64_t found = 0;
    const struct tn_gc_anchor *anchor = tn__top_of(mutator);
    for (; !found && anchor > mutator->anchors + 1; anchor--)
        found = seen_in_level(anchor);
    return (const void *)(uintptr_t)found;
}

/* ---- waiting ---- */

/* Looked for anew each time: a callback may fork, and in the child the others do not exist. */
static const struct tn__mutator *find_running(struct tn_heap *heap)
{
    for (TN__EACH_MUTATOR(mutator, heap))
        if (mutator != tn__self() && !tn__is_outside(tn__top_of(mutator)))
            return mutator;
    return NULL;
}

/* An eighth of the time so far, so that the whole wait takes at most that much longer than it has to. */
static uint64_t nap_of(const struct tn__watched_wait *delay)
{
    enum { FRACTION = 8, SHORTEST_NS = 20000, LONGEST_NS = 100000000 };
    uint64_t nap = tn__min64(tn__max64(tn__delay_so_far(delay) / FRACTION, SHORTEST_NS), LONGEST_NS);
    return tn__min64(nap, tn__delay_until_report(delay));
}

static void report_delay(const struct tn__watched_wait *delay, const struct tn__mutator *running)
{
    enum tn__callback outer = tn__callback_begin(TN__UNDER_LOCK);
    tn__delay_report(delay, running->thread, last_seen(running));
    tn__callback_end(outer);
}

static void sleep_until_stopped(struct tn_heap *heap)
{
    struct tn__watched_wait delay = tn__delay_begin(heap->options.on_delay, heap->options.context);
    for (;;) {
        __atomic_store_n(&heap->asleep, 1, __ATOMIC_SEQ_CST); /* before looking: threads that stop later wake us */
        const struct tn__mutator *running = find_running(heap);
        if (!running)
            break;
        if (tn__delay_is_due(&delay))
            report_delay(&delay, running);
        else
            tn__os_wait(&heap->asleep, 1, nap_of(&delay));
    }
    __atomic_store_n(&heap->asleep, 0, __ATOMIC_RELAXED);
}

void tn__await_stopped(struct tn_heap *heap)
{
    enum { LOOKS = 2000 };
    for (int i = 0; i < LOOKS; i++)
        if (!find_running(heap))
            return;
    sleep_until_stopped(heap);
}
