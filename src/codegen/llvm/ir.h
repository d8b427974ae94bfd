/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Questions about IR that several rooms ask. */

#ifndef TENON_CODEGEN_IR_H
#define TENON_CODEGEN_IR_H

#include "llvm/IR/GlobalIFunc.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"

/* True if the module's object will define it. */
static inline bool tn__is_defined(const llvm::GlobalValue &global)
{
    return !global.isDeclaration() && !global.hasAvailableExternallyLinkage();
}

/* llvm.used and its like, initializers. */
static inline bool tn__is_llvms(const llvm::GlobalValue &global)
{
    return global.getName().starts_with("llvm.");
}

/* True if others than the module may name it. */
static inline bool tn__is_public(const llvm::GlobalValue &global)
{
    return tn__is_defined(global) && !global.hasLocalLinkage() && !global.hasHiddenVisibility();
}

/* True for variables and aliases whose address images offer to others. A variable that the linker may discard is not
 * kept for that. */
static inline bool tn__is_offered(const llvm::GlobalValue &global)
{
    const llvm::GlobalObject *object = global.getAliaseeObject();
    return tn__is_public(global) && !tn__is_llvms(global) && !global.isThreadLocal() && !global.hasCommonLinkage() &&
           !global.isDiscardableIfUnused() && object && !llvm::isa<llvm::GlobalIFunc>(object);
}

/* Reads and verifies the body of a function that was left unread (TN__READ_LAZILY). False with a message: the body is
 * invalid, and the function must not be used any more. */
bool tn__load_body(llvm::Function &function, std::string &message);

/* Code is to be small, or `smallest`, rather than fast. LLVM has no such code of functions that are not optimised. */
static inline void tn__ask_for_size(llvm::Function &function, bool smallest)
{
    if (function.hasFnAttribute(llvm::Attribute::OptimizeNone))
        return;
    function.addFnAttr(llvm::Attribute::OptimizeForSize);
    if (smallest)
        function.addFnAttr(llvm::Attribute::MinSize);
}

/* The function that a call names; NULL: none, or the instruction is no call. */
static inline const llvm::Function *tn__callee(const llvm::Instruction &instruction)
{
    auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction);
    return call ? llvm::dyn_cast<llvm::Function>(call->getCalledOperand()) : nullptr;
}

/* Reads the number that a text attribute of a function holds; false, with *number as it was, if there is none. */
template <typename Number>
static inline bool tn__attribute_number(const llvm::Function &function, const char *key, unsigned radix, Number &number)
{
    return !function.getFnAttribute(key).getValueAsString().getAsInteger(radix, number);
}

#endif
