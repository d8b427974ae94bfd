/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* From IR in memory to a verified module that fits its target, and from there to an object. */

#ifndef TENON_CODEGEN_UNIT_H
#define TENON_CODEGEN_UNIT_H

#include "codegen/compile/compile.h"
#include "codegen/llvm/diagnostics.h"
#include "codegen/target/target.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* A module and its context, which only guests use at the same time. Reading and disposing of it happen in tn__contain,
 * for both are LLVM's work. */
struct tn__unit {
    const char *name; /* set by the caller, like the options; both outlive the unit */
    const char *file; /* source file of a module that names none; NULL: the unit's name */
    const struct tn_compile_options *options;
    const struct tn_compile_observer *observer; /* of what reading warns of; NULL: none */
    struct tn__diagnostics diagnostics;
    LLVMContextRef context;
    LLVMModuleRef module;
    struct tn__target *target;
    bool is_written;          /* set by the caller: IR is written that has to be the same each time, see unit.c */
    bool is_guest;            /* the context is another unit's and stays */
    bool is_modest;           /* the context may be used again: little of the module stays in it */
    struct tn__context *kept; /* what the context is used again by, or NULL */
    int target_code;          /* the result of opening the target, which happens while the module is being read */
    bool managed;             /* there is managed code in the module ... */
    bool is_prepared;         /* ... for which tn__gc_prepare was run */
};

/* Reads IR text or bitcode. TN__READ_VERIFIED: the module was fitted to its target before; TN__READ_LAZILY: bodies are
 * left unread if the bitcode allows that. The unit has to be disposed of in any case. TN_EINVAL, TN_ECOMPILE,
 * TN_ENOMEM. */
int tn__unit_read(struct tn__unit *unit, const void *ir, size_t length, enum tn__reading how, struct tn_error *err);
void tn__unit_dispose(struct tn__unit *unit);

/* tn_compile for a unit that was read, with options that were taken. The unit is disposed of. `counters` NULL: calls
 * are not counted. */
int tn__compile_unit(struct tn__unit *unit, const struct tn__counters *counters,
                     const struct tn_compile_observer *observer, struct tn_buffer *out, struct tn_compile_stats *stats,
                     struct tn_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
