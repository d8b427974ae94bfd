/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM's diagnostics as struct tn_error, and the names of functions in them. */

#ifndef TENON_CODEGEN_DIAGNOSTICS_H
#define TENON_CODEGEN_DIAGNOSTICS_H

#include <llvm-c/Core.h>

#include "base/base.h"
#include "tenon_codegen.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

struct tn__diagnostics {
    const char *name;     /* of the input */
    LLVMModuleRef module; /* once it is read; NULL before */
    struct tn_error *err;
    size_t errors;                              /* so far; *err has as many of them as fit */
    size_t last;                                /* where the last of them begins */
    const struct tn_compile_observer *observer; /* of warnings and remarks; NULL: none */
};

/* Routes the context's diagnostics into *diagnostics, and to the observer that it has now. Both must live as long as
 * the context, or until others are attached to it. */
void tn__diagnostics_attach(struct tn__diagnostics *diagnostics, LLVMContextRef context);

/* Adds one error; `user` is a struct tn__diagnostics. `file` NULL or empty: the input's name; line 0: no position. */
void tn__diagnostics_report(void *user, const char *file, unsigned line, unsigned column, const char *message);

/* ---- names of functions ---- */

/* The attribute of a function that a pass has renamed, with its name in the module; empty: a pass has made it. */
#define TN__MODULE_NAME "tenon-name"
/* The name of a function in the module; empty: it was not in the module. */
const char *tn__module_name(LLVMValueRef function);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
