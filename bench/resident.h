/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How much memory the process has; for C and C++, for benchmarks and tests. */

#ifndef BENCH_RESIDENT_H
#define BENCH_RESIDENT_H

#include <stdio.h>

/* Sanitizers do: then the process grows, whatever the program frees. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { KEEPS_WHAT_WAS_FREED = 1 };
#else
enum { KEEPS_WHAT_WAS_FREED = 0 };
#endif

/* Exact, which /proc/self/statm is not; -1: the system does not say. */
static inline long resident_kb(void)
{
    char line[128];
    long kb = -1;
    FILE *rollup = fopen("/proc/self/smaps_rollup", "re");
    while (rollup && kb < 0 && fgets(line, sizeof line, rollup))
        if (sscanf(line, "Rss: %ld", &kb) != 1)
            kb = -1;
    if (rollup)
        fclose(rollup);
    return kb;
}

#endif
