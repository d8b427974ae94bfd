/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Private anonymous pages for links that fill many: the ranges of one link lie side by side in a run of pages, which is
 * writable until all are written, and then executable or read-only. The pages were never both, and have no alias. They
 * cost less than those of a memfd, whose alias costs more at the first touch; debuggers can set breakpoints there, and
 * a fork copies them.
 *
 * Neighbouring runs of a zone are one mapping to the system. Pages of removed objects are writable, and not executable,
 * until a run takes them again. PR_SET_MDWE and SELinux refuse to make such pages executable: then large links are
 * written as small ones are. */

#include "link/memory/codemem.h"

/* Each free piece between pieces in use is a mapping, so they must not be small, and not too many. */
enum { SMALLEST_HOLE = TN__LARGE_LINK, MOST_HOLES = 1000 };

static int map(struct tn__chunk *chunk, enum tn__prot prot, struct tn_error *err)
{
    (void)prot, (void)err;
    chunk->alias = (uint8_t *)(uintptr_t)chunk->address; /* a run makes its part of it accessible */
    return 0;
}

static int publish(struct tn__chunk *chunk, enum tn__prot prot, struct tn_error *err)
{
    (void)chunk, (void)prot, (void)err; /* see tn__run_publish */
    return 0;
}

const struct tn__strategy_ops tn__strategy_own = {
    .name = "dual",
    .policy = "PR_SET_MDWE (systemd's MemoryDenyWriteExecute) or SELinux execmem",
    .packs = true,
    .map = map,
    .publish = publish,
    .unmap = tn__chunk_unmap_private,
};

/* Makes the run writable. Only trying shows whether its pages may become executable; read-only ones no policy
 * refuses. */
static int open_run(struct tn__window *window, struct tn__code_zone *zone, const struct tn__run *run)
{
    int error = 0;
    if (!zone->permitted && zone->prot == TN__PROT_RX) {
        error = tn__os_protect(run->address, window->page_size, TN__PROT_RW);
        if (!error)
            error = tn__os_protect(run->address, window->page_size, zone->prot);
        zone->permitted = !error;
        zone->refused = tn__is_refusal(error);
    }
    return error ? error : tn__os_protect(run->address, run->size, TN__PROT_RW);
}

void tn__run_begin(struct tn__window *window, enum tn_zone kind, size_t size, size_t alignment, struct tn__run *run)
{
    struct tn__code_zone *zone = &window->own[kind];
    struct tn_error unused;
    *run = (struct tn__run){0};
    if (size < TN__LARGE_LINK || size > window->end - window->start || !zone->strategy ||
        __atomic_load_n(&zone->refused, __ATOMIC_RELAXED))
        return;
    size = tn__align_up(size, window->page_size);
    if (tn__zone_take(window, zone, size, tn__max64(alignment, window->page_size), &run->rest, &unused))
        return;
    run->address = run->rest->address;
    run->size = size;
    zone->holes -= zone->holes && !run->rest->fresh;
    if (!open_run(window, zone, run)) {
        window->runs[kind] = run;
        return;
    }
    tn__ranges_give(&run->rest->home->ranges, run->rest);
    *run = (struct tn__run){0};
}

/* Cuts `size` bytes from the run's beginning; NULL if they are not there, or memory is out. */
static struct tn__mem_range *cut(struct tn__run *run, size_t size)
{
    struct tn__mem_range *range = run->rest;
    if (!range || size > range->size)
        return NULL;
    struct tn__mem_range *rest = size < range->size ? tn__ranges_cut(&range->home->ranges, range, size) : NULL;
    if (!rest && size < range->size)
        return NULL;
    run->rest = rest;
    return range;
}

struct tn__mem_range *tn__run_take(struct tn__window *window, enum tn_zone kind, size_t size, size_t alignment)
{
    struct tn__run *run = window->runs[kind];
    if (!run || !run->rest || size > run->size)
        return NULL;
    size_t padding = (size_t)(tn__align_up(run->rest->address, alignment) - run->rest->address);
    struct tn__mem_range *front = padding ? cut(run, padding) : NULL;
    if (front)
        tn__ranges_give(&front->home->ranges, front);
    if (padding && !front)
        return NULL;
    return cut(run, tn__align_up(size ? size : 1, TN__RANGE_GRANULE));
}

/* If the system refuses, or the pages are few, the removed code stays executable until it is overwritten, like that of
 * small objects. */
void tn__run_give(const struct tn__window *window, struct tn__mem_range *range)
{
    struct tn__code_zone *zone = range->home->zone;
    uint64_t page = window->page_size, start = range->address & -page,
             end = tn__align_up(range->address + range->size, page);
    const struct tn__mem_range *free = tn__ranges_give(&range->home->ranges, range);
    start = tn__max64(start, tn__align_up(free->address, page));
    end = tn__min64(end, (free->address + free->size) & -page);
    if (end < start + SMALLEST_HOLE || zone->holes >= MOST_HOLES)
        return;
    if (!tn__os_protect(start, end - start, TN__PROT_RW))
        zone->holes++;
}

void tn__run_end(struct tn__window *window, enum tn_zone kind)
{
    struct tn__run *run = window->runs[kind];
    if (run && run->rest)
        tn__ranges_give(&run->rest->home->ranges, run->rest);
    if (run)
        run->rest = NULL;
    window->runs[kind] = NULL;
}

int tn__run_publish(struct tn__window *window, enum tn_zone kind, const struct tn__run *run, struct tn_error *err)
{
    struct tn__code_zone *zone = &window->own[kind];
    int error = run->size ? tn__os_protect(run->address, run->size, zone->prot) : 0;
    if (tn__is_refusal(error)) /* since the pages were tried; the next link does without them */
        __atomic_store_n(&zone->refused, true, __ATOMIC_RELAXED);
    return error ? tn__zone_fail(err, error, zone->strategy, kind) : 0;
}
