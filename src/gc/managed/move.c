/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The barrier, and memmove for memory that holds references: copies whole words, because other threads may read them
 * meanwhile. */

#include "base/kept_errno.h"
#include "gc/managed/managed.h"

/* Outside of heaps, only tn__gc_move comes here. */
void tn__gc_log_here(void *object, void *slot, void *value)
{
    TN__KEEP_ERRNO;
    struct tn_heap *heap = tn_heap_current();
    if (heap)
        tn__log_store(heap, object, slot, value);
    else if (!(tn__header_now(object) & TN_GC_PERMANENT))
        __atomic_fetch_and(tn__header(object), ~(uint64_t)TN_GC_UNLOGGED, __ATOMIC_SEQ_CST);
}

/* `array`: the object with these words if they are all references, and have barriers of their own. */
static void move_word(void *array, void **to, void *const *from)
{
    void *value = __atomic_load_n(from, __ATOMIC_RELAXED);
    if (array && value && tn__needs_log(tn_heap_current(), array, value))
        tn__gc_log(array, to, value);
    __atomic_store_n(to, value, __ATOMIC_RELAXED);
}

static void move_words(void *array, void **to, void *const *from, size_t count)
{
    if ((uintptr_t)to <= (uintptr_t)from)
        for (size_t i = 0; i < count; i++)
            move_word(array, &to[i], &from[i]);
    else
        for (size_t i = count; i-- > 0;)
            move_word(array, &to[i], &from[i]);
}

/* Large arrays of references are not worth logging as a whole. */
static bool has_words(const void *parent, const char *to, size_t size)
{
    const struct tn_type *type = tn__type_of(parent);
    uint64_t at = (uint64_t)(to - (const char *)parent), payload = tn__payload(parent);
    return type->kind == TN_KIND_REFERENCES && at >= type->size && at <= payload && size <= payload - at &&
           size % 8 == 0;
}

void tn__gc_move(void *parent, void *to, const void *from, size_t size)
{
    bool is_aligned = (((uintptr_t)to | (uintptr_t)from) & 7) == 0;
    void *array = NULL;
    if (parent && (*tn__header(parent) & TN_GC_UNLOGGED)) {
        if (is_aligned && tn_heap_current() && has_words(parent, to, size))
            array = parent;
        else
            tn__gc_log(parent, NULL, NULL);
    }
    if (!is_aligned) {
        memmove(to, from, size);
        return;
    }
    size_t words = size / 8, rest = size % 8;
    bool up = to <= from;
    if (rest && !up)
        memmove((char *)to + 8 * words, (const char *)from + 8 * words, rest);
    move_words(array, to, from, words);
    if (rest && up)
        memmove((char *)to + 8 * words, (const char *)from + 8 * words, rest);
}
