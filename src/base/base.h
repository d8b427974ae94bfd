/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Errors, allocation, arenas, lists, reading foreign bytes: what all other code may use, and which uses none of it. */

#ifndef TENON_BASE_H
#define TENON_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tenon.h"

#define TN_HIDDEN              __attribute__((visibility("hidden")))
#define TN_PRINTF(text, first) __attribute__((format(printf, text, first)))
#define TN_COUNT(array)        (sizeof(array) / sizeof((array)[0]))

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors (error.c) ---- */

/* Fills in *err, unless err is NULL, and returns `code`, so that functions can fail with `return tn__fail(err,
 * ...)`. */
int tn__fail(struct tn_error *err, int code, const char *format, ...) TN_PRINTF(3, 4);

/* `return tn__no_argument(err)`: NULL was passed for a pointer that the public function needs. */
#define tn__no_argument(err) tn__fail(err, TN_EINVAL, "%s: a required argument is NULL", __func__)

/* The same for TN_ENOMEM: "NAME: out of memory", or without a name (NULL). */
int tn__no_memory(struct tn_error *err, const char *name);

/* Appends to the text of an error that is already filled in. In both, control characters in arguments, names for
 * example, become question marks. */
void tn__append(struct tn_error *err, const char *format, ...) TN_PRINTF(2, 3);

/* Appends a text that may have several lines: that of another error. Returns the error's code. */
int tn__append_text(struct tn_error *err, const char *text);

/* Replaces control characters in a name that is going to be printed. */
void tn__quote(char *text, size_t length);

/* ---- allocation (alloc.c) ---- */

/* All memory of the runtime, except code memory, is allocated by these. `from` NULL: mimalloc. They return NULL when
 * out of memory. */
void *tn__alloc(const struct tn_allocator *from, size_t size);
void *tn__alloc_zeroed(const struct tn_allocator *from, size_t count, size_t size);
void *tn__realloc(const struct tn_allocator *from, void *block, size_t size);
void tn__free(const struct tn_allocator *from, void *block);

/* ---- buffers (buffer.c) ---- */

/* Fills an empty buffer with a copy, for tn_buffer_free. False: out of memory. */
bool tn__buffer_fill(struct tn_buffer *out, const void *bytes, size_t size);

/* ---- arenas (arena.c) ---- */

/* Memory that is freed all at once. A zeroed struct is an empty arena. Not thread-safe. */
struct tn__arena {
    const struct tn_allocator *from;
    struct tn__arena_chunk *chunks;
    char *at, *end;
};

/* Uninitialised memory aligned to 16 bytes; NULL when memory is out. */
void *tn__arena_alloc(struct tn__arena *arena, size_t size);
/* The same for memory that the caller is going to fill: pages of large blocks come at once, which takes half of the
 * time of a fault for each. */
void *tn__arena_alloc_filled(struct tn__arena *arena, size_t size);
/* The same for an array, zeroed; NULL also when count * size overflows. */
void *tn__arena_array(struct tn__arena *arena, size_t count, size_t size);
/* A NUL-terminated copy of `length` bytes. */
char *tn__arena_text(struct tn__arena *arena, const char *text, size_t length);
/* Makes space for `size` bytes in an empty arena; false when memory is out. */
bool tn__arena_reserve(struct tn__arena *arena, size_t size);
void tn__arena_free(struct tn__arena *arena);

/* ---- growing arrays (alloc.c) ---- */

/* Makes space for `need` elements of `size` bytes, doubling *capacity; false when memory is out (the array is
 * unchanged). */
bool tn__grow(const struct tn_allocator *from, void *array_pointer, size_t *capacity, size_t need, size_t size);

/* ---- structs that begin with their size (options.c) ---- */

/* Copies the caller's version of an option struct into the `known` bytes at `to`, whose other members become zero and
 * whose size becomes `known`. (New members must make such a struct larger, never fill padding.) `from` NULL: all
 * members zero. TN_EINVAL as described in tenon/base.h; `name` is that of the struct. */
int tn__take_options(void *to, size_t known, const void *from, const char *name, struct tn_error *err);

/* Copies a result of `known` bytes into the caller's version of the struct; does nothing if its size is impossible. */
void tn__give_stats(void *to, size_t known, const void *from);

/* A struct of statistics may be one of counters: uint64_t's behind its size, to which threads add at the same time. */
static inline void tn__count(uint64_t *counter, uint64_t number)
{
    __atomic_fetch_add(counter, number, __ATOMIC_RELAXED);
}
/* As tn__give_stats, from such a struct. */
void tn__give_counters(void *to, size_t known, const void *counters);

bool tn__size_is_possible(size_t size);

/* ---- lists ---- */

/* A circular list of nodes embedded in what they list; the list itself is a node too. An empty list, and a node that is
 * in no list, is its own neighbour. */
struct tn__list {
    struct tn__list *next, *previous;
};

#define tn__container_of(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

/* for (TN_EACH(struct thing, thing, &list, member)) visits what is listed; the loop must not remove it. */
#define TN_EACH(type, item, list, member)                                                                              \
    type *item = tn__container_of((list)->next, type, member);                                                         \
    &item->member != (list);                                                                                           \
    item = tn__container_of(item->member.next, type, member)

/* The same, but the loop may remove the item, though no other. */
#define TN_EACH_TO_REMOVE(type, item, list, member)                                                                    \
    type *item = tn__container_of((list)->next, type, member), *next_##item;                                           \
    next_##item = tn__container_of(item->member.next, type, member), &item->member != (list);                          \
    item = next_##item

static inline void tn__list_init(struct tn__list *list)
{
    list->next = list->previous = list;
}

static inline void tn__list_append(struct tn__list *list, struct tn__list *node)
{
    node->next = list;
    node->previous = list->previous;
    list->previous->next = node;
    list->previous = node;
}

static inline bool tn__list_is_empty(const struct tn__list *list)
{
    return list->next == list;
}

static inline void tn__list_remove(struct tn__list *node)
{
    node->next->previous = node->previous;
    node->previous->next = node->next;
    tn__list_init(node);
}

/* ---- foreign bytes ---- */

/* Unaligned little-endian loads and stores. The caller has checked the bounds. */
static inline uint16_t tn__get16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint32_t tn__get32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t tn__get64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void tn__put16(void *p, uint16_t v)
{
    memcpy(p, &v, sizeof v);
}

static inline void tn__put32(void *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
}

static inline void tn__put64(void *p, uint64_t v)
{
    memcpy(p, &v, sizeof v);
}

/* True if [offset, offset + length) lies within `size` bytes; cannot overflow. */
static inline bool tn__inside(uint64_t offset, uint64_t length, uint64_t size)
{
    return offset <= size && length <= size - offset;
}

/* Rounds up to a power of two. */
static inline uint64_t tn__align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) & -alignment;
}

/* The first number from `low` on for which `before` is false, at most `high`: an expression of the number `i` that is
 * true for all up to some number and false from there on. */
#define TN_BISECT(low, high, i, before)                                                                                \
    __extension__({                                                                                                    \
        size_t low_##i = (low), high_##i = (high);                                                                     \
        while (low_##i < high_##i) {                                                                                   \
            size_t i = low_##i + (high_##i - low_##i) / 2;                                                             \
            if (before)                                                                                                \
                low_##i = i + 1;                                                                                       \
            else                                                                                                       \
                high_##i = i;                                                                                          \
        }                                                                                                              \
        low_##i;                                                                                                       \
    })

/* The number of elements whose uint64_t member `field` is at most `key`, in an array sorted by that member; the last
 * such element has this number minus 1 as its index. */
#define TN_COUNT_UP_TO(items, count, field, key)                                                                       \
    tn__count_up_to((items), (count), sizeof *(items), offsetof(__typeof__(*(items)), field), (key))

static inline size_t tn__count_up_to(const void *items, size_t count, size_t size, size_t offset, uint64_t key)
{
    const char *fields = (const char *)items + offset;
    return TN_BISECT(0, count, i, *(const uint64_t *)(const void *)(fields + i * size) <= key);
}

static inline uint64_t tn__min64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t tn__max64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
