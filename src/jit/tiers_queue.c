/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What code and profilers tell, from any place: a bounded queue after Dmitry Vyukov, with a number in each cell that
 * says whose turn it is. A thread that is stopped between taking a cell and filling it in holds up the reader only. */

#include <stdatomic.h>

#include "base/os.h"
#include "jit/tiers.h"

enum { CELLS = 1024 };

/* `turn` minus the cell's index is n * CELLS if the cell is free for the n-th round, and one more if it is filled in.
 * */
static struct {
    atomic_size_t turn;
    struct tn__told told;
} cells[CELLS];

static struct {
    _Alignas(64) atomic_size_t pushed;
    _Alignas(64) size_t popped;
} queue;

uint32_t tn__told_events;

bool tn__told_push(const struct tn__told *told)
{
    size_t at = atomic_load_explicit(&queue.pushed, memory_order_relaxed);
    for (;;) {
        size_t turn = atomic_load_explicit(&cells[at % CELLS].turn, memory_order_acquire), wanted = at / CELLS * CELLS;
        if (turn < wanted) /* it has not been read in the round before */
            return false;
        if (turn > wanted) /* another thread has taken it */
            at = atomic_load_explicit(&queue.pushed, memory_order_relaxed);
        else if (atomic_compare_exchange_weak_explicit(&queue.pushed, &at, at + 1, memory_order_relaxed,
                                                       memory_order_relaxed))
            break;
    }
    cells[at % CELLS].told = *told;
    atomic_store_explicit(&cells[at % CELLS].turn, at / CELLS * CELLS + 1, memory_order_release);
    __atomic_fetch_add(&tn__told_events, 1, __ATOMIC_SEQ_CST);
    tn__os_wake(&tn__told_events);
    return true;
}

bool tn__told_pop(struct tn__told *told)
{
    size_t at = queue.popped, round = at / CELLS * CELLS;
    if (atomic_load_explicit(&cells[at % CELLS].turn, memory_order_acquire) != round + 1)
        return false;
    *told = cells[at % CELLS].told;
    atomic_store_explicit(&cells[at % CELLS].turn, round + CELLS, memory_order_release);
    queue.popped = at + 1;
    return true;
}

/* ---- counters ---- */

static int32_t load(const int32_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static void store(int32_t *counter, uint64_t value)
{
    __atomic_store_n(counter, value < INT32_MAX ? (int32_t)value : INT32_MAX, __ATOMIC_RELAXED);
}

/* Turns of loops are charged in portions, an eighth of the calls that are due. Each time that a counter has told, it
 * takes twice as long until it tells again, so that the number of times says how hot a function is, and a full queue
 * loses nothing for good. Threads may do this at once: then some calls count twice, or not at all. */
void tn__told(struct tn__counter *c, uint32_t loop)
{
    const uint64_t calls = c->limits & UINT32_MAX, loops = c->limits >> 32, portion = calls < 8 ? 1 : calls / 8;
    const uint64_t turns = loops ? loops * portion : INT32_MAX;
    uint32_t times = __atomic_load_n(&c->told, __ATOMIC_RELAXED);
    int64_t left = load(&c->calls);
    if (!times) { /* its first call */
        __atomic_store_n(&c->told, 1, __ATOMIC_RELAXED);
        store(&c->calls, calls - 1);
        store(&c->loops, turns);
        return;
    }
    if (loop && loops)
        left -= (int64_t)portion;
    if (loop && left >= 0) {
        store(&c->calls, (uint64_t)left);
        store(&c->loops, turns);
        return;
    }
    uint32_t doublings = times < 30 ? times : 30;
    tn__told_push(&(struct tn__told){.module = c->module, .part = c->part, .times = times, .level = (int)c->level});
    __atomic_store_n(&c->told, doublings + 1, __ATOMIC_RELAXED);
    store(&c->calls, calls << doublings);
    store(&c->loops, turns << (doublings < 16 ? doublings : 16));
}
