/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* memmove for memory that holds references: copies whole words, because other threads may read them meanwhile. */

#include "gc/object/object.h"

static void move_words(uint64_t *to, const uint64_t *from, size_t count)
{
    if (to <= from)
        for (size_t i = 0; i < count; i++)
            __atomic_store_n(&to[i], __atomic_load_n(&from[i], __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    else
        for (size_t i = count; i-- > 0;)
            __atomic_store_n(&to[i], __atomic_load_n(&from[i], __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

void tn__gc_move(void *parent, void *to, const void *from, size_t size)
{
    if (parent && (*tn__header(parent) & TN_GC_UNLOGGED))
        tn__gc_log(parent, NULL);
    if ((((uintptr_t)to | (uintptr_t)from) & 7) != 0) {
        memmove(to, from, size);
        return;
    }
    size_t words = size / 8, rest = size % 8;
    bool up = to <= from;
    if (rest && !up)
        memmove((char *)to + 8 * words, (const char *)from + 8 * words, rest);
    move_words(to, from, words);
    if (rest && up)
        memmove((char *)to + 8 * words, (const char *)from + 8 * words, rest);
}
