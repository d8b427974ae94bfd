/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The parts of the code generator and what they expect of each other:
 *     compile.c      tn_compile: the phases of one compilation
 *     unit.c         its first phase: IR in memory to a module that is verified and fits its target
 *     target_pool.c  target machines that are used again
 *     targets.c      triple, CPU and features to a target machine; nothing unknown gets as far as LLVM, which would print
 *     native.c       what "native" is for LLVM
 *     attributes.c   the same for what single functions ask for
 *     diagnostics.c  LLVM's diagnostics into struct tn_error
 *     fatal.c        what would end the process into an error code
 *     source.c       tn_symbolize_source: keeps debug information of linked objects
 *     llvm.cpp       what LLVM's C API lacks, behind llvm.h
 *     read.cpp       reading and verifying IR
 *     dwarf.cpp      the same for debug information
 *     disasm.c       LLVM's disassembler, for the command
 *     cpu_features.cpp  what code asks about the CPU that it is compiled for
 *     pipeline.cpp   the passes of each level
 *     emitter.cpp    from a module to its object, by passes that are used again
 *     split.cpp      taking a module apart, so that its functions are compiled when they are called
 *     extract.cpp    copying one part of it
 *     gc/            managed code: the contract of doc/IR.md, roots, stack maps
 *     module.c       a module that is kept, and compiled whole or part by part
 *     jit*.c         the JIT: promises of modules to a session, code instances, images of what it was given
 *     watch.cpp      shows passes to an observer
 *     arguments.cpp  LLVM's own options
 *     absent/        what the tool leaves out of LLVM */

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

/* tn_compile for bitcode of a part of a module that was read, verified and fitted before; options were taken. `is_prepared`: so was
 * tn__gc_prepare run. */
int tn__compile_part(const char *name, const struct tn_buffer *bitcode, bool is_prepared,
                     const struct tn_compile_options *options, const struct tn_compile_observer *observer,
                     struct tn_buffer *out, struct tn_compile_stats *stats, struct tn_error *err);

/* tn_compile for a module that was read, which it disposes of. The unit's options were taken. */
struct tn__unit;
int tn__compile_unit(struct tn__unit *unit, const struct tn_compile_observer *observer, struct tn_buffer *out,
                     struct tn_compile_stats *stats, struct tn_error *err);

/* ---- targets.c ---- */

/* What one compilation generates code for. */
struct tn__target {
    char *triple, *layout;       /* normalised; the data layout; LLVM's allocations */
    const char *cpu;             /* for functions that name none */
    const char *cpu_features;    /* what the CPU stands for beyond its name ("native"); "" where nothing */
    char *native_features;       /* the same where it is owned, or NULL */
    const char *features;        /* the client's; "" where none */
    bool cpu_given;              /* the client's CPU replaces that of the functions */
    struct tn__subtarget *names; /* the CPUs and features this target knows */
    LLVMTargetMachineRef machine;
    struct tn__emitter *emitter; /* what an earlier compilation has set up for the machine, or NULL */
    bool spent;                  /* the machine remembers what would change the objects of other modules */
};

/* Fills a zeroed *target; `module_triple` counts when the options name none and may be empty. The options' strings are
 * borrowed. TN_EINVAL, TN_ENOMEM; tn__target_close is needed in any case. */
int tn__target_open(struct tn__target *target, const struct tn_compile_options *options, const char *module_triple,
                    struct tn_error *err);
void tn__target_close(struct tn__target *target);

/* The same for a target that another compilation has used, if there is one (target_pool.c). What LLVM gave up in is not
 * given back; NULL is ignored. */
int tn__target_take(struct tn__target **out, const struct tn_compile_options *options, const char *module_triple,
                    struct tn_error *err);
void tn__target_give(struct tn__target *target);

/* ---- native.c ---- */

/* This machine; NULL: memory is out. */
const struct tn_cpu *tn__native_host(void);

/* Sets what *target says of its CPU, so that LLVM takes it for `cpu`: name, and features. It has a triple, names, and is closed
 * later; `llvm` is the triple's target. False: memory is out. */
bool tn__native_describe(const struct tn_cpu *cpu, struct tn__target *target, LLVMTargetRef llvm);

/* ---- attributes.c ---- */

/* Brings the CPU and feature attributes of each defined function in line with the options. TN_ECOMPILE where one asks for
 * something that the target does not know, TN_ENOMEM. */
int tn__target_apply(const struct tn__target *target, LLVMModuleRef module, const char *name, struct tn_error *err);

/* ---- diagnostics.c ---- */

struct tn__diagnostics {
    const char *name;     /* of the input */
    LLVMModuleRef module; /* once it is read; NULL before */
    struct tn_error *err;
    size_t errors; /* seen so far; all of them went into *err as far as it holds them */
};

/* Routes the context's diagnostics into *diagnostics, which must live as long as the context. */
void tn__diagnostics_attach(struct tn__diagnostics *diagnostics, LLVMContextRef context);

/* Adds one error; `user` is a struct tn__diagnostics. `file` NULL or empty: the input's name; line 0: no position. */
void tn__diagnostics_report(void *user, const char *file, unsigned line, unsigned column, const char *message);

/* ---- gc/ ---- */

/* One compilation as the passes over managed code see it. */
struct tn__gc {
    LLVMModuleRef module;
    LLVMContextRef context;
    const struct tn_compile_options *options;
    struct tn__diagnostics *diagnostics; /* where errors go */
    struct tn_compile_stats *stats;
    struct tn__arena arena; /* of the pass that runs; whoever owns the struct frees it in the end */
};

/* True if the module has anything of the contract in it; for others no pass of gc/ runs. */
bool tn__gc_is_managed(LLVMModuleRef module);

/* Whether managed pointers are non-integral for LLVM: while passes run, but not where layouts are compared. */
void tn__gc_add_ni(struct tn__gc *gc);
void tn__gc_remove_ni(struct tn__gc *gc);

/* Checks a list of names, "gc-verify,place-roots"; then runs the passes one after the other, as long as none reports an
 * error. TN_EINVAL for an unknown name; TN_ECOMPILE. */
int tn__gc_check_names(const char *names, struct tn_error *err);
int tn__gc_run(struct tn__gc *gc, const char *names);

/* What runs before and behind LLVM's optimisation. TN_ECOMPILE. */
int tn__gc_prepare(struct tn__gc *gc);
int tn__gc_lower(struct tn__gc *gc);

/* ---- unit.c ---- */

/* A module in a context of its own. Reading and disposing are LLVM's work: both happen in tn__contain. */
struct tn__unit {
    const char *name; /* set by the caller, as the options; both outlive the unit */
    const char *file; /* what a module is called that does not say from which file it is; NULL: as the unit */
    const struct tn_compile_options *options;
    struct tn__diagnostics diagnostics;
    LLVMContextRef context;
    LLVMModuleRef module;
    struct tn__target *target;
    bool is_guest;   /* the context is another unit's and stays */
    int target_code; /* of opening the target, which the reader asks for in the middle of its work */
    bool managed;    /* there is managed code in the module */
};

/* Reads IR text or bitcode; `is_ours`: it is bitcode of a module that was read before, verified and fitted. Disposing is
 * needed in any case. TN_EINVAL, TN_ECOMPILE, TN_ENOMEM. */
int tn__unit_read(struct tn__unit *unit, const void *ir, size_t length, bool is_ours, struct tn_error *err);
void tn__unit_dispose(struct tn__unit *unit);

/* ---- fatal.c ---- */

/* Calls `body` and answers what it answers. If LLVM gives up meanwhile: TN_EFATAL with LLVM's text, or TN_ENOMEM; whatever
 * `body` had created is then abandoned, because LLVM's state is unknown. Does not nest. */
int tn__contain(int (*body)(void *context), void *context, struct tn_error *err);

/* A step that sets up LLVM for the whole process. */
struct tn__once {
    bool (*step)(void); /* false or bad_alloc: memory is out; may run again after that */
    pthread_mutex_t lock;
    bool good;
};
#define TN__ONCE(step)                                                                                                 \
    {                                                                                                                  \
        step, PTHREAD_MUTEX_INITIALIZER, false                                                                         \
    }

/* Runs the step unless it has succeeded before; false if memory is out. Nothing is abandoned then. */
bool tn__once(struct tn__once *once);

#pragma GCC visibility pop
#endif
