/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the code generator needs from LLVM but its C API does not offer, and what keeps LLVM from ending the process.
 * The files of this folder know nothing of Tenon's compilations:
 *     llvm.cpp       what is declared here, but for:
 *     read.cpp       reading and verifying IR
 *     nesting.cpp    limits of nesting, which LLVM recurses with
 *     debug_info.cpp  debug information that LLVM cannot write
 *     cpu_features.cpp  intrinsics that ask about the CPU that code is compiled for
 *     diagnostics.c  LLVM's diagnostics as struct tn_error (diagnostics.h)
 *     fatal.cpp      what would end the process, as an error code (fatal.h)
 *     stacks.c       the stacks that LLVM runs on (fatal.h); host_ARCH.c is how to get there
 *     watch.cpp      reports passes to an observer (watch.h)
 *     arguments.cpp  LLVM's own options (arguments.h) */

#ifndef TENON_CODEGEN_LLVM_H
#define TENON_CODEGEN_LLVM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <llvm-c/TargetMachine.h>
#include <llvm-c/Types.h>

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* ---- reading (read.cpp) ---- */

/* Called with the module's triple and layout before anything that depends on them is read. Returns the layout to use,
 * which has to stay valid until the reader returns, or NULL for the module's own. */
typedef const char *tn__layout_fn(void *user, const char *triple, const char *layout);

/* Receives a message with its position; file NULL or empty: the input; line 0: no position. Columns count from 1. */
typedef void tn__report_fn(void *user, const char *file, unsigned line, unsigned column, const char *message);

enum tn__reading {
    TN__READ,          /* everything, and verify it */
    TN__READ_VERIFIED, /* it was verified before */
    /* Bitcode that has separable bodies: each of them is read and verified when tn__llvm_load asks for it, unless the
     * module has debug information, which is only verified as a whole. The bytes have to outlive the module. */
    TN__READ_LAZILY,
};

/* Reads IR text (`length` bytes and a NUL behind them) or bitcode. NULL after calling `report` once. */
LLVMModuleRef tn__llvm_parse(LLVMContextRef context, const char *name, const char *bytes, size_t length,
                             enum tn__reading how, tn__layout_fn *layout, void *layout_user, tn__report_fn *report,
                             void *report_user);
bool tn__llvm_is_bitcode(const char *bytes, size_t length);

/* Whether the bodies of functions can be read one by one, after the module was divided (bitcode.cpp). They can if LLVM
 * of this version has written it, so that upgrades happen with a body or not at all; if no body names blocks by their
 * addresses where LLVM would write them; and if no type of pointers is in the address spaces from `first_space` to
 * `last_space`. */
bool tn__llvm_has_separable_bodies(const char *bytes, size_t length, unsigned first_space, unsigned last_space);

/* True if the module's data layout means what the machine's does; the texts may differ. */
bool tn__llvm_same_layout(LLVMModuleRef module, LLVMTargetMachineRef machine);

uint64_t tn__llvm_count_instructions(LLVMModuleRef module);

/* True if little of the module stays in its context when it is gone: it has few instructions, no debug information and
 * no large constants. */
bool tn__llvm_is_modest(LLVMModuleRef module);

/* ---- diagnostics ---- */

/* Calls `report` with the diagnostic and the debug location that it is about, if there is one. For inline assembly the
 * message begins with the position in the assembly. */
void tn__llvm_describe(LLVMDiagnosticInfoRef diagnostic, LLVMModuleRef module, tn__report_fn *report, void *user);

/* ---- targets ---- */

/* A CPU ("" or a known one) and the names that its target knows; LLVM prints a warning when it is given others. NULL:
 * no machine-code support for the triple. */
struct tn__subtarget;
struct tn__subtarget *tn__llvm_subtarget(LLVMTargetRef target, const char *triple, const char *cpu);
void tn__llvm_subtarget_free(struct tn__subtarget *subtarget);
bool tn__llvm_has_cpu(const struct tn__subtarget *subtarget, const char *cpu);
bool tn__llvm_has_feature(const struct tn__subtarget *subtarget, const char *feature, size_t length);
/* The first feature of "+a,-b,..." that is malformed or unknown, or NULL; *length: its length. */
const char *tn__llvm_unknown_feature(const struct tn__subtarget *subtarget, const char *features, size_t *length);
/* *on: whether the subtarget's CPU has it. False: it is unknown. */
bool tn__llvm_ask_feature(const struct tn__subtarget *subtarget, const char *feature, bool *on);

/* The module's code will not be part of a program, so it asks for the place of its thread-local variables. */
void tn__llvm_ask_for_thread_data(LLVMModuleRef module);
/* And it asks by descriptors where the machine has a choice: their calls keep all other registers. */
void tn__llvm_use_descriptors(LLVMTargetMachineRef machine);
/* Initialisers through .init_array and, if wanted, a section for each function and variable. */
void tn__llvm_set_sections(LLVMTargetMachineRef machine, bool one_each);

/* ---- intrinsics that ask about the CPU (cpu_features.cpp) ---- */

bool tn__llvm_asks_cpu(LLVMValueRef function);
/* Replaces their calls by constants; functions already have the features that they are compiled with. The number of
 * calls. */
uint64_t tn__llvm_answer_cpu(LLVMModuleRef module, LLVMTargetMachineRef machine);

/* Writes bitcode into an empty buffer, without the symbol table that linkers would make themselves: it takes longer
 * than the rest, and two more of LLVM's libraries. False if memory is out. */
struct tn_buffer;
bool tn__llvm_write_bitcode(LLVMModuleRef module, struct tn_buffer *out);

/* ---- failing ---- */

/* Reports through LLVM's handler that memory is out; does not return. */
__attribute__((noreturn)) void tn__llvm_out_of_memory(void);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
