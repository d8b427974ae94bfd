/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The only caller of mimalloc. The build binds both into one archive member and hides mimalloc's names in it, so that a
 * product may link its own copy. */

#include <mimalloc.h>

#include "base.h"
#include "os.h"

void *tn__alloc(const struct tn_allocator *from, size_t size)
{
    if (tn__os_alloc_fault())
        return NULL;
    return from ? from->allocate(from->context, size) : mi_malloc(size);
}

void *tn__alloc_zeroed(const struct tn_allocator *from, size_t count, size_t size)
{
    size_t bytes;
    if (!from)
        return tn__os_alloc_fault() ? NULL : mi_calloc(count, size);
    void *block = __builtin_mul_overflow(count, size, &bytes) ? NULL : tn__alloc(from, bytes);
    return block ? memset(block, 0, bytes) : NULL;
}

void *tn__realloc(const struct tn_allocator *from, void *block, size_t size)
{
    if (tn__os_alloc_fault())
        return NULL;
    return from ? from->reallocate(from->context, block, size) : mi_realloc(block, size);
}

void tn__free(const struct tn_allocator *from, void *block)
{
    if (!from)
        mi_free(block);
    else if (block)
        from->release(from->context, block);
}

bool tn__grow(const struct tn_allocator *from, void *array_pointer, size_t *capacity, size_t need, size_t size)
{
    if (need <= *capacity)
        return true;
    size_t wanted = *capacity ? *capacity * 2 : 8, bytes;
    if (wanted < need)
        wanted = need;
    if (__builtin_mul_overflow(wanted, size, &bytes))
        return false;
    void *block;
    memcpy(&block, array_pointer, sizeof block);
    block = tn__realloc(from, block, bytes);
    if (!block)
        return false;
    memcpy(array_pointer, &block, sizeof block);
    *capacity = wanted;
    return true;
}
