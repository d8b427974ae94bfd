/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* From LLVM's IR to the flat form of the baseline compiler (baseline/ir.h):
 *     flatten.cpp     one function, in one walk over its instructions; walk.cpp: values and operands
 *     calls.cpp       calls and exceptions; intrinsics.cpp: LLVM's own functions
 *     lanes.cpp       vectors; widths.cpp: integers of other widths than registers
 *     managed.cpp     managed code that the passes have lowered; expand.cpp: what one call of it stands for
 *     constants.cpp   types and constants
 *     eligible.cpp    which modules and functions may be compiled without LLVM at all
 *     data.cpp        all variables of a module; contents.cpp: their initial values
 *     module.cpp      a whole module: what is covered becomes code, and leaves the module; LLVM compiles the rest
 *     file.cpp        a whole module as a flat file (baseline/file) */

#ifndef TENON_CODEGEN_FLATTEN_H
#define TENON_CODEGEN_FLATTEN_H

#include <llvm-c/TargetMachine.h>

#include "base/base.h"
#include "baseline/object.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* What became of a module's functions. */
struct tn__flattened {
    uint64_t functions, left; /* compiled, and left to LLVM */
    bool is_all;              /* nothing is left for LLVM, and the object has all data */
    uint64_t flatten_ns, analyse_ns, compile_ns;
};

/* Whether functions of the module may be covered at all. */
bool tn__flatten_takes(LLVMModuleRef module, LLVMTargetMachineRef machine);

/* Told of each function: that it was compiled, with NULL, or that it is left to LLVM, and why; and, if none is left, of
 * the variable, alias or ifunc because of which LLVM emits the data, or NULL if that is because of the module. It may
 * change a function that is left, and declare others. */
typedef void tn__left_function(void *context, LLVMValueRef global, const char *why);

/* Compiles the functions of a module that the baseline compiler covers. If these are all, and the object can have the
 * data as well, the module is of no more use than to be disposed of. Otherwise they become declarations, and what they
 * refer to in the module gets names that an object shows. *object is empty at first and to be freed in any case; with
 * it and the object that LLVM makes of the rest, tn__baseline_write gives the module's object. TN_ENOMEM. */
int tn__flatten_module(LLVMModuleRef module, LLVMTargetMachineRef machine, tn__left_function *tell, void *context,
                       struct tn__baseline_object *object, struct tn__flattened *done, struct tn_error *err);

/* Writes a module as a flat file into an empty buffer. Without `tell`, something that the flat form cannot hold is
 * TN_ENOTSUP, with its name and the reason; with it, such functions, variables, aliases and ifuncs are left out, as if
 * they were defined elsewhere. The module is of no more use than to be disposed of. TN_ENOMEM. */
int tn__flatten_file(LLVMModuleRef module, LLVMTargetMachineRef machine, tn__left_function *tell, void *context,
                     struct tn_buffer *out, struct tn_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
