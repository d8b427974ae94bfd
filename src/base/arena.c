/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Bump allocation in chunks that grow fast, so that small arenas stay small, large ones call the allocator rarely, and
 * few of its size classes are used (each costs fresh pages). Chunk sizes include the header, to fit these classes. A
 * block too large for the next chunk gets a chunk of its own, and the rest of the current chunk remains in use. */

#include "base.h"
#include "os.h"

enum { ALIGNMENT = 16, FIRST_CHUNK = 1 << 10, GROWTH = 16, LARGEST_CHUNK = 256 << 10, FAULTS = 8 << 10 };

struct tn__arena_chunk {
    struct tn__arena_chunk *next;
    size_t total; /* bytes, this header included */
    _Alignas(ALIGNMENT) char data[];
};

static struct tn__arena_chunk *new_chunk(struct tn__arena *arena, size_t total)
{
    struct tn__arena_chunk *chunk = tn__alloc(arena->from, total);
    if (chunk)
        *chunk = (struct tn__arena_chunk){.next = arena->chunks, .total = total};
    return chunk;
}

static bool add_chunk(struct tn__arena *arena, size_t total)
{
    struct tn__arena_chunk *chunk = new_chunk(arena, total);
    if (!chunk)
        return false;
    arena->chunks = chunk;
    arena->at = chunk->data;
    arena->end = (char *)chunk + total;
    return true;
}

/* The large chunk is inserted after the first one, which remains the current one. */
static void *alloc_large(struct tn__arena *arena, size_t total)
{
    struct tn__arena_chunk *chunk = new_chunk(arena, total);
    if (!chunk)
        return NULL;
    if (arena->chunks) {
        chunk->next = arena->chunks->next;
        arena->chunks->next = chunk;
    } else {
        arena->chunks = chunk;
    }
    return chunk->data;
}

void *tn__arena_alloc(struct tn__arena *arena, size_t size)
{
    if (size > SIZE_MAX - ALIGNMENT - sizeof(struct tn__arena_chunk))
        return NULL;
    /* Empty blocks take space too: they need an address, because NULL means out of memory. */
    size = size ? (size + ALIGNMENT - 1) & -(size_t)ALIGNMENT : ALIGNMENT;
    if ((size_t)(arena->end - arena->at) < size) {
        size_t total = arena->at ? tn__min64(arena->chunks->total * GROWTH, LARGEST_CHUNK) : FIRST_CHUNK;
        if (size > LARGEST_CHUNK / 4)
            total = LARGEST_CHUNK;
        if (size > total - sizeof(struct tn__arena_chunk))
            return alloc_large(arena, size + sizeof(struct tn__arena_chunk));
        if (!add_chunk(arena, total))
            return NULL;
    }
    void *block = arena->at;
    arena->at += size;
    return block;
}

void *tn__arena_alloc_filled(struct tn__arena *arena, size_t size)
{
    void *block = tn__arena_alloc(arena, size);
    if (block && size >= FAULTS)
        tn__os_prefault_block(block, size);
    return block;
}

void *tn__arena_array(struct tn__arena *arena, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    void *block = tn__arena_alloc_filled(arena, bytes);
    if (block)
        memset(block, 0, bytes);
    return block;
}

char *tn__arena_text(struct tn__arena *arena, const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? tn__arena_alloc(arena, length + 1) : NULL;
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

bool tn__arena_reserve(struct tn__arena *arena, size_t size)
{
    return add_chunk(arena, size + sizeof(struct tn__arena_chunk));
}

void tn__arena_free(struct tn__arena *arena)
{
    for (struct tn__arena_chunk *chunk = arena->chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        tn__free(arena->from, chunk);
    }
    *arena = (struct tn__arena){.from = arena->from};
}
