/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the contract (doc/IR.md) forbids:
 *     verify.c       the two passes
 *     unpinned.c     raw addresses of objects that may move
 *     types.c        accesses to objects, compared with type descriptors
 * and memory that is no object, word by word: variables in stack memory, arguments passed in memory, globals:
 *     flow.c         which memory a pointer leads to
 *     words.c        what the words of that memory hold: references, or something else
 *     lower/retype.c the pass: types that say so, from which place.c and maps.cpp take the roots */

#ifndef TENON_CODEGEN_VERIFY_H
#define TENON_CODEGEN_VERIFY_H

#include "codegen/managed/ir/gc.h"

#pragma GCC visibility push(hidden)

void tn__gc_verify_weak(struct tn__gc *gc);
void tn__gc_verify_strong(struct tn__gc *gc);

/* True if there is a way from the value over a safepoint to a use of it (unpinned.c). */
bool tn__outlives_safepoint(struct tn__gc *gc, LLVMValueRef value);
/* True if this is a call of pointer_from_objref whose result is used after a safepoint at which the object may move. */
bool tn__is_unpinned(struct tn__gc *gc, LLVMValueRef instruction);
/* Reports accesses to objects that contradict their type descriptors (types.c). */
void tn__check_types(struct tn__gc *gc);
/* Calls `visit` for each reference in `size` bytes behind an address, with its distance: where the address leads into
 * an object, and the type descriptor, which has to be known, lists references. */
void tn__each_listed_reference(struct tn__gc *gc, LLVMValueRef address, uint64_t size,
                               void (*visit)(void *context, uint64_t offset), void *context);

/* True if the type descriptor of the object that an address leads into is known, and lists no reference in `size` bytes
 * behind it. */
bool tn__holds_no_reference(struct tn__gc *gc, LLVMValueRef address, uint64_t size);

/* ---- memory that is no object ---- */

#define TN__HOLDS_REFERENCES "tenon.references" /* metadata of stack memory whose type cannot say so */

enum { WORD_BYTES = 8 };

/* An alloca, a parameter passed by value in memory, or a global that is not constant. */
struct tn__object {
    LLVMValueRef value;
    LLVMTypeRef type;    /* of one piece */
    uint64_t size;       /* of one piece, in bytes */
    bool repeats;        /* there may be any number of pieces, whose words are not told apart */
    uint32_t first_word; /* of size / 8, in struct tn__flow */
    uint32_t last_fact;  /* of those about it, + 1 */
    bool is_local;       /* a variable that is only loaded and stored, and so as good as a value */
    bool is_stored_once;
};

/* `offset` bytes into an object, or any number of strides from there. */
struct tn__spot {
    uint32_t object;
    int64_t offset;
    uint64_t stride; /* 0: exactly there */
};

struct tn__fact {
    LLVMValueRef
        value; /* a pointer, or a number made of one, which leads to `place`; for contents: a struct tn__object */
    struct tn__spot place;
    uint32_t next;           /* about the same value, + 1 */
    uint32_t next_of_object; /* about the same object, + 1 */
    /* The way there does not pass through memory, through other functions or numbers: what is accessed here is the
     * object. Otherwise it may be, where the program dispatches. */
    bool is_direct;
    bool is_queued;
};

/* Words between which something is copied hold the same: a set of such words has one representative. */
struct tn__word {
    uint32_t parent;
    bool declared;                        /* a reference, as the type says; of this word alone */
    bool reference;                       /* the set has a word that is declared as a reference or used as one ... */
    LLVMValueRef referenced, numbered;    /* ... where that is done, and where one is used as something else; or NULL */
    bool may_be_reference, may_be_number; /* the same through pointers that are not direct */
};

struct tn__flow {
    struct tn__gc *gc;
    LLVMTargetDataRef layout;
    struct tn__object *objects;
    uint32_t object_count;
    struct tn__fact *facts;
    uint32_t fact_count;
    struct tn__map by_value; /* first fact about a value, + 1 */
    uint32_t *queue, queue_count, queue_start;
    struct tn__word *words;
    uint32_t word_count;
};

/* ---- flow.c ---- */

/* Finds the objects of the module and where pointers to them go: through casts, getelementptr, phis and selects, and
 * then into functions of the module that receive them, and through variables in which they are stored. */
void tn__find_memory(struct tn__gc *gc, struct tn__flow *memory);

/* The type of a parameter that is passed by value in memory, or NULL. */
LLVMTypeRef tn__type_by_value(LLVMValueRef function, unsigned parameter);

/* The first fact about a value, + 1; 0: it leads to none of the objects. */
uint32_t tn__first_fact(const struct tn__flow *memory, LLVMValueRef value);

/* What a variable contains is a value for facts: its struct tn__object. */
static inline bool tn__is_contents(const struct tn__flow *memory, LLVMValueRef value)
{
    return (uintptr_t)value - (uintptr_t)memory->objects < memory->object_count * sizeof *memory->objects;
}

/* True for a load of something that holds no managed pointer and is only stored elsewhere: the two copy bytes. */
bool tn__is_copy_load(LLVMValueRef i);

/* ---- words.c ---- */

/* The part of both verifiers that is about stack memory. */
void tn__check_stack(struct tn__gc *gc);

/* Finds out what the words hold; an error for each that is used as a reference and as something else. */
void tn__judge_memory(struct tn__flow *memory);

bool tn__word_holds_reference(struct tn__flow *memory, const struct tn__object *object, uint32_t word);

/* Whether the word at `bytes` from a pointer holds a reference. */
bool tn__leads_to_reference(struct tn__flow *memory, LLVMValueRef pointer, uint64_t bytes);

#pragma GCC visibility pop
#endif
