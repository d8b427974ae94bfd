/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the workloads share. They are collected C (tenon_managed.h); with -DTN_UNMANAGED they are plain C that never
 * frees. */

#ifndef BENCH_GC_WORKLOAD_H
#define BENCH_GC_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tenon_managed.h"

/* Ends an object's life, where that is the program's business (peers/malloc.h). */
#ifdef FREE
enum { FREES = 1 };
#else
enum { FREES = 0 };
#define FREE(object) ((void)(object))
#endif

#define SEED 88172645463325252ull

static inline uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* xorshift64 (Marsaglia, 2003). */
static inline uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* Argument number `index`, or what it is without. */
static inline uint64_t argument(int argc, char **argv, int index, uint64_t otherwise)
{
    return index < argc ? strtoull(argv[index], NULL, 10) : otherwise;
}

#endif
