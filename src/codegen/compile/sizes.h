/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How large functions are, for observers (sizes.c). */

#ifndef TENON_CODEGEN_SIZES_H
#define TENON_CODEGEN_SIZES_H

#include <llvm-c/Core.h>

#include "base/base.h"
#include "tenon_codegen.h"

#pragma GCC visibility push(hidden)

struct tn__sizes {
    struct tn_function_size *list;
    size_t count;
};

/* Those of the functions that the module defines; names are copied. Memory is the arena's; an empty list without. */
struct tn__sizes tn__sizes_of(struct tn__arena *arena, LLVMModuleRef module);

/* Here, and not only to be inlined. */
bool tn__is_defined(LLVMValueRef function);

#pragma GCC visibility pop
#endif
