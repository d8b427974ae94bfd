/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* In place of the inliner: functions are simplified one by one. */

#include "codegen/pipeline/rows.h"

using namespace llvm;

static const module_row rows[] = {
    PASS(ALL, NULL, createModuleToFunctionPassAdaptor(tn__simplification(stages), true)),
};
const ArrayRef<module_row> tn__inliner_rows = rows;

void tn__provide_inliner(ModuleAnalysisManager &)
{
}
