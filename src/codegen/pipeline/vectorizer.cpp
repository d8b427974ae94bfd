/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The vectorisers and what prepares loops for them; `make VECTORIZE=0` leaves them out. */

#include "codegen/pipeline/rows.h"

#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/InferAlignment.h"
#include "llvm/Transforms/Scalar/LoopDistribute.h"
#include "llvm/Transforms/Scalar/LoopLoadElimination.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/InjectTLIMappings.h"
#include "llvm/Transforms/Vectorize/LoopVectorize.h"
#include "llvm/Transforms/Vectorize/SLPVectorizer.h"

using namespace llvm;

static const function_row rows[] = {
    PASS(ALL, "loop-distribute", LoopDistributePass()),
    PASS(ALL, "inject-tli-mappings", InjectTLIMappings()),
    PASS(ALL, "loop-vectorize", LoopVectorizePass()),
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
