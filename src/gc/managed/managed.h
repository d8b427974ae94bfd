/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What managed code calls, and assembly on its behalf (host_MACHINE.c). */

#ifndef TENON_GC_MANAGED_H
#define TENON_GC_MANAGED_H

#include "gc/collect/collect.h"

/* What assembly counts on. */
_Static_assert(TN_GC_BLOCK_POLL == 16 && TN_GC_BLOCK_FENCES == 20 && TN_GC_BLOCK_TOP == 24 &&
                   TN_GC_BLOCK_MEMORY == 40 && TN_GC_BLOCK_RUNTIME == 64 && TN__COLLECTED == 1 && TN__MUTATOR == 0 &&
                   offsetof(struct tn__mutator, log_at) == 0 && offsetof(struct tn__mutator, log_end) == 8,
               "offsets");
_Static_assert(TN_GC_ANCHOR_SP == 0 && TN_GC_ANCHOR_FP == 8 && TN_GC_ANCHOR_RA == 16 && TN_GC_ANCHOR_SIZE == 24,
               "offsets");
_Static_assert(TN_GC_OUTSIDE == 1 && TN_GC_STATE == 7 && TN__STRESS == 2 && TN__RESULTS == 8 && TN_GC_PERMANENT == 1,
               "values");
_Static_assert(offsetof(struct tn_gc_block, top) == TN_GC_BLOCK_TOP &&
                   offsetof(struct tn_gc_block, poll) == TN_GC_BLOCK_POLL &&
                   offsetof(struct tn_gc_block, fences) == TN_GC_BLOCK_FENCES &&
                   offsetof(struct tn_gc_block, memory) == TN_GC_BLOCK_MEMORY &&
                   offsetof(struct tn_gc_block, young) == TN_GC_BLOCK_YOUNG &&
                   offsetof(struct tn_gc_block, young_size) == TN_GC_BLOCK_YOUNG_SIZE &&
                   offsetof(struct tn_gc_block, runtime) == TN_GC_BLOCK_RUNTIME &&
                   offsetof(struct tn_gc_block, pgcstack) == TN_GC_BLOCK_PGCSTACK,
               "the block as compiled code knows it");
_Static_assert(offsetof(struct tn_gc_anchor, fp) == TN_GC_ANCHOR_FP && sizeof(struct tn_gc_anchor) == TN_GC_ANCHOR_SIZE,
               "anchors as compiled code knows them");

#pragma GCC visibility push(hidden)

/* How a throw finds the level of a transition that it passes: the number of a register in unwind tables, and what has
 * to be added to its value in the frame of tn__gc_call_outside to get the level's `sp`. */
struct tn__transition_frame {
    int unwind_register, to_sp;
};
extern const struct tn__transition_frame tn__transition_frame;

/* Called by assembly. `results`: the registers that may hold a call's result.
 * In stress mode: after a native call; at the beginning of a transition. */
void tn__gc_after_call(void *const results[TN__RESULTS]);
void tn__gc_begin_transition(void);
/* If `poll` is set: at the end of a transition. */
void tn__gc_end_transition(void);
/* At the end of a transition whose level is gone. */
__attribute__((noreturn)) void tn__gc_lost_level(uintptr_t sp);
/* After the second return of a function, if that came from a transition. */
void tn__gc_after_jump(void);
/* tn__gc_log, with the C calling convention (move.c). */
void tn__gc_log_here(void *object, void *slot, void *value);

/* Detects the processor features that assembly depends on. Before the first heap. */
int tn__gc_look_at_machine(struct tn_error *err);

/* Has lazy stubs report the calls that wait in them (base/lazy_frame.h). */
void tn__watch_lazy_calls(void);

#pragma GCC visibility pop
#endif
