/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a lazy stub of a managed function has to know; the code that divides modules asks for it. */

#ifndef TENON_CODEGEN_SAVED_H
#define TENON_CODEGEN_SAVED_H

#include <stdbool.h>
#include <stdint.h>

#include <llvm-c/Types.h>

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* Which registers and words in memory hold references when a function is called, as in struct tn_lazy_symbol. False:
 * that cannot be told, or not be said there. */
struct tn__saved_references {
    uint32_t registers, stack;
};

bool tn__gc_saved_references(LLVMValueRef function, struct tn__saved_references *out);

/* Bytes of the call's arguments in memory, at most; a multiple of 8. */
uint64_t tn__gc_argument_memory(LLVMValueRef call);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
