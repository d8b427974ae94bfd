/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "base/base.h"
#include "faults.h"

long allocations_left = -1;

static bool fails(void)
{
    return allocations_left >= 0 && allocations_left-- == 0;
}

void *__real_tn__alloc(const struct tn_allocator *from, size_t size);
void *__real_tn__alloc_zeroed(const struct tn_allocator *from, size_t count, size_t size);
void *__real_tn__realloc(const struct tn_allocator *from, void *block, size_t size);
bool __real_tn__grow(const struct tn_allocator *from, void *array, size_t *capacity, size_t need, size_t size);
void *__wrap_tn__alloc(const struct tn_allocator *from, size_t size);
void *__wrap_tn__alloc_zeroed(const struct tn_allocator *from, size_t count, size_t size);
void *__wrap_tn__realloc(const struct tn_allocator *from, void *block, size_t size);
bool __wrap_tn__grow(const struct tn_allocator *from, void *array, size_t *capacity, size_t need, size_t size);

void *__wrap_tn__alloc(const struct tn_allocator *from, size_t size)
{
    return fails() ? NULL : __real_tn__alloc(from, size);
}

void *__wrap_tn__alloc_zeroed(const struct tn_allocator *from, size_t count, size_t size)
{
    return fails() ? NULL : __real_tn__alloc_zeroed(from, count, size);
}

void *__wrap_tn__realloc(const struct tn_allocator *from, void *block, size_t size)
{
    return fails() ? NULL : __real_tn__realloc(from, block, size);
}

bool __wrap_tn__grow(const struct tn_allocator *from, void *array, size_t *capacity, size_t need, size_t size)
{
    return !(need > *capacity && fails()) && __real_tn__grow(from, array, capacity, need, size);
}
