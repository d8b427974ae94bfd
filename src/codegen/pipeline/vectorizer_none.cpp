/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* In place of the vectorisers: what they leave behind for code that has no vectors. */

#include "codegen/pipeline/rows.h"

#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/LoopLoadElimination.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace llvm;

static const function_row rows[] = {
    PASS(ALL, "loop-load-elim", LoopLoadEliminationPass()),
    PASS(ALL, "instcombine", InstCombinePass()),
    PASS(ALL, "simplifycfg", SimplifyCFGPass(tn__last_simplification())),
};
const ArrayRef<function_row> tn__vectorizer_rows = rows;

void tn__provide_vectorizer(FunctionAnalysisManager &)
{
}
