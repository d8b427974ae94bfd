/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Collected C. Stock clang is the front end:
 *
 *     struct node { struct node tn_ref *left, *right; long value; };
 *     TN_TYPE(struct node, left, right);
 *     ...
 *     struct node tn_ref *node = tn_new(struct node);
 *
 *     clang -O2 -Xclang -disable-llvm-passes -emit-llvm -c tree.c -o tree.bc && tenon run -O2 tree.bc
 *
 * Tenon refuses IR that clang has optimised (doc/IR.md). (`tenon compile` makes objects for ordinary programs from it.)
 * References are pointers declared with tn_ref. They point to the beginning of an object and may be variables,
 * arguments, fields and globals; the collector updates them when it moves the object. They must not be cast to integers
 * or other pointers, nor be members of unions; unmanaged functions get the address of an object by tn_pin. Addresses of
 * fields (&node->value) may be used in expressions and local variables, but not be stored, passed or returned.
 *
 * With TN_UNMANAGED defined, any C compiler accepts the same source: objects come from calloc and are never freed. */

#ifndef TENON_MANAGED_H
#define TENON_MANAGED_H

#include "tenon_heap.h"

#ifdef TN_UNMANAGED
#include <stdlib.h>
#define tn_ref
#define TN_NO_TRANSITION
#else
/* Other compilers ignore the attribute: their references would be ordinary pointers, of which the collector learns
 * nothing. */
#ifndef __has_attribute
#define __has_attribute(name) 0
#endif
#if !__has_attribute(address_space)
#error "collected C is compiled with clang (doc/IR.md); define TN_UNMANAGED for an ordinary program"
#endif
#define tn_ref           __attribute__((address_space(10)))
/* Declares a native function during whose calls no collection happens on other threads either (doc/GC.md,
 * "Transitions"): it does not block, or it takes references from memory that managed code has told it about. */
#define TN_NO_TRANSITION __attribute__((annotate("gc-no-transition")))
#endif

/* ---- types ---- */

/* Describes a struct whose objects are collected: the listed members, at most 16 and in the first 512 bytes, are its
 * references, and there are no others: Tenon rejects accesses to a reference that is not listed. Once per program and
 * struct, or identically in several files. */
#define TN_TYPE(type, ...)                                                                                             \
    TN__DESCRIPTOR(type) = {.name = #type,                                                                             \
                            .kind = TN_KIND_FIXED,                                                                     \
                            .alignment = TN__ALIGNMENT(type),                                                          \
                            .size = sizeof(type),                                                                      \
                            .references = TN__EACH(TN__BIT, type, __VA_ARGS__) 0}

/* A struct without references. */
#define TN_LEAF(type)                                                                                                  \
    TN__DESCRIPTOR(type) = {.name = #type, .kind = TN_KIND_LEAF, .alignment = TN__ALIGNMENT(type), .size = sizeof(type)}

/* Structs that end in an array, such as `struct names { size_t length; struct name tn_ref *items[]; }`, whose elements
 * are references, contain none, or are structs with references as the listed members. tn_new_array sets the member
 * `length`. */
#define TN_ARRAY_OF_REFERENCES(type, items)                                                                            \
    TN__ARRAY(type, items, .kind = TN_KIND_REFERENCES + 0 * TN__CHECK(type, items[0]))
#define TN_ARRAY_OF_LEAVES(type, items) TN__ARRAY(type, items, .kind = TN_KIND_LEAF)
#define TN_ARRAY_OF_STRUCTS(type, items, ...)                                                                          \
    TN__ARRAY(type, items, .kind = TN_KIND_STRUCTS, .references = TN__EACH(TN__ITEM_BIT, (type, items), __VA_ARGS__) 0)

/* ---- objects ---- */

/* A new, zeroed object. Never NULL in managed code: if memory is out, the heap's out_of_memory takes over. */
#define tn_new(type) ((type tn_ref *)TN__ALLOCATE(type, sizeof(type)))

/* The same with `count` elements in its array `items`. */
#define tn_new_array(type, items, count)                                                                               \
    ({                                                                                                                 \
        size_t tn__count = (count);                                                                                    \
        type tn_ref *tn__array = (type tn_ref *)TN__ALLOCATE(                                                          \
            type, tn__array_size(offsetof(type, items), sizeof(TN__MEMBER(type, items[0])), tn__count));               \
        tn__array->length = tn__count;                                                                                 \
        tn__array;                                                                                                     \
    })

/* ---- weak references ---- */

/* A weak reference: `target` becomes NULL when nothing else refers to its object. */
struct tn_weak {
    void tn_ref *target;
    void *collector;
};

/* struct tn_weak tn_ref *tn_new_weak(reference) */
#define tn_new_weak(object)                                                                                            \
    ({                                                                                                                 \
        void tn_ref *tn__target = (object);                                                                            \
        struct tn_weak tn_ref *tn__weak = (struct tn_weak tn_ref *)TN__ALLOCATE_AS(tn_weak_type, 8, sizeof *tn__weak); \
        tn__weak->target = tn__target;                                                                                 \
        tn__weak;                                                                                                      \
    })

/* An ephemeron: both become NULL when nothing but `value`, and what only that leads to, refers to the key. */
struct tn_ephemeron {
    void tn_ref *key, *value;
    void *collector;
};

/* struct tn_ephemeron tn_ref *tn_new_ephemeron(key, value) */
#define tn_new_ephemeron(key_, value_)                                                                                 \
    ({                                                                                                                 \
        void tn_ref *tn__key = (key_);                                                                                 \
        void tn_ref *tn__value = (value_);                                                                             \
        struct tn_ephemeron tn_ref *tn__pair =                                                                         \
            (struct tn_ephemeron tn_ref *)TN__ALLOCATE_AS(tn_ephemeron_type, 8, sizeof *tn__pair);                     \
        tn__pair->key = tn__key;                                                                                       \
        tn__pair->value = tn__value;                                                                                   \
        tn__pair;                                                                                                      \
    })

/* ---- pins ---- */

/* void *tn_pin(reference): pins the object until tn_unpin(address) has been called as often, and returns its raw
 * address; NULL if memory is out. TN_PIN declares `name` as such an address, which is unpinned at the end of the
 * block. */
#define TN_PIN(name, object) void *const name __attribute__((cleanup(tn__end_pin))) = tn_pin(object)

/* ---- the machinery ---- */

/* Turns `struct node` into `node`: pasting adds a prefix to the first word, and the prefixed word is an empty macro. */
#define tn__without_struct
#define tn__without_union
#define TN__TAG(type)            tn__without_##type
#define TN__PASTE(a, b)          a##b
#define TN__PASTE_EXPANDED(a, b) TN__PASTE(a, b)
#define TN__NAME(type)           TN__PASTE_EXPANDED(tn_type_of_, TN__TAG(type))
#define TN__DESCRIPTOR(type)                                                                                           \
    __attribute__((weak)) extern const struct tn_type TN__NAME(type);                                                  \
    const struct tn_type TN__NAME(type)
#define TN__ALIGNMENT(type)      (_Alignof(type) <= 8 ? 8 : 16 / (_Alignof(type) == 16))
#define TN__MEMBER(type, member) (((type *)0)->member)
#define TN__SIZE(type, items)    offsetof(type, items)

#define TN__ARRAY(type, items, ...)                                                                                    \
    TN__DESCRIPTOR(type) = {.name = #type,                                                                             \
                            .alignment = TN__ALIGNMENT(type),                                                          \
                            .size = TN__SIZE(type, items),                                                             \
                            .element = sizeof(TN__MEMBER(type, items[0])),                                             \
                            .length = offsetof(type, length),                                                          \
                            __VA_ARGS__}

/* Accepts only references as argument, for type checking; never called. */
char tn__is_reference(const volatile void tn_ref *reference);
#define TN__CHECK(type, member)     sizeof(tn__is_reference(TN__MEMBER(type, member)))
#define TN__WORD(offset)            (1ull << ((offset) / 8) << 0 / ((offset) % 8 == 0 && (offset) < 512))
#define TN__BIT(type, member)       TN__WORD(offsetof(type, member)) * TN__CHECK(type, member) |
#define TN__ITEM_BIT(array, member) TN__ITEM_BIT_OF(TN__FIRST array, TN__SECOND array, member)
#define TN__FIRST(type, items)      type
#define TN__SECOND(type, items)     items
#define TN__ITEM_BIT_OF(type, items, member)                                                                           \
    TN__WORD(offsetof(type, items[0].member) - offsetof(type, items)) * TN__CHECK(type, items[0].member) |

#define TN__EACH(f, a, ...)                                                                                            \
    TN__PICK(__VA_ARGS__, TN__16, TN__15, TN__14, TN__13, TN__12, TN__11, TN__10, TN__9, TN__8, TN__7, TN__6, TN__5,   \
             TN__4, TN__3, TN__2, TN__1, )                                                                             \
    (f, a, __VA_ARGS__)
#define TN__PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, which, ...) which
#define TN__1(f, a, x)                                                       f(a, x)
#define TN__2(f, a, x, ...)                                                  f(a, x) TN__1(f, a, __VA_ARGS__)
#define TN__3(f, a, x, ...)                                                  f(a, x) TN__2(f, a, __VA_ARGS__)
#define TN__4(f, a, x, ...)                                                  f(a, x) TN__3(f, a, __VA_ARGS__)
#define TN__5(f, a, x, ...)                                                  f(a, x) TN__4(f, a, __VA_ARGS__)
#define TN__6(f, a, x, ...)                                                  f(a, x) TN__5(f, a, __VA_ARGS__)
#define TN__7(f, a, x, ...)                                                  f(a, x) TN__6(f, a, __VA_ARGS__)
#define TN__8(f, a, x, ...)                                                  f(a, x) TN__7(f, a, __VA_ARGS__)
#define TN__9(f, a, x, ...)                                                  f(a, x) TN__8(f, a, __VA_ARGS__)
#define TN__10(f, a, x, ...)                                                 f(a, x) TN__9(f, a, __VA_ARGS__)
#define TN__11(f, a, x, ...)                                                 f(a, x) TN__10(f, a, __VA_ARGS__)
#define TN__12(f, a, x, ...)                                                 f(a, x) TN__11(f, a, __VA_ARGS__)
#define TN__13(f, a, x, ...)                                                 f(a, x) TN__12(f, a, __VA_ARGS__)
#define TN__14(f, a, x, ...)                                                 f(a, x) TN__13(f, a, __VA_ARGS__)
#define TN__15(f, a, x, ...)                                                 f(a, x) TN__14(f, a, __VA_ARGS__)
#define TN__16(f, a, x, ...)                                                 f(a, x) TN__15(f, a, __VA_ARGS__)

#define TN__ALLOCATE(type, size) TN__ALLOCATE_AS(TN__NAME(type), _Alignof(type), size)

/* The size of an array object; if it overflows, a size that no heap has room for. */
static inline size_t tn__array_size(size_t start, size_t element, size_t count)
{
    size_t size;
    return __builtin_mul_overflow(element, count, &size) || __builtin_add_overflow(start, size, &size) ? PTRDIFF_MAX
                                                                                                       : size;
}

#ifdef TN_UNMANAGED

#define TN__ALLOCATE_AS(descriptor, align, size) calloc(1, size)
#define tn_pin(object)                           ((void *)(object))
#define tn_unpin(address)                        ((void)(address))
#define tn_call_blocking                         tn__call_plainly

static inline intptr_t tn__call_plainly(void *function, intptr_t a, intptr_t b, intptr_t c, intptr_t d)
{
    return ((intptr_t(*)(intptr_t, intptr_t, intptr_t, intptr_t))function)(a, b, c, d);
}

#else

/* The intrinsic of the IR contract (doc/IR.md); inline code if the size is small. */
void tn_ref *tn__gc_alloc_obj(void *task, size_t size, const void tn_ref *type) __asm__("tenon.gc_alloc_obj");
void tn_ref *tn__gc_alloc_aligned(void *task, size_t size, const void tn_ref *type) __asm__("tenon.gc_alloc_obj")
    __attribute__((assume_aligned(16)));
void *tn__pin_reference(const volatile void tn_ref *object) __asm__("tn_pin_object");

#define TN__ALLOCATE_AS(descriptor, align, size)                                                                       \
    ((align) == 16 ? tn__gc_alloc_aligned(NULL, size, (const void tn_ref *)&(descriptor))                              \
                   : tn__gc_alloc_obj(NULL, size, (const void tn_ref *)&(descriptor)))
#define tn_pin(object)    tn__pin_reference(object)
#define tn_unpin(address) tn_unpin_object(address)

#endif

static inline void tn__end_pin(void *const *address)
{
    if (*address)
        tn_unpin(*address);
}

#endif
