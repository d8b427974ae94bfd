/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* -include malloc.h makes of a workload a program of ordinary C: with mimalloc it frees each object as soon as nothing
 * needs it; with BOEHM, Boehm's collector frees them. */

#ifndef BENCH_GC_MALLOC_H
#define BENCH_GC_MALLOC_H

#define TN_UNMANAGED
#include <string.h>

#include "tenon_managed.h"

#ifdef BOEHM
#include <gc.h>

static __attribute__((constructor)) void start(void)
{
    GC_INIT();
}

static inline void *allocate(size_t size, const struct tn_type *type)
{
    return type->kind == TN_KIND_LEAF ? memset(GC_MALLOC_ATOMIC(size), 0, size) : GC_MALLOC(size);
}
#else
#include <mimalloc.h>

#define FREE(object) mi_free(object)

static inline void *allocate(size_t size, const struct tn_type *type)
{
    (void)type;
    return memset(mi_malloc(size), 0, size);
}
#endif

#undef TN__ALLOCATE_AS
#define TN__ALLOCATE_AS(descriptor, align, size) allocate(size, &(descriptor))

#endif
