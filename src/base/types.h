/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Layouts of types: comparing descriptors (types_alike.c), bytes that tell the types of code (types_bytes.c), and which
 * types the code and the open images of this process have (types_known.c). Code that takes an object for another one
 * than it is damages the heap, so a type that code is compiled with has to be laid out as the type of its name is in
 * each open image. */

#ifndef TENON_TYPES_H
#define TENON_TYPES_H

#include "base.h"
#include "tenon_heap.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* ---- comparing (types_alike.c) ---- */

enum { TN__DIFFERENCE = 100 };

/* True if objects of the two types are laid out differently; `text` then says what differs, first of `a`, then of
 * `b`. */
bool tn__types_differ(const struct tn_type *a, const struct tn_type *b, char text[TN__DIFFERENCE]);

/* ---- bytes (types_bytes.c; doc/GC.md, "Layouts") ----
 *
 * A row for each type, of a multiple of 8 bytes, with numbers of 32 bits: bytes of the row, kind, alignment, 0 or 1 +
 * number of `offsets`; of 64 bits: size, element, length, references; then the offsets, 32 bits each; then the type's
 * name and a NUL, padded with zeros. Members are those of struct tn_type. */

/* Into an empty buffer, which stays empty if there are no types. False: out of memory, or a type that the format cannot
 * hold. */
bool tn__types_write(const struct tn_type *types, size_t count, struct tn_buffer *out);
/* Whether they can be read. */
bool tn__types_are_sound(const void *bytes, size_t size);

/* The types of a module, an object or the program. */
struct tn__code_types {
    struct tn__list known;
    const char *name; /* of the code */
    size_t count;
    struct tn_type types[]; /* what they refer to is behind them */
};

/* A copy, which the caller frees. TN_EFORMAT, TN_ENOMEM. */
int tn__types_read(const char *name, const void *bytes, size_t size, struct tn__code_types **types,
                   struct tn_error *err);

/* ---- what is known (types_known.c) ---- */

/* The types of an open image. */
struct tn__saved_types {
    struct tn__list known;
    const char *name; /* of the image */
    /* The type of this name; NULL: there is none. */
    const struct tn_type *(*find)(const struct tn__saved_types *types, const char *name);
};

/* The image is open. TN_ENOTSUP: code that was entered, or this program's, has a type that is laid out in another way.
 * TN_EFORMAT, TN_ENOMEM: of this program's. */
int tn__saved_types_enter(struct tn__saved_types *types, struct tn_error *err);
void tn__saved_types_leave(struct tn__saved_types *types);

/* Code with these types, as bytes, can be called from now on. *types is for tn__code_types_leave when it is gone.
 * TN_ENOTSUP: an open image has a type that is laid out in another way. TN_EFORMAT, TN_ENOMEM. These two are absent
 * from programs that do not open saved objects. */
__attribute__((weak)) int tn__code_types_enter(const char *name, const void *bytes, size_t size,
                                               struct tn__code_types **types, struct tn_error *err);
__attribute__((weak)) void tn__code_types_leave(struct tn__code_types *types); /* NULL is ignored */

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
