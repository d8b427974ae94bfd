/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The analyses by name, and the ways between their managers (analyses.h). */

#include "codegen/llvm/llvm_compat.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/BasicAliasAnalysis.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/BranchProbabilityInfo.h"
#include "llvm/Analysis/CallGraph.h"
#include "llvm/Analysis/CycleAnalysis.h"
#include "llvm/Analysis/DemandedBits.h"
#include "llvm/Analysis/GlobalsModRef.h"
#include "llvm/Analysis/IVUsers.h"
#include "llvm/Analysis/LazyCallGraph.h"
#include "llvm/Analysis/LazyValueInfo.h"
#include "llvm/Analysis/LoopAccessAnalysis.h"
#include "llvm/Analysis/MemoryDependenceAnalysis.h"
#include "llvm/Analysis/MemorySSA.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/PhiValues.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/ProfileSummaryInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScopedNoAliasAA.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Analysis/TypeBasedAliasAnalysis.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/OptimizationLevel.h"
#include "llvm/Transforms/Scalar/SimpleLoopUnswitch.h"

#include "codegen/pipeline/analyses.h"
#include "codegen/pipeline/rows.h"

using namespace llvm;

static AAManager alias_analyses()
{
    AAManager manager;
    manager.registerFunctionAnalysis<BasicAA>();
    manager.registerFunctionAnalysis<ScopedNoAliasAA>();
    manager.registerFunctionAnalysis<TypeBasedAA>();
    manager.registerModuleAnalysis<GlobalsAA>();
    return manager;
}

template <typename... Analyses, typename Manager> static void provide(Manager &manager)
{
    (manager.registerPass([] { return Analyses(); }), ...);
}

tn__analyses::tn__analyses(const Module &module, TargetMachine &machine, PassInstrumentationCallbacks &callbacks)
    : callbacks(callbacks)
{
    /* Those that need to be told something. */
    TargetLibraryInfoImpl library(TN_MODULE_TRIPLE(module));
    functions.registerPass([library] { return TargetLibraryAnalysis(library); });
    functions.registerPass([&machine] { return machine.getTargetIRAnalysis(); });
    functions.registerPass([] { return alias_analyses(); });
    provide<ShouldRunExtraSimpleLoopUnswitch, IVUsersAnalysis>(loops);
    provide<AssumptionAnalysis, BasicAA, BlockFrequencyAnalysis, BranchProbabilityAnalysis, CycleAnalysis,
            DemandedBitsAnalysis, DominatorTreeAnalysis, LazyValueAnalysis, LoopAccessAnalysis, LoopAnalysis,
            MemoryDependenceAnalysis, MemorySSAAnalysis, OptimizationRemarkEmitterAnalysis, PhiValuesAnalysis,
            PostDominatorTreeAnalysis, ScalarEvolutionAnalysis, ScopedNoAliasAA, ShouldNotRunFunctionPassesAnalysis,
            TypeBasedAA, UniformityInfoAnalysis TN_NEWER_FUNCTION_ANALYSES>(functions);
    provide<CallGraphAnalysis, GlobalsAA, LazyCallGraphAnalysis, ProfileSummaryAnalysis>(modules);
    tn__provide_inliner(modules);
    tn__provide_vectorizer(functions);
    tn__provide_sanitizers(modules, functions);
    connect();
}

void tn__analyses::connect()
{
    auto instrumentation = [this] { return PassInstrumentationAnalysis(&callbacks); };
    loops.registerPass(instrumentation);
    functions.registerPass(instrumentation);
    cgscc.registerPass(instrumentation);
    modules.registerPass(instrumentation);
    modules.registerPass([this] { return FunctionAnalysisManagerModuleProxy(functions); });
    modules.registerPass([this] { return CGSCCAnalysisManagerModuleProxy(cgscc); });
    cgscc.registerPass([] { return FunctionAnalysisManagerCGSCCProxy(); });
    cgscc.registerPass([this] { return ModuleAnalysisManagerCGSCCProxy(modules); });
    functions.registerPass([this] { return CGSCCAnalysisManagerFunctionProxy(cgscc); });
    functions.registerPass([this] { return ModuleAnalysisManagerFunctionProxy(modules); });
    functions.registerPass([this] { return LoopAnalysisManagerFunctionProxy(loops); });
    loops.registerPass([this] { return FunctionAnalysisManagerLoopProxy(functions); });
}

/* The targets of AArch64 and RISC-V name this one constant of the Passes library. Weak, because a program that has
 * codegen linked in may use that library as well. */
__attribute__((weak)) const OptimizationLevel OptimizationLevel::O0 = {0, 0};
