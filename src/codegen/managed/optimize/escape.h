/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Escape analysis: what a function does with an object that it allocates, and whether anything else may see it. */

#ifndef TENON_CODEGEN_ESCAPE_H
#define TENON_CODEGEN_ESCAPE_H

#include "codegen/managed/ir/gc.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

enum {
    TN__LARGEST_FOLLOWED = 1 << 20, /* bytes; of larger objects, accesses beyond are escapes */
    TN__NOT_KNOWN = -1,             /* a distance */
};

/* A load, store, atomic access or memset of the object's memory. */
struct tn__object_access {
    LLVMValueRef instruction;
    int64_t offset; /* in the object */
    uint64_t size;
    bool is_reference, is_memset;
};

/* Pointers to and into the object, each behind the one that it is computed from. */
struct tn__object_pointer {
    LLVMValueRef value;
    int64_t offset;        /* or TN__NOT_KNOWN */
    LLVMValueRef variable; /* for alloc-opt: what takes its place */
};

/* A new object; the caller sets the first three members. */
struct tn__new_object {
    struct tn__gc *gc;
    LLVMValueRef call; /* its allocation */
    uint64_t size;
    struct tn__object_pointer *pointers;
    struct tn__object_access *accesses;
    LLVMValueRef *users; /* calls that name the object but do not access it */
    size_t pointer_count, access_count, user_count;
    LLVMValueRef escape; /* the first user that makes it escape */
    bool escapes, has_unknown_place, is_read, is_irregular;
    bool has_references, has_other_fields, is_preserved, has_reference_stores;
};

/* What can be seen of a type's objects. */
enum tn__shape {
    TN__NOT_VISIBLE = 0, /* may be any but weak ones (doc/IR.md) */
    TN__WEAK,            /* what they refer to may be freed while they live */
    TN__OF_ONE_SIZE,     /* of a constant type: no arrays, no functions of clients that visit them */
};
enum tn__shape tn__shape_of(struct tn__gc *gc, LLVMValueRef type);

/* Fills in the other members. If the object escapes, they are not complete. What is not understood is an escape. */
void tn__follow_uses(struct tn__new_object *o);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
