/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Quantiles of times that were counted in buckets (count_time in src/gc/collect/collect.c). */

#include "gc/threads/threads.h"

uint64_t tn_times_quantile(const struct tn_times *times, double portion)
{
    enum { FIRST = 10, COUNT = TN_COUNT(times->counts) };
    uint64_t all = 0, seen = 0;
    unsigned at = 0;
    for (unsigned i = 0; i < COUNT; i++)
        all += times->counts[i];
    if (!all)
        return 0;
    for (; at < COUNT - 1; at++) {
        seen += times->counts[at];
        if (seen && (double)seen >= portion * (double)all)
            break;
    }
    return (at % 8 + 9ull) << (at / 8 + FIRST - 3);
}
