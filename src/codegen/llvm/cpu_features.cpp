/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* cpu.have_fma.TYPE (doc/IR.md): what code asks about the CPU that it is compiled for, answered as soon as that is
 * settled, so that versions of a function for several CPUs differ in what they do, not only in how. */

#include "codegen/llvm/llvm_compat.h"

#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/Local.h"

#include "codegen/llvm/llvm.h"

using namespace llvm;

/* Any of the rows for an architecture and a type will do; other types have no such instruction. */
static const struct {
    Triple::ArchType arch;
    const char *type, *feature;
} rows[] = {
    {Triple::x86_64, "f32", "+fma"},  {Triple::x86_64, "f64", "+fma"},       {Triple::x86_64, "f32", "+fma4"},
    {Triple::x86_64, "f64", "+fma4"}, {Triple::aarch64, "f32", "+fp-armv8"}, {Triple::aarch64, "f64", "+fp-armv8"},
    {Triple::riscv64, "f32", "+f"},   {Triple::riscv64, "f64", "+d"},
};

static bool have_fma(const TargetMachine &machine, const Function &caller, StringRef type)
{
    const TargetSubtargetInfo &cpu = *machine.getSubtargetImpl(caller);
    return any_of(rows, [&](const auto &row) {
        return row.arch == machine.getTargetTriple().getArch() && type == row.type && cpu.checkFeatures(row.feature);
    });
}

/* Calls stand in functions, whose own features count. The number of calls. */
static uint64_t answer(Function &question, StringRef type, const TargetMachine &machine)
{
    SmallVector<CallBase *, 8> calls;
    for (User *user : question.users())
        if (auto *call = dyn_cast<CallBase>(user); call && call->getCalledOperand() == &question)
            calls.push_back(call);
    for (CallBase *call : calls) {
        if (auto *invoke = dyn_cast<InvokeInst>(call))
            call = changeToCall(invoke);
        bool yes = have_fma(machine, *call->getFunction(), type);
        call->replaceAllUsesWith(ConstantInt::get(call->getType(), yes));
        call->eraseFromParent();
    }
    if (question.use_empty())
        question.eraseFromParent();
    else
        question.getContext().emitError("'" + question.getName() + "' can only be called [intrinsic-address]");
    return calls.size();
}

bool tn__llvm_asks_cpu(LLVMValueRef value)
{
    const Function &function = *unwrap<Function>(value);
    return function.isDeclaration() && function.getReturnType()->isIntegerTy(1) && function.arg_empty() &&
           (function.getName().starts_with("julia.cpu.have_fma.") ||
            function.getName().starts_with("tenon.cpu.have_fma."));
}

uint64_t tn__llvm_answer_cpu(LLVMModuleRef module, LLVMTargetMachineRef machine)
{
    uint64_t answered = 0;
    for (Function &function : make_early_inc_range(*unwrap(module)))
        if (tn__llvm_asks_cpu(wrap(&function)))
            answered +=
                answer(function, function.getName().rsplit('.').second, *reinterpret_cast<TargetMachine *>(machine));
    return answered;
}
