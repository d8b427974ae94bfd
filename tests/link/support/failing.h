/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An allocator of which one request fails, counted from 1, and which knows how many blocks are in use. */

#ifndef TENON_TEST_FAILING_H
#define TENON_TEST_FAILING_H

#include <stdlib.h>

#include "support.h"

static struct {
    unsigned count, fails_at; /* 0: never */
    size_t in_use;
} failing;

static bool may_allocate(void)
{
    return ++failing.count != failing.fails_at;
}

static void *failing_allocate(void *unused, size_t size)
{
    (void)unused;
    void *block = may_allocate() ? malloc(size) : NULL;
    failing.in_use += block != NULL;
    return block;
}

static void *failing_reallocate(void *unused, void *block, size_t size)
{
    (void)unused;
    void *moved = may_allocate() ? realloc(block, size) : NULL;
    failing.in_use += moved && !block;
    return moved;
}

static void failing_release(void *unused, void *block)
{
    (void)unused;
    failing.in_use -= block != NULL;
    free(block);
}

static const struct tn_allocator failing_allocator = {NULL, failing_allocate, failing_reallocate, failing_release};

#endif
