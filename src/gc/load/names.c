/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "gc/load/names.h"
#include "tenon_gc.h"
#include "tenon_heap.h"

#define NAME(name) #name, (const void *)(uintptr_t)&name, 0

const struct tn_definition tn__managed_names[TN__MANAGED_NAMES] = {
    {NAME(tn__gc_allocate)},
    {NAME(tn__gc_poll)},
    {NAME(tn__gc_log)},
    {NAME(tn__gc_move)},
    {NAME(tn__gc_enter)},
    {NAME(tn__gc_call_native)},
    {NAME(tn__gc_call_twice)},
    {NAME(tn__gc_return_twice)},
    {NAME(tn__gc_call_outside)},
    {NAME(tn__gc_call_outside_memory)},
    {NAME(tn_weak_type)},
    {NAME(tn_ephemeron_type)},
    {NAME(tn_call_blocking)},
    {NAME(tn_pin_object)},
    {NAME(tn_unpin_object)},
    {NAME(tn_managed_begin)},
    {NAME(tn_managed_end)},
    {NAME(tn_heap_current)},
    {NAME(tn_heap_collect)},
    {NAME(tn_heap_stats)},
    {NAME(tn_heap_trim)},
    {NAME(tn_handle_of)},
    {NAME(tn_handle_free)},
    {NAME(tn_handle_finalize)},
    {NAME(tn_run_pending_finalizers)},
};
