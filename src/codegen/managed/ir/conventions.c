/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The calling conventions of managed code. A native function is called through a function of the runtime. That function
 * gets the address of the native one in r10 (x15 on AArch64), changes registers that a callee may change in C, and may
 * pass a copy of the arguments in memory. A native function may have each convention to which none of this matters. */

#include "codegen/managed/ir/gc.h"

/* LLVM's numbers that llvm-c/Core.h has no names for. */
enum { TAIL = 18, SWIFT_TAIL = 20, PRESERVE_NONE = 21, AARCH64_VECTOR = 97, AARCH64_SVE_VECTOR = 98, GRAAL = 107 };

static const struct tn__managed_convention conventions[] = {
    {LLVMCCallConv, TN__NATIVE},
    {LLVMFastCallConv, TN__NATIVE},
    {LLVMColdCallConv, TN__NATIVE_AS_C},
    {LLVMPreserveMostCallConv, TN__NATIVE_AS_C},
    {LLVMPreserveAllCallConv, TN__NATIVE_AS_C},
    {LLVMCXXFASTTLSCallConv, TN__NATIVE_AS_C},
    {LLVMSwiftCallConv, TN__NATIVE},
    {LLVMX8664SysVCallConv, TN__NATIVE},
    {LLVMWin64CallConv, TN__NATIVE},
    {LLVMX86VectorCallCallConv, TN__NATIVE},
    {AARCH64_VECTOR, TN__NATIVE},
    {AARCH64_SVE_VECTOR, TN__NATIVE},
    {GRAAL, TN__NATIVE},
    {TAIL, TN__MANAGED_ONLY}, /* these two remove their arguments */
    {SWIFT_TAIL, TN__MANAGED_ONLY},
    {PRESERVE_NONE, TN__MANAGED_ONLY}, /* these two have arguments in more registers */
    {LLVMX86RegCallCallConv, TN__MANAGED_ONLY},
};

const struct tn__managed_convention *tn__managed_convention(unsigned number)
{
    for (size_t i = 0; i < TN_COUNT(conventions); i++)
        if (conventions[i].number == number)
            return &conventions[i];
    return NULL;
}
