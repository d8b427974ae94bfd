/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The vectorisers and what prepares loops for them. */

#include "codegen/pipeline/managed.h"
#include "codegen/pipeline/rows.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/InferAlignment.h"
#include "llvm/Transforms/Scalar/LoopDistribute.h"
#include "llvm/Transforms/Scalar/LoopLoadElimination.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/InjectTLIMappings.h"
#include "llvm/Transforms/Vectorize/LoopVectorize.h"
#include "llvm/Transforms/Vectorize/SLPVectorizer.h"

using namespace llvm;

/* ---- vectors of references ---- */

static bool is_managed(const Value *value)
{
    return tn__type_holds(wrap(value->getType()), IN_MANAGED);
}

/* A pointer that each turn moves on stays a scalar in vector code. */
static bool is_walk(const Loop &loop, const Instruction &instruction)
{
    const auto *phi = dyn_cast<PHINode>(&instruction);
    return phi && phi->getParent() == loop.getHeader() && all_of(phi->blocks(), [&](const BasicBlock *from) {
               const auto *step = dyn_cast<GetElementPtrInst>(phi->getIncomingValueForBlock(from));
               return !loop.contains(from) || (step && step->getPointerOperand() == phi);
           });
}

/* Whether vector code of the loop has vectors of managed pointers that live for longer than a turn, or are stored: its
 * addresses, and the comparison that ends it, are none. */
static bool makes_vectors_of_references(const Loop &loop)
{
    const Instruction *end = loop.getLatchCmpInst();
    return any_of(loop.blocks(), [&](const BasicBlock *block) {
        return any_of(*block, [&](const Instruction &i) {
            if (isa<StoreInst, ICmpInst>(i))
                return &i != end && is_managed(i.getOperand(0));
            return is_managed(&i) && !isa<GetElementPtrInst, AddrSpaceCastInst>(i) && !is_walk(loop, i);
        });
    });
}

/* Only vectors of known length can be taken apart at safepoints, which polls and barriers may bring into the loop. */
static void forbid_scalable(Loop &loop)
{
    static const char name[] = "llvm.loop.vectorize.scalable.enable";
    LLVMContext &context = loop.getHeader()->getContext();
    MDNode *off =
        MDNode::get(context, {MDString::get(context, name), ConstantAsMetadata::get(ConstantInt::getFalse(context))});
    loop.setLoopID(makePostTransformationMetadata(context, loop.getLoopID(), {name}, {off}));
}

namespace {
struct ManagedVectorize : LoopVectorizePass {
    PreservedAnalyses run(Function &function, FunctionAnalysisManager &manager)
    {
        if (manager.getResult<TargetIRAnalysis>(function).supportsScalableVectors())
            for (Loop *loop : manager.getResult<LoopAnalysis>(function).getLoopsInPreorder())
                if (loop->isInnermost() && makes_vectors_of_references(*loop))
                    forbid_scalable(*loop);
        return LoopVectorizePass::run(function, manager);
    }
};
} // namespace

/* ---- the stage ---- */

static const function_row rows[] = {
    PASS(ALL, "loop-distribute", LoopDistributePass()),
    PASS(ALL, "inject-tli-mappings", InjectTLIMappings()),
    PASS(ALL, "loop-vectorize", ManagedVectorize()),
    PASS(ALL, "infer-alignment", InferAlignmentPass()),
    PASS(ALL, "loop-load-elim", LoopLoadEliminationPass()),
    PASS(ALL, "instcombine", InstCombinePass()),
    PASS(ALL, "simplifycfg", SimplifyCFGPass(tn__last_simplification())),
    PASS(ALL, "slp-vectorizer", SLPVectorizerPass()),
};
const ArrayRef<function_row> tn__vectorizer_rows = rows;

void tn__provide_vectorizer(FunctionAnalysisManager &functions)
{
    functions.registerPass([] { return ShouldRunExtraVectorPasses(); });
}
