/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the code generator needs from LLVM but its C API does not offer; implemented in llvm.cpp, pipeline.cpp,
 * emitter.cpp, assembly.cpp and dwarf.cpp. */

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

const char *tn__llvm_version(void); /* "22.1.8", static */

/* ---- reading (read.cpp) ---- */

/* Called with the module's triple and layout before anything that depends on them is read. Returns the layout to use,
 * which has to stay valid until the reader returns, or NULL for the module's own. */
typedef const char *tn__layout_fn(void *user, const char *triple, const char *layout);

/* Receives a message with its position; file NULL or empty: the input; line 0: no position. Columns count from 1. */
typedef void tn__report_fn(void *user, const char *file, unsigned line, unsigned column, const char *message);

/* Reads IR text (`length` bytes and a NUL behind them) or bitcode, and verifies it unless `is_ours` says that it was
 * before. NULL after calling `report` once. */
LLVMModuleRef tn__llvm_parse(LLVMContextRef context, const char *name, const char *bytes, size_t length, bool is_ours,
                             tn__layout_fn *layout, void *layout_user, tn__report_fn *report, void *report_user);
bool tn__llvm_is_bitcode(const char *bytes, size_t length);

/* True if the module's data layout means what the machine's does; the texts may differ. */
bool tn__llvm_same_layout(LLVMModuleRef module, LLVMTargetMachineRef machine);

uint64_t tn__llvm_count_instructions(LLVMModuleRef module);

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
/* *on: whether the subtarget's CPU has it. False: it is unknown. */
bool tn__llvm_ask_feature(const struct tn__subtarget *subtarget, const char *feature, bool *on);

/* A copy of a target for machines that assemble no .include and no .incbin (assembly.cpp); to be freed after these. */
LLVMTargetRef tn__llvm_closed_target(LLVMTargetRef target);
void tn__llvm_closed_target_free(LLVMTargetRef target); /* NULL is ignored */

/* Initialisers through .init_array and, if wanted, a section for each function and variable. */
void tn__llvm_set_sections(LLVMTargetMachineRef machine, bool one_each);

/* ---- passes (pipeline.cpp) ---- */

/* Runs the pipeline of level 0..3; that of 0 only inlines what is marked alwaysinline. The module was verified and has
 * the machine's triple and data layout. */
struct tn_compile_observer;
void tn__llvm_optimize(LLVMModuleRef module, LLVMTargetMachineRef machine, int level,
                       const struct tn_compile_observer *observer);

/* ---- names of functions (diagnostics.c) ---- */

/* The attribute of a function that a pass has renamed, with its name in the module; empty: a pass has made it. */
#define TN__MODULE_NAME "tenon-name"
/* The name of a function in the module; empty: it was not in the module. */
const char *tn__module_name(LLVMValueRef function);

/* ---- intrinsics that ask about the CPU (cpu_features.cpp) ---- */

bool tn__llvm_asks_cpu(LLVMValueRef function);
/* Replaces their calls by constants; functions already have the features that they are compiled with. */
void tn__llvm_answer_cpu(LLVMModuleRef module, LLVMTargetMachineRef machine);

/* ---- code generation (emitter.cpp) ---- */

/* The passes that emit objects for one machine, set up once for many modules. */
struct tn__emitter;

/* Writes a module's object into an empty buffer; the module cannot be used any more. *kept is NULL, or the emitter that
 * an earlier call for the same machine has left there. False: the target has no objects, or out of memory. After an
 * error that was reported to the context's handler, *kept has to be freed. */
struct tn_buffer;
bool tn__llvm_emit(struct tn__emitter **kept, LLVMTargetMachineRef machine, LLVMModuleRef module,
                   struct tn_buffer *out);
void tn__llvm_emitter_free(struct tn__emitter **kept); /* *kept may be NULL, which it is afterwards */

/* ---- debug information (dwarf.cpp) ---- */

/* A file's debug information; its bytes are borrowed. `relocate`: its debug sections have relocations, to be applied.
 * NULL if LLVM cannot read the file. */
struct tn__dwarf;
struct tn__dwarf *tn__dwarf_open(const void *bytes, size_t size, bool relocate);
void tn__dwarf_close(struct tn__dwarf *dwarf);

/* Calls `frame` for each function that is inlined at an address, innermost first, and then for the function itself. The
 * address is relative to a section, or absolute if that is UINT64_MAX. What is unknown is NULL or 0. False if nothing
 * is known. */
typedef void tn__frame_fn(void *user, const char *function, const char *file, uint32_t line, uint32_t column);
bool tn__dwarf_find(struct tn__dwarf *dwarf, uint64_t section, uint64_t address, tn__frame_fn *frame, void *user);

/* ---- output ---- */

/* Writes bitcode into an empty buffer, without the symbol table that linkers would make themselves: it takes longer
 * than the rest, and two more of LLVM's libraries (extract.cpp). False if memory is out. */
bool tn__llvm_write_bitcode(LLVMModuleRef module, struct tn_buffer *out);

/* ---- failing ---- */

/* Calls `body`. False: it was left by std::bad_alloc. */
bool tn__llvm_call(void (*body)(void *context), void *context);

/* Where LLVM reports that memory ran out for a caller of malloc. LLVM aborts if `handler` returns. */
void tn__llvm_on_bad_alloc(void (*handler)(void *user, const char *reason, bool crash));
void tn__llvm_throw_bad_alloc(void);

/* True if the heap that LLVM allocates from has that many bytes left. */
bool tn__llvm_has_room(size_t bytes);

/* LLVM keeps a list of stack frames per thread; whoever leaves frames by longjmp has to restore it. */
const void *tn__llvm_save_frames(void);
void tn__llvm_restore_frames(const void *frames);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
