/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The analyses that passes ask for, and what reports passes to an observer. LLVM's Passes library would register every
 * analysis; here it is done by hand, and LLVM built with NDEBUG crashes on one that is missing. `nm` lists what the
 * linked passes may ask for: each symbol llvm::X::Key must be registered, or be one that only machine passes use. */

#ifndef TENON_CODEGEN_ANALYSES_H
#define TENON_CODEGEN_ANALYSES_H

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Target/TargetMachine.h"

#include "codegen/llvm/watch.h"

#pragma GCC visibility push(hidden)

/* The analysis managers and the ways between them. They refer to each other, so they stay where they were made. */
class tn__analyses {
    llvm::PassInstrumentationCallbacks &callbacks;
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager cgscc;

    void connect();

  public:
    llvm::ModuleAnalysisManager modules;

    /* `callbacks` must live as long. */
    tn__analyses(const llvm::Module &module, llvm::TargetMachine &machine,
                 llvm::PassInstrumentationCallbacks &callbacks);
};

#pragma GCC visibility pop
#endif
