/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Collected C. Stock clang is the front end:
 *
 *     struct node { struct node tn_ref *left, *right; long value; };
 *     TN_TYPE(struct node, left, right);
 *     ...
 *     struct node tn_ref *node = tn_new(struct node);
 *
 *     clang -O1 -Xclang -disable-llvm-passes -emit-llvm -c tree.c -o tree.bc && tenon run -O2 tree.bc
 *
 * (`tenon compile` makes objects of it for ordinary programs). References are pointers that say tn_ref; they point to the beginning of objects, in
 * variables, arguments, fields and globals, and the collector changes them when it moves what they refer to. They are not cast
 * to numbers or other pointers, and no union holds them; functions that are not managed get the address of an object by tn_pin.
 * Addresses of fields (&node->value) are for expressions and local variables: not stored, passed or returned.
 *
 * With TN_UNMANAGED defined, the same source is for any C compiler: objects come from calloc and stay. */

#ifndef TENON_MANAGED_H
#define TENON_MANAGED_H

#include "tenon_heap.h"

#ifdef TN_UNMANAGED
#include <stdlib.h>
#define tn_ref
#else
#define tn_ref __attribute__((address_space(10)))
#endif

/* ---- types ---- */

/* Describes the objects of a struct: these of its members are references, at most 16 in the first 512 bytes, and no others.
 * Once per program and struct, or the same in each file. */
#define TN_TYPE(type, ...)                                                                                             \
    TN__DESCRIPTOR(type) = {.name = #type,                                                                             \
                            .kind = TN_KIND_FIXED,                                                                     \
                            .alignment = TN__ALIGNMENT(type),                                                          \
                            .size = sizeof(type),                                                                      \
                            .references = TN__EACH(TN__BIT, type, __VA_ARGS__) 0}

/* One without references. */
#define TN_LEAF(type)                                                                                                  \
    TN__DESCRIPTOR(type) = {.name = #type, .kind = TN_KIND_LEAF, .alignment = TN__ALIGNMENT(type), .size = sizeof(type)}

/* Structs that end in an array, `struct names { size_t length; struct name tn_ref *items[]; }`, whose elements are references,
 * or hold none, or are structs of which these members do. The member `length` is tn_new_array's. */
#define TN_ARRAY_OF_REFERENCES(type, items)                                                                            \
    TN__ARRAY(type, items, .kind = TN_KIND_REFERENCES + 0 * TN__CHECK(type, items[0]))
#define TN_ARRAY_OF_LEAVES(type, items) TN__ARRAY(type, items, .kind = TN_KIND_LEAF)
#define TN_ARRAY_OF_STRUCTS(type, items, ...)                                                                          \
    TN__ARRAY(type, items, .kind = TN_KIND_STRUCTS, .references = TN__EACH(TN__ITEM_BIT, (type, items), __VA_ARGS__) 0)

/* ---- objects ---- */

/* A new object, all zero. Never NULL when managed: the heap's out_of_memory takes over. */
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

/* An object whose `target` becomes NULL when nothing else refers to the target. */
struct tn_weak {
    void tn_ref *target;
    void *collector;
};

/* struct tn_weak tn_ref *tn_new_weak(reference): refers to it. */
#define tn_new_weak(object)                                                                                            \
    ({                                                                                                                 \
        void tn_ref *tn__target = (object);                                                                            \
        struct tn_weak tn_ref *tn__weak = (struct tn_weak tn_ref *)TN__ALLOCATE_AS(tn_weak_type, 8, sizeof *tn__weak); \
        tn__weak->target = tn__target;                                                                                 \
        tn__weak;                                                                                                      \
    })

/* ---- pins ---- */

/* void *tn_pin(reference): the object's raw address, where it stays until tn_unpin(address) was called as often. NULL: no memory.
 * TN_PIN declares `name`, such an address for the rest of the block. */
#define TN_PIN(name, object) void *const name __attribute__((cleanup(tn__end_pin))) = tn_pin(object)

/* ---- the machinery ---- */

/* `struct node` becomes `node`: pasting puts a prefix before the first word, and with the prefix it is an empty macro. */
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

/* Only a reference can be this function's argument; it is never called. */
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

/* What no heap has room for is what too many elements ask for. */
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

/* The contract's intrinsic (doc/IR.md), which is inline code where the size is small. */
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
