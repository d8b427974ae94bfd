/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What compiled code refers to by name, besides tn__gc_block. */

#ifndef TENON_GC_NAMES_H
#define TENON_GC_NAMES_H

#define TN__MANAGED_NAMES(X)                                                                                           \
    X(tn__gc_allocate)                                                                                                 \
    X(tn__gc_poll)                                                                                                     \
    X(tn__gc_log)                                                                                                      \
    X(tn__gc_move)                                                                                                     \
    X(tn__gc_enter)                                                                                                    \
    X(tn__gc_call_native)                                                                                              \
    X(tn__gc_call_twice)                                                                                               \
    X(tn__gc_return_twice)                                                                                             \
    X(tn__gc_call_outside)                                                                                             \
    X(tn__gc_call_outside_memory)                                                                                      \
    X(tn_weak_type)                                                                                                    \
    X(tn_ephemeron_type)                                                                                               \
    X(tn_call_blocking)                                                                                                \
    X(tn_pin_object)                                                                                                   \
    X(tn_unpin_object)                                                                                                 \
    X(tn_managed_begin)                                                                                                \
    X(tn_managed_end)                                                                                                  \
    X(tn_heap_current)                                                                                                 \
    X(tn_heap_collect)                                                                                                 \
    X(tn_heap_stats)                                                                                                   \
    X(tn_handle_of)                                                                                                    \
    X(tn_handle_free)                                                                                                  \
    X(tn_handle_finalize)                                                                                              \
    X(tn_run_pending_finalizers)

#endif
