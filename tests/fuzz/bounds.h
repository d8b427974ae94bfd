/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Time and memory are bounded by the size of the input (doc/DESIGN.md, "Hostile input"). Memory is what the
 * allocator below has given out at most; the rest is limited by libFuzzer (-malloc_limit_mb). The limits on time
 * leave room for sanitizers and for a loaded machine: they find work that grows with the square of the input. */

#ifndef TENON_TESTS_FUZZ_BOUNDS_H
#define TENON_TESTS_FUZZ_BOUNDS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tenon.h"

enum { BOUND_FACTOR = 256, BOUND_BYTES = 1 << 20, BOUND_MS = 400, BOUND_NS_PER_BYTE = 2000 };

/* ThreadSanitizer calls a function for each access to memory, and 583 ms have been seen where 110 are for programs
 * without it; AddressSanitizer looks at shadow memory. */
#if defined(__SANITIZE_THREAD__)
enum { BOUNDS_SLOWER = 15 };
#elif defined(__SANITIZE_ADDRESS__)
enum { BOUNDS_SLOWER = 3 };
#else
enum { BOUNDS_SLOWER = 1 };
#endif

static struct {
    size_t in_use, peak;
    double start;
} bounds;

/* Ahead of each block: its size. */
union bounds_head {
    size_t size;
    max_align_t aligned;
};

static inline void *bounds_reallocate(void *unused, void *block, size_t size)
{
    (void)unused;
    union bounds_head *head = block ? (union bounds_head *)block - 1 : NULL;
    size_t old = head ? head->size : 0;
    head = realloc(head, sizeof *head + size);
    if (!head)
        return NULL;
    head->size = size;
    bounds.in_use += size - old;
    if (bounds.in_use > bounds.peak)
        bounds.peak = bounds.in_use;
    return head + 1;
}

static inline void *bounds_allocate(void *unused, size_t size)
{
    return bounds_reallocate(unused, NULL, size);
}

static inline void bounds_release(void *unused, void *block)
{
    (void)unused;
    union bounds_head *head = (union bounds_head *)block - 1;
    bounds.in_use -= head->size;
    free(head);
}

static const struct tn_allocator bounds_allocator = {
    .allocate = bounds_allocate, .reallocate = bounds_reallocate, .release = bounds_release};

static inline double bounds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static inline void bounds_begin(void)
{
    bounds.in_use = bounds.peak = 0;
    bounds.start = bounds_now();
}

/* Ends the process if too much was used, or not given back. */
static inline void bounds_end(size_t size)
{
    double ms = bounds_now() - bounds.start, most = BOUND_MS + (double)size * BOUND_NS_PER_BYTE / 1e6;
    size_t limit = BOUND_BYTES + size * BOUND_FACTOR;
    if (ms <= most && bounds.peak <= limit && !bounds.in_use)
        return;
    fprintf(stderr, "input of %zu bytes: %.0f of %.0f ms, %zu of %zu bytes, %zu not given back\n", size, ms, most,
            bounds.peak, limit, bounds.in_use);
    abort();
}

#endif
