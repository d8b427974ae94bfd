/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/ErrorHandling.h"

#include "codegen/gc/llvm_gc.h"

using namespace llvm;

bool tn__llvm_constant_offset(LLVMValueRef gep, int64_t *offset)
{
    auto *instruction = cast<GetElementPtrInst>(unwrap(gep));
    const DataLayout &layout = instruction->getModule()->getDataLayout();
    APInt bytes(layout.getIndexTypeSizeInBits(instruction->getType()), 0);
    if (instruction->getType()->isVectorTy() || !instruction->accumulateConstantOffset(layout, bytes))
        return false;
    *offset = bytes.getSExtValue();
    return true;
}

LLVMBasicBlockRef tn__llvm_split(LLVMValueRef before)
{
    auto *instruction = cast<Instruction>(unwrap(before));
    return wrap(instruction->getParent()->splitBasicBlock(instruction->getIterator()));
}

void tn__llvm_out_of_memory()
{
    report_bad_alloc_error("out of memory in a pass over managed code");
}
