/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The only caller of mimalloc. The build binds both into one archive member and hides mimalloc's names in it, so that a
 * product may link its own copy. */

#include <mimalloc.h>

#include "base.h"
#include "os.h"

void *tn__alloc(size_t size)
{
    return tn__os_alloc_fault() ? NULL : mi_malloc(size);
}

void *tn__alloc_zeroed(size_t count, size_t size)
{
    return tn__os_alloc_fault() ? NULL : mi_calloc(count, size);
}

void *tn__realloc(void *block, size_t size)
{
    return tn__os_alloc_fault() ? NULL : mi_realloc(block, size);
}

void tn__free(void *block)
{
    mi_free(block);
}

bool tn__grow(void *array_pointer, size_t *capacity, size_t need, size_t size)
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
    block = tn__realloc(block, bytes);
    if (!block)
        return false;
    memcpy(array_pointer, &block, sizeof block);
    *capacity = wanted;
    return true;
}
