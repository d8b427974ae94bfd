/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The calling conventions of managed code. A native function is called through a function of the runtime. That
 * function gets the address of the native one as a `nest` argument, changes registers that a callee may change in C,
 * and may pass a copy of the arguments in memory. A native function may have each convention to which none of this
 * matters.
 *
 * On RISC-V, fastcc has no `nest` arguments, and preserve_most preserves the register of the result too. What LLVM does
 * not have on a machine is no convention there either. */

#include "codegen/managed/ir/gc.h"

/* LLVM's numbers that llvm-c/Core.h has no names for. */
enum { TAIL = 18, SWIFT_TAIL = 20, PRESERVE_NONE = 21, AARCH64_VECTOR = 97, AARCH64_SVE_VECTOR = 98, GRAAL = 107 };

enum { NONE = TN__NO_CONVENTION, MANAGED = TN__MANAGED_ONLY, NATIVE = TN__NATIVE, AS_C = TN__NATIVE_AS_C };

static const char *const machines[] = {"x86_64", "aarch64", "riscv64"};

static const struct row {
    unsigned number;
    uint8_t on[TN_COUNT(machines)];
} rows[] = {
    {LLVMCCallConv, {NATIVE, NATIVE, NATIVE}},
    {LLVMFastCallConv, {NATIVE, NATIVE, MANAGED}},
    {LLVMColdCallConv, {AS_C, NONE, NONE}},
    {LLVMPreserveMostCallConv, {AS_C, AS_C, NONE}},
    {LLVMPreserveAllCallConv, {AS_C, AS_C, NONE}},
    {LLVMCXXFASTTLSCallConv, {AS_C, AS_C, NONE}},
    {LLVMSwiftCallConv, {NATIVE, NATIVE, NONE}},
    {LLVMX8664SysVCallConv, {NATIVE, NONE, NONE}},
    {LLVMWin64CallConv, {NATIVE, NONE, NONE}},
    {LLVMX86VectorCallCallConv, {NATIVE, NONE, NONE}},
    {AARCH64_VECTOR, {NONE, NATIVE, NONE}},
    {AARCH64_SVE_VECTOR, {NONE, NATIVE, NONE}},
    {GRAAL, {NATIVE, NATIVE, NATIVE}},
    {TAIL, {MANAGED, MANAGED, NONE}}, /* these two remove their arguments */
    {SWIFT_TAIL, {MANAGED, MANAGED, NONE}},
    {PRESERVE_NONE, {MANAGED, MANAGED, NONE}}, /* these two have arguments in more registers */
    {LLVMX86RegCallCallConv, {MANAGED, NONE, NONE}},
};

enum tn__managed_convention tn__managed_convention(const struct tn__gc *gc, unsigned number)
{
    const char *triple = LLVMGetTarget(gc->module);
    for (size_t m = 0; m < TN_COUNT(machines); m++)
        for (size_t i = 0; i < TN_COUNT(rows); i++)
            if (rows[i].number == number && !strncmp(triple, machines[m], strlen(machines[m])))
                return (enum tn__managed_convention)rows[i].on[m];
    return TN__NO_CONVENTION;
}
