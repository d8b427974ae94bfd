/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An allocator that overwrites released blocks and keeps them until the end, so that reads show, and writes too. */

#ifndef TENON_TEST_SPOILING_H
#define TENON_TEST_SPOILING_H

#include <pthread.h>
#include <stdlib.h>

#include "support.h"

static struct block {
    size_t size;
    struct block *next; /* the list of released blocks */
} * released;

static void *spoiling_allocate(void *unused, size_t size)
{
    (void)unused;
    struct block *block = malloc(sizeof *block + size);
    if (!block)
        return NULL;
    block->size = size;
    return block + 1;
}

static void spoiling_release(void *unused, void *memory)
{
    (void)unused;
    if (!memory)
        return;
    struct block *block = (struct block *)memory - 1;
    memset(memory, 0xdb, block->size);
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    block->next = released;
    released = block;
    pthread_mutex_unlock(&lock);
}

static void *spoiling_reallocate(void *unused, void *memory, size_t size)
{
    char *to = spoiling_allocate(unused, size);
    if (to && memory) {
        size_t old = ((struct block *)memory - 1)->size;
        memcpy(to, memory, old < size ? old : size);
        spoiling_release(unused, memory);
    }
    return to;
}

/* Checks that released blocks are unchanged. */
static void close_spoiling(struct fixture *f)
{
    close_fixture(f);
    for (struct block *block = released, *next; block; block = next) {
        next = block->next;
        for (size_t i = 0; i < block->size; i++)
            assert_int_equal(((unsigned char *)(block + 1))[i], 0xdb);
        free(block);
    }
    released = NULL;
}

static const struct tn_allocator spoiling = {NULL, spoiling_allocate, spoiling_reallocate, spoiling_release};

#endif
