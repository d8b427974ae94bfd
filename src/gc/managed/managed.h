/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What managed code calls, and assembly on its behalf (host_x86_64.c). */

#ifndef TENON_GC_MANAGED_H
#define TENON_GC_MANAGED_H

#include "gc/collect/collect.h"

#pragma GCC visibility push(hidden)

/* Called by assembly. `results`: the registers that may hold a call's result.
 * In stress mode: after a native call; at the beginning of a transition. */
void tn__gc_after_call(void *const results[TN__RESULTS]);
void tn__gc_begin_transition(void);
/* If `poll` is set: at the end of a transition. */
void tn__gc_end_transition(void);
/* After the second return of a function, if that came from a transition. */
void tn__gc_after_jump(void);
/* tn__gc_log, with the C calling convention (move.c). */
void tn__gc_log_here(void *object, void *slot, void *value);

/* Detects the processor features that assembly depends on. Before the first heap. TN_ENOTSUP: there is no such assembly
 * (host_none.c). */
int tn__gc_look_at_machine(struct tn_error *err);

/* Has lazy stubs report the calls that wait in them (base/lazy_frame.h). */
void tn__watch_lazy_calls(void);

#pragma GCC visibility pop
#endif
