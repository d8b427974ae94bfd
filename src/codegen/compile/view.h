/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A look at one function: a hook (tn_compile_options.hook) after which the output has nothing else. */

#ifndef TENON_CODEGEN_VIEW_H
#define TENON_CODEGEN_VIEW_H

#include "base/base.h"
#include "tenon_codegen.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

struct tn__view {
    const char *function; /* NULL: all; mangled */
    bool no_names;        /* of arguments, blocks and instructions */
    bool no_debug_info;
    const struct tn_compile_options *client; /* whose hook is called first; NULL: none */
    bool was_called, is_undefined;           /* out */
};

/* The function is optimised among the others, which may be inlined into it; then only it is left, with the variables of
 * its module that it uses. `context` is a struct tn__view. TN_ECOMPILE: the module does not define the function. */
int tn__view_hook(void *context, enum tn_hook when, void *llvm_module, struct tn_error *err);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
