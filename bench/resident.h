/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How much memory the process has; for C and C++. */

#ifndef BENCH_RESIDENT_H
#define BENCH_RESIDENT_H

#include <stdio.h>
#include <unistd.h>

static inline long resident_kb(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        if (fscanf(file, "%*d %ld", &pages) != 1)
            pages = 0;
        fclose(file);
    }
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

#endif
