/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The parts of the code generator and what they expect of each other:
 *     compile.c      tn_compile: the phases of one compilation
 *     unit.c         its first phase: from IR in memory to a verified module that fits its target
 *     target_pool.c  reusing target machines
 *     targets.c      from triple, CPU and features to a target machine; LLVM sees no unknown name: it would print
 *     attributes.c   the same for the attributes of single functions
 *     native.c       the meaning of "native" for LLVM
 *     diagnostics.c  LLVM's diagnostics as struct tn_error
 *     fatal.c        what would end the process, as an error code
 *     host_x86_64.c  the stack that LLVM runs on
 *     nesting.cpp    limits of nesting, which LLVM recurses with
 *     source.c       tn_symbolize_source: keeps debug information of linked objects
 *     llvm.cpp       what LLVM's C API lacks, behind llvm.h
 *     read.cpp       reading and verifying IR
 *     dwarf.cpp      the same for debug information
 *     disasm.c       LLVM's disassembler, for the command
 *     cpu_features.cpp  intrinsics that ask about the CPU that code is compiled for
 *     pipeline.cpp   the passes of each level
 *     assembly.cpp   keeps assembly in modules from reading files
 *     emitter.cpp    from a module to its object, by passes that are reused
 *     split.cpp      dividing a module into parts, so that its functions can be compiled when they are called
 *     extract.cpp    copying one part of it
 *     managed/       managed code: the contract of doc/IR.md, roots, stack maps
 *     module.c       a module that stays in memory and is compiled as a whole or part by part
 *     jit*.c         the JIT: materializers of modules, code instances, images of the modules that were added
 *     watch.cpp      reports passes to an observer
 *     arguments.cpp  LLVM's own options */

#ifndef TENON_CODEGEN_INTERNAL_H
#define TENON_CODEGEN_INTERNAL_H

#include <pthread.h>

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "base/base.h"
#include "tenon_codegen.h"

#pragma GCC visibility push(hidden)

/* ---- compile.c ---- */

/* Copies and checks options. TN_EINVAL. */
int tn__take_compile_options(const struct tn_compile_options *given, struct tn_compile_options *options,
                             struct tn_compile_observer *observer, struct tn_error *err);

/* tn_compile for the bitcode of a part of a module that was read, verified and fitted to its target before, with
 * options that were taken. `is_prepared`: tn__gc_prepare was run as well. */
int tn__compile_part(const char *name, const struct tn_buffer *bitcode, bool is_prepared,
                     const struct tn_compile_options *options, const struct tn_compile_observer *observer,
                     struct tn_buffer *out, struct tn_compile_stats *stats, struct tn_error *err);

/* tn_compile for a unit that was read, with options that were taken. The unit is disposed of. */
struct tn__unit;
int tn__compile_unit(struct tn__unit *unit, const struct tn_compile_observer *observer, struct tn_buffer *out,
                     struct tn_compile_stats *stats, struct tn_error *err);

/* ---- targets.c ---- */

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

/* ---- diagnostics.c ---- */

struct tn__diagnostics {
    const char *name;     /* of the input */
    LLVMModuleRef module; /* once it is read; NULL before */
    struct tn_error *err;
    size_t errors; /* so far; *err has as many of them as fit */
    size_t last;   /* where the last of them begins */
};

/* Routes the context's diagnostics into *diagnostics, which must live as long as the context. */
void tn__diagnostics_attach(struct tn__diagnostics *diagnostics, LLVMContextRef context);

/* Adds one error; `user` is a struct tn__diagnostics. `file` NULL or empty: the input's name; line 0: no position. */
void tn__diagnostics_report(void *user, const char *file, unsigned line, unsigned column, const char *message);

/* ---- managed/ ---- */

/* One compilation as the passes over managed code see it. */
struct tn__gc {
    LLVMModuleRef module;
    LLVMContextRef context;
    const struct tn_compile_options *options;
    struct tn__diagnostics *diagnostics; /* receives errors */
    struct tn_compile_stats *stats;
    struct tn__arena arena;       /* of the running pass; freed by the owner of the struct */
    bool is_optimized;            /* gc-verify ran last: LLVM may have exchanged the types that getelementptr names */
    LLVMTargetMachineRef machine; /* for passes that run after LLVM's */
};

/* True if the module contains managed code (doc/IR.md); for others no pass of managed/ runs. */
bool tn__gc_is_managed(LLVMModuleRef module);

/* True, after an error, if the module was optimised by passes for which managed pointers were integral. To be asked
 * before the data layout says that they are not. */
bool tn__gc_refuses_optimized(struct tn__gc *gc);

/* Make managed pointers non-integral for LLVM, while passes run, and undo that, to compare layouts. */
void tn__gc_add_ni(struct tn__gc *gc);
void tn__gc_remove_ni(struct tn__gc *gc);

/* Check a list of passes, "gc-verify,place-roots" (TN_EINVAL for an unknown name), and run them in this order until one
 * reports an error (TN_ECOMPILE). */
int tn__gc_check_names(const char *names, struct tn_error *err);
int tn__gc_run(struct tn__gc *gc, const char *names);

/* The passes before and after LLVM's optimisation. TN_ECOMPILE. */
int tn__gc_prepare(struct tn__gc *gc);
int tn__gc_lower(struct tn__gc *gc);
/* Before and after LLVM's pipeline: keeps it from removing parts of results that pointers into objects need. */
void tn__keep_results(struct tn__gc *gc);
void tn__release_results(struct tn__gc *gc);

/* ---- unit.c ---- */

/* A module in a context of its own. Reading and disposing of it happen in tn__contain, for both are LLVM's work. */
struct tn__unit {
    const char *name; /* set by the caller, like the options; both outlive the unit */
    const char *file; /* source file of a module that names none; NULL: the unit's name */
    const struct tn_compile_options *options;
    struct tn__diagnostics diagnostics;
    LLVMContextRef context;
    LLVMModuleRef module;
    struct tn__target *target;
    bool is_guest;    /* the context is another unit's and stays */
    int target_code;  /* the result of opening the target, which happens while the module is being read */
    bool managed;     /* there is managed code in the module ... */
    bool is_prepared; /* ... for which tn__gc_prepare was run */
};

/* Reads IR text or bitcode; `is_ours`: bitcode of a module that was verified and fitted to its target before. The unit
 * has to be disposed of in any case. TN_EINVAL, TN_ECOMPILE, TN_ENOMEM. */
int tn__unit_read(struct tn__unit *unit, const void *ir, size_t length, bool is_ours, struct tn_error *err);
void tn__unit_dispose(struct tn__unit *unit);

/* ---- fatal.c ---- */

/* Calls `body`, on a stack of its own (stack.h), and returns its result. If LLVM gives up meanwhile: TN_EFATAL with
 * LLVM's text, or TN_ENOMEM; whatever `body` had created is then abandoned, because LLVM's state is unknown. May be
 * nested, as observers may compile. */
int tn__contain(int (*body)(void *context), void *context, struct tn_error *err);
/* The same on the calling thread's stack, for short calls that do not recurse. */
int tn__contain_here(int (*body)(void *context), void *context, struct tn_error *err);
/* For a body that gives memory back: if there is no room for a stack, it runs on the calling thread's. */
void tn__contain_disposal(int (*body)(void *context), void *context);

/* A step that sets up LLVM for the whole process. */
struct tn__once {
    bool (*step)(void); /* false or bad_alloc: out of memory; it may be run again after that */
    pthread_mutex_t lock;
    bool good;
};
#define TN__ONCE(step)                                                                                                 \
    {                                                                                                                  \
        step, PTHREAD_MUTEX_INITIALIZER, false                                                                         \
    }

/* Runs the step unless it has succeeded before. False: out of memory; nothing is abandoned then. */
bool tn__once(struct tn__once *once);

#pragma GCC visibility pop
#endif
