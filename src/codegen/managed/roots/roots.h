/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Root placement, between its files:
 *     place.c        the pass: which functions, in which order what follows happens
 *     place.c      results that do not fit into registers
 *     liveness.cpp   what is needed behind each safepoint
 *     place.c         what must not move at a safepoint
 *     place.c    variables that LLVM aligns to more than frames are
 *     stack.c        references in stack memory; values that a register cannot carry over a safepoint
 *     outside.c      which calls are transitions
 *     statepoint.c   a call becomes gc.statepoint, gc.result and gc.relocate
 *     repair.cpp     uses see the relocated values: SSA form again; values that change in place
 *     maps.cpp       stack maps */

#ifndef TENON_CODEGEN_ROOTS_H
#define TENON_CODEGEN_ROOTS_H

#include "codegen/managed/ir/gc.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

enum { TN__GC_STACK_ALIGNMENT = 16 };

/* Identifiers of statepoints: what kind of record their stack map is. */
enum { TN__GC_ORDINARY = 0, TN__GC_ENTRY = 1 };

#define TN__PINNED "tenon.pinned" /* metadata of variables whose objects must not move */

/* ---- one function ---- */

/* A managed value that may live across safepoints. */
struct tn__variable {
    LLVMValueRef value;
    uint32_t base; /* variable of the reference it was derived from, itself if it is one; NO_VARIABLE: unknown */
    uint32_t block;
    bool is_fixed; /* derived, `distance` bytes from its base: computed anew behind a safepoint, not relocated */
    int64_t distance;
    uint32_t index;         /* in the "gc-live" of the statepoint being made ... */
    LLVMValueRef relocated; /* ... and by it */
};

enum { NO_VARIABLE = UINT32_MAX };

struct tn__safepoint {
    LLVMValueRef call;
    uint32_t block;
    uint32_t *live, live_count; /* variables needed behind the call, each with its base */
    LLVMValueRef *pinned;       /* references whose objects must not move */
    uint32_t pinned_count;
    bool passes_references;  /* an argument leads to memory that holds references, or to an object that is not pinned */
    const char *through;     /* function of the runtime that makes the call; NULL: it is made directly */
    uint64_t memory;         /* bytes of arguments that this function copies */
    LLVMValueRef result;     /* takes the call's place; NULL: it has none */
    LLVMValueRef *relocated; /* by `live` */
};

struct tn__roots {
    struct tn__gc *gc;
    LLVMValueRef function;
    struct tn__cfg *cfg;
    struct tn__bases *bases;
    struct tn__variable *variables;
    uint32_t variable_count;
    struct tn__map numbers; /* of variables, by value; + 1 */
    struct tn__safepoint *safepoints;
    uint32_t safepoint_count;
    LLVMValueRef *wholes; /* instructions that yield structs, arrays or vectors of managed pointers */
    uint32_t whole_count;
    uint64_t **live_in, **live_out; /* per block; sets of variables */
    LLVMValueRef *stack_roots;      /* allocas that hold references, for every safepoint */
    uint32_t stack_root_count;
    LLVMValueRef *pin_slots; /* allocas for what is pinned */
    uint32_t pin_slot_count;
    LLVMValueRef statepoint; /* the intrinsic, and its type; NULL: not yet */
    LLVMTypeRef statepoint_type;
    struct tn__map rejected;   /* instructions that are reported already */
    bool has_regions, has_raw; /* the module names gc_preserve_begin, and pointer_from_objref */
};

/* ---- place.c ---- */

/* The variable's number, or NO_VARIABLE. */
uint32_t tn__variable_of(const struct tn__roots *roots, LLVMValueRef value);

static inline bool tn__bit(const uint64_t *set, uint32_t i)
{
    return set[i / 64] >> i % 64 & 1;
}

static inline void tn__set_bit(uint64_t *set, uint32_t i)
{
    set[i / 64] |= 1ull << i % 64;
}

static inline void tn__clear_bit(uint64_t *set, uint32_t i)
{
    set[i / 64] &= ~(1ull << i % 64);
}

/* ---- the steps ---- */

void tn__find_variables(struct tn__roots *roots);
void tn__find_instructions(struct tn__roots *roots); /* safepoints and wholes */
bool tn__is_reference(const struct tn__roots *roots, uint32_t variable);
void tn__find_liveness(struct tn__roots *roots);

/* Moves what lives into landing pads and behind second returns to memory; true if there was any: then everything has to
 * be found anew. */
bool tn__move_to_stack(struct tn__roots *roots);
void tn__find_stack_roots(struct tn__roots *roots);
void tn__clear_stack_roots(struct tn__roots *roots);

/* Behind find_pins and tn__find_stack_roots, while the calls are as they were. */
void tn__choose_calls(struct tn__roots *roots);
void tn__make_statepoints(struct tn__roots *roots);
void tn__repair(struct tn__roots *roots);

/* ---- values that change in place ---- */

/* For the baseline compiler, safepoints are calls with this operand bundle. It has pairs, each of a base and a value,
 * and then memory. There are no relocates: behind the call, a value is what the collector has made of it. */
#define TN__LIVE "tenon.live"

/* Puts a call of this kind in front of a call, as a call of `through`, with the callee as its `nest` argument, if that
 * is not NULL. The old one has no uses then. */
LLVMValueRef tn__call_in_place(LLVMValueRef call, LLVMValueRef through, unsigned convention, LLVMValueRef *live,
                               uint32_t count);

/* Makes statepoints of such calls, in a function that LLVM is going to compile. */
void tn__relocate(LLVMValueRef function);

/* The pass. */
void tn__place_roots(struct tn__gc *gc);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
