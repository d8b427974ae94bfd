/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* -include twin.h makes of collected C its unmanaged twin: ordinary pointers, and the same allocation inline, from
 * memory that is never collected. What is left between the two is what it costs that roots are known. */

#ifndef BENCH_GC_TWIN_H
#define BENCH_GC_TWIN_H

#define TN_UNMANAGED
#include <string.h>
#include <sys/mman.h>

#include "tenon_managed.h"

static _Thread_local char *twin_bump, *twin_limit;

static __attribute__((noinline)) void *twin_allocate(size_t size, const void *type)
{
    size_t chunk = size + 8 > 1 << 18 ? size + 8 : 1 << 18;
    void *memory = mmap(NULL, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    *(const void **)memory = type;
    twin_bump = (char *)memory + 8 + size;
    twin_limit = (char *)memory + chunk;
    return (char *)memory + 8;
}

static inline void *twin_new(size_t asked, const void *type)
{
    size_t size = (asked + 7) & ~(size_t)7;
    if (asked > 8192)
        return twin_allocate(size, type);
    char *header = twin_bump, *end = header + 8 + size;
    if (__builtin_expect(end > __atomic_load_n(&twin_limit, __ATOMIC_RELAXED), 0))
        return twin_allocate(size, type);
    twin_bump = end;
    *(const void **)header = type;
    return memset(header + 8, 0, size);
}

#undef TN__ALLOCATE_AS
#define TN__ALLOCATE_AS(descriptor, align, size) twin_new(size, &(descriptor))

#endif
