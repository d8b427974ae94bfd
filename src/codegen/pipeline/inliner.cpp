/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The inliner. */

#include "codegen/pipeline/rows.h"

#include "llvm/Analysis/InlineAdvisor.h"
#include "llvm/Transforms/IPO/FunctionAttrs.h"
#include "llvm/Transforms/IPO/Inliner.h"

using namespace llvm;

static const cgscc_row inline_and_simplify[] = {
    PASS(ALL, "function-attrs<skip-non-recursive>", PostOrderFunctionAttrsPass(/*SkipNonRecursive=*/true)),
    PASS(ALL, NULL, createCGSCCToFunctionPassAdaptor(tn__simplification(stages), true, /*NoRerun=*/true)),
    PASS(ALL, "function-attrs", PostOrderFunctionAttrsPass()),
    PASS(ALL, NULL,
         createCGSCCToFunctionPassAdaptor(RequireAnalysisPass<ShouldNotRunFunctionPassesAnalysis, Function>())),
};

static ModuleInlinerWrapperPass inliner(const tn__stages &stages)
{
    static const int devirtualise_again = 4;
    ModuleInlinerWrapperPass inliner(getInlineParams(stages.level, 0), /*MandatoryFirst=*/true, {},
                                     InliningAdvisorMode::Default, devirtualise_again);
    inliner.getPM().addPass(build(inline_and_simplify, stages));
    inliner.addLateModulePass(
        createModuleToFunctionPassAdaptor(InvalidateAnalysisPass<ShouldNotRunFunctionPassesAnalysis>()));
    return inliner;
}

static const module_row rows[] = {
    NAMING(ALL, 0, "inline", InlinerPass, inliner(stages)),
};
const ArrayRef<module_row> tn__inliner_rows = rows;

void tn__provide_inliner(ModuleAnalysisManager &modules)
{
    modules.registerPass([] { return InlineAdvisorAnalysis(); });
}
