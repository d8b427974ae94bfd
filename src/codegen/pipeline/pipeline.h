/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What happens to a module between reading and emitting it. A pipeline is a text (doc/PASSES.md): names of passes and
 * stages in any order, and "tenon<level=2;no_cleanup>" for all stages.
 *     pipeline.c     reads the text; runs passes of ours, of LLVM, and all stages
 *     options.c      the options of tenon<...>
 *     stages.cpp     LLVM's passes: the stages as tables, and the passes by name (optimizer.h)
 *     inliner.cpp, sanitizers.cpp, vectorizer.cpp    their rows, and what they need
 *     stages.cpp   the analyses that LLVM's passes ask for */

#ifndef TENON_CODEGEN_PIPELINE_H
#define TENON_CODEGEN_PIPELINE_H

#include "tenon_codegen.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* The options of tenon<...>; those from 1 << 16 to 1 << 22 are of managed code (managed/ir/gc.h). */
enum {
    TN__LOWER_INTRINSICS = 1 << 0,
    TN__ALWAYS_INLINE = 1 << 1,
    TN__EARLY_SIMPLIFICATIONS = 1 << 2,
    TN__EARLY_OPTIMIZATIONS = 1 << 3,
    TN__LOOP_OPTIMIZATIONS = 1 << 4,
    TN__SCALAR_OPTIMIZATIONS = 1 << 5,
    TN__VECTOR_PIPELINE = 1 << 6,
    TN__CLEANUP = 1 << 7,
    TN__OUR_PASSES = 1 << 8, /* not llvm_only */
    TN__STRIP_PROTOTYPES = 1 << 9,
    TN__REMOVE_NI = 1 << 10,
    TN__WARN_MISSED = 1 << 11,
    TN__SIMDLOOP = 1 << 13,
    TN__MULADD = 1 << 14,
    TN__DEMOTE_FLOAT16 = 1 << 15,
    TN__FLOATS = 7 << 13,
    TN__MANAGED = 1 << 12, /* not of the text: the module has managed code, and our passes are wanted */
    /* Attributes that all functions get. */
    TN__OPT_SIZE = 1 << 23,
    TN__MIN_SIZE = 1 << 30,
    /* What functions are instrumented for that have LLVM's attribute ... */
    TN__SANITIZE_ADDRESS = 1 << 24,
    TN__SANITIZE_MEMORY = 1 << 25,
    TN__SANITIZE_THREAD = 1 << 26,
    TN__SANITIZE = 7 << 24,
    /* ... and all functions. */
    TN__ADDRESS_EVERYWHERE = 1 << 27,
    TN__MEMORY_EVERYWHERE = 1 << 28,
    TN__THREAD_EVERYWHERE = 1 << 29,
    TN__EVERYWHERE = 7 << 27,
};

struct tn__gc;
struct tn__stages {
    int level; /* 0..3 */
    unsigned options;
    struct tn__gc *gc; /* for our passes among LLVM's; begun (tn__gc_begin) */
};

/* The defaults of a level. */
struct tn__stages tn__stages_default(int level);
/* Reads what is between < and > into *stages, which has the defaults. TN_EINVAL. */
int tn__stages_parse(const char *text, size_t length, struct tn__stages *stages, struct tn_error *err);

/* TN_EINVAL: naming what is wrong with a pipeline. */
int tn__pipeline_check(const char *text, struct tn_error *err);
/* True if the pipeline begins with all stages, those for managed code included. NULL: the default. */
bool tn__pipeline_is_staged(const char *text);

/* Runs gc->options->passes, or else all stages of the level, on a module that was verified and has the machine's triple
 * and data layout. `is_prepared`: tn__gc_prepare was run. TN_ECOMPILE, with diagnostics. */
int tn__pipeline_run(struct tn__gc *gc, bool is_managed, bool is_prepared, const struct tn_compile_observer *observer);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
