/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A list of LLVM's function passes that runs them one after the other (function_passes.cpp). */

#ifndef TENON_CODEGEN_FUNCTION_PASSES_H
#define TENON_CODEGEN_FUNCTION_PASSES_H

#include "llvm/Pass.h"

/* A pass that does nothing, but what is added to a list behind it, up to the next pass over modules, is run by ours. */
llvm::FunctionPass *tn__make_function_passes();

#endif
