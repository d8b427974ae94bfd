/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What code is generated for:
 *     targets.c      from triple, CPU and features to a target machine; LLVM sees no unknown name: it would print
 *     all.c, only_*.c   which targets there are (rows.h)
 *     target_pool.c  reusing target machines
 *     native.c       the meaning of "native" for LLVM
 *     attributes.c   the CPUs and features of single functions
 *     assembly.cpp   keeps assembly in modules from reading files
 *     emitter.cpp    from a module to its object, by passes that are reused, and that
 *                    run over functions without asking again what they need */

#ifndef TENON_CODEGEN_TARGET_H
#define TENON_CODEGEN_TARGET_H

#include <llvm-c/Core.h>

#include "base/base.h"
#include "codegen/llvm/llvm.h"
#include "tenon_codegen.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* ---- targets.c ---- */

/* LLVM's target for a triple, or NULL. */
LLVMTargetRef tn__find_llvm_target(const char *triple);

/* What one compilation generates code for. */
struct tn__target {
    char *triple, *layout;       /* normalised; the data layout; LLVM's allocations */
    const char *cpu;             /* for functions that name none */
    const char *cpu_features;    /* that the CPU has beyond its name ("native"), or "" */
    char *native_features;       /* the same if it is owned, or NULL */
    const char *features;        /* the client's, or "" */
    bool cpu_given;              /* the client's CPU replaces that of the functions */
    struct tn__subtarget *names; /* the CPUs and features that this target knows */
    LLVMTargetRef closed;        /* the machine's target if its assembly reads no files, or NULL */
    LLVMTargetMachineRef machine;
    struct tn__emitter *emitter; /* that an earlier compilation has set up for the machine, or NULL */
    bool spent;                  /* the machine has kept state that would change the objects of other modules */
};

/* Fills a zeroed *target; `module_triple`, which may be empty, counts if the options name none. The options' strings
 * are borrowed. TN_EINVAL, TN_ENOMEM; tn__target_close has to be called in any case. */
int tn__target_open(struct tn__target *target, const struct tn_compile_options *options, const char *module_triple,
                    struct tn_error *err);
void tn__target_close(struct tn__target *target);

/* The same, but reuses a target of an earlier compilation if there is one (target_pool.c). A target in which LLVM gave
 * up must not be given back. NULL is ignored. */
int tn__target_take(struct tn__target **out, const struct tn_compile_options *options, const char *module_triple,
                    struct tn_error *err);
void tn__target_give(struct tn__target *target);

/* ---- native.c ---- */

/* This machine; NULL: out of memory. */
const struct tn_cpu *tn__native_host(void);

/* Sets the name and features of the target's CPU so that LLVM takes it for `cpu`. *target has its triple and names;
 * `llvm` is the triple's target. False: out of memory. */
bool tn__native_describe(const struct tn_cpu *cpu, struct tn__target *target, LLVMTargetRef llvm);

/* ---- attributes.c ---- */

/* Brings the CPU and feature attributes of each defined function in line with the options. TN_ECOMPILE if one names
 * something that the target does not know, TN_ENOMEM. */
int tn__target_apply(const struct tn__target *target, LLVMModuleRef module, const char *name, struct tn_error *err);

/* ---- assembly.cpp ---- */

/* A copy of a target for machines that assemble no .include and no .incbin; to be freed after these. */
LLVMTargetRef tn__llvm_closed_target(LLVMTargetRef target);
void tn__llvm_closed_target_free(LLVMTargetRef target); /* NULL is ignored */

/* ---- emitter.cpp ---- */

#define TN__GC_STRATEGY "tenon" /* what `gc` says behind a managed function */

/* The passes that emit objects for one machine, set up once for many modules. */
struct tn__emitter;

/* Writes a module's object into an empty buffer; the module cannot be used any more. *kept is NULL, or the emitter that
 * an earlier call for the same machine has left there. The observer's after_emit_pass may be NULL. False: the target
 * has no objects, or out of memory. After an error that was reported to the context's handler, *kept has to be
 * freed. */
bool tn__llvm_emit(struct tn__emitter **kept, LLVMTargetMachineRef machine, LLVMModuleRef module,
                   const struct tn_compile_observer *observer, struct tn_buffer *out);
void tn__llvm_emitter_free(struct tn__emitter **kept); /* *kept may be NULL, which it is afterwards */

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
