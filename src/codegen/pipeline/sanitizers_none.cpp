/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* In place of the sanitizers: their options are refused, and attributes of functions that ask for them mean nothing. */

#include "codegen/pipeline/optimizer.h"
#include "codegen/pipeline/rows.h"

using namespace llvm;

const ArrayRef<module_row> tn__sanitizer_rows;

bool tn__choose_sanitized(Module &, const tn__stages &)
{
    return false;
}

bool tn__has_sanitizers()
{
    return false;
}

void tn__provide_sanitizers(ModuleAnalysisManager &, FunctionAnalysisManager &)
{
}
