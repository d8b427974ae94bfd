/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The optimisation pipeline, made of rows and without LLVM's Passes library (12.7 MB). That library would also register
 * every analysis; here it is done by hand, and LLVM built with NDEBUG crashes on one that is missing. `nm` lists what
 * the linked passes may ask for: each symbol llvm::X::Key must be registered below, or be one that only machine passes
 * use. The order of passes follows LLVM's own default pipelines. */

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
#include "llvm/Analysis/InlineAdvisor.h"
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
#include "llvm/Transforms/AggressiveInstCombine/AggressiveInstCombine.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/ConstantMerge.h"
#include "llvm/Transforms/IPO/DeadArgumentElimination.h"
#include "llvm/Transforms/IPO/ElimAvailExtern.h"
#include "llvm/Transforms/IPO/FunctionAttrs.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/IPO/GlobalOpt.h"
#include "llvm/Transforms/IPO/InferFunctionAttrs.h"
#include "llvm/Transforms/IPO/Inliner.h"
#include "llvm/Transforms/IPO/SCCP.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/AlignmentFromAssumptions.h"
#include "llvm/Transforms/Scalar/BDCE.h"
#include "llvm/Transforms/Scalar/ConstraintElimination.h"
#include "llvm/Transforms/Scalar/CorrelatedValuePropagation.h"
#include "llvm/Transforms/Scalar/DeadStoreElimination.h"
#include "llvm/Transforms/Scalar/DivRemPairs.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/Float2Int.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/InferAlignment.h"
#include "llvm/Transforms/Scalar/InstSimplifyPass.h"
#include "llvm/Transforms/Scalar/JumpThreading.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopDeletion.h"
#include "llvm/Transforms/Scalar/LoopDistribute.h"
#include "llvm/Transforms/Scalar/LoopIdiomRecognize.h"
#include "llvm/Transforms/Scalar/LoopInstSimplify.h"
#include "llvm/Transforms/Scalar/LoopLoadElimination.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/LoopSimplifyCFG.h"
#include "llvm/Transforms/Scalar/LoopSink.h"
#include "llvm/Transforms/Scalar/LoopUnrollPass.h"
#include "llvm/Transforms/Scalar/LowerConstantIntrinsics.h"
#include "llvm/Transforms/Scalar/LowerExpectIntrinsic.h"
#include "llvm/Transforms/Scalar/MemCpyOptimizer.h"
#include "llvm/Transforms/Scalar/MergedLoadStoreMotion.h"
#include "llvm/Transforms/Scalar/Reassociate.h"
#include "llvm/Transforms/Scalar/SCCP.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimpleLoopUnswitch.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Scalar/TailRecursionElimination.h"
#include "llvm/Transforms/Utils/InjectTLIMappings.h"
#include "llvm/Transforms/Utils/LibCallsShrinkWrap.h"
#include "llvm/Transforms/Utils/Mem2Reg.h"
#include "llvm/Transforms/Utils/MoveAutoInit.h"
#include "llvm/Transforms/Vectorize/LoopVectorize.h"
#include "llvm/Transforms/Vectorize/SLPVectorizer.h"
#include "llvm/Transforms/Vectorize/VectorCombine.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/OptimizationLevel.h"
#include "llvm/Target/TargetMachine.h"

#include "codegen/llvm/watch.h"
#include "codegen/pipeline/pipeline.h"

using namespace llvm;

/* A row adds one pass, or one nested pass manager, to a pipeline at the levels it names. */
enum : unsigned { O0 = 1 << 0, O1 = 1 << 1, O2 = 1 << 2, O3 = 1 << 3, O23 = O2 | O3, ALL = O1 | O23 };

template <typename Manager> struct row {
    unsigned levels;
    void (*add)(Manager &manager, int level);
};
using loop_row = row<LoopPassManager>;
using function_row = row<FunctionPassManager>;
using cgscc_row = row<CGSCCPassManager>;
using module_row = row<ModulePassManager>;

template <typename Manager, size_t N> static Manager build(const row<Manager> (&rows)[N], int level)
{
    Manager manager;
    for (const auto &row : rows)
        if (row.levels & (1u << level))
            row.add(manager, level);
    return manager;
}

/* One pass with its arguments. */
#define PASS(levels, ...)                                                                                              \
    {                                                                                                                  \
        levels, [](auto &manager, [[maybe_unused]] int level) { manager.addPass(__VA_ARGS__); }                        \
    }
/* A table of loop passes as one function pass, a table of function passes as one module or call graph pass. */
#define LOOPS(levels, mssa, table) PASS(levels, TN_LOOP_ADAPTOR(build(table, level), mssa))
#define FUNCTIONS(levels, table)   PASS(levels, createModuleToFunctionPassAdaptor(build(table, level), true))
#define MEMORY_SSA                 true
#define NO_MEMORY_SSA              false

static SimplifyCFGOptions switches()
{
    return SimplifyCFGOptions().convertSwitchRangeToICmp(true);
}

/* For the end of a pipeline: what hides structure from other passes but makes good machine code. */
static SimplifyCFGOptions last_cleanup()
{
    return switches()
        .forwardSwitchCondToPhi(true)
        .convertSwitchToLookupTable(true)
        .needCanonicalLoops(false)
        .hoistCommonInsts(true)
        .sinkCommonInsts(true);
}

static const function_row early_functions[] = {
    PASS(ALL, LowerExpectIntrinsicPass()),
    PASS(ALL, SimplifyCFGPass()),
    PASS(ALL, SROAPass(SROAOptions::ModifyCFG)),
    PASS(ALL, EarlyCSEPass()),
};

static const function_row before_inlining[] = {
    PASS(ALL, PromotePass()),
    PASS(ALL, InstCombinePass()),
    PASS(ALL, SimplifyCFGPass(switches())),
};

static const loop_row rotate_and_hoist[] = {
    PASS(ALL, LoopInstSimplifyPass()),
    PASS(ALL, LoopSimplifyCFGPass()),
    PASS(ALL, LICMPass(LICMOptions(SetLicmMssaOptCap, SetLicmMssaNoAccForPromotionCap, /*AllowSpeculation=*/false))),
    PASS(ALL, LoopRotatePass()),
    PASS(ALL, LICMPass(LICMOptions())),
    PASS(ALL, SimpleLoopUnswitchPass(/*NonTrivial=*/level == 3)),
};

static const loop_row reshape_loops[] = {
    PASS(ALL, LoopIdiomRecognizePass()),
    PASS(ALL, IndVarSimplifyPass()),
    PASS(ALL, LoopDeletionPass()),
    PASS(ALL, LoopFullUnrollPass(level)),
};

static const loop_row hoist[] = {
    PASS(ALL, LICMPass(LICMOptions())),
};

static const function_row simplify_functions[] = {
    PASS(ALL, SROAPass(SROAOptions::ModifyCFG)),
    PASS(ALL, EarlyCSEPass(/*UseMemorySSA=*/true)),
    PASS(O23, JumpThreadingPass()),
    PASS(O23, CorrelatedValuePropagationPass()),
    PASS(ALL, SimplifyCFGPass(switches())),
    PASS(ALL, InstCombinePass()),
    PASS(O23, AggressiveInstCombinePass()),
    PASS(ALL, LibCallsShrinkWrapPass()),
    PASS(O23, TailCallElimPass()),
    PASS(ALL, SimplifyCFGPass(switches())),
    PASS(ALL, ReassociatePass()),
    PASS(O23, ConstraintEliminationPass()),
    LOOPS(ALL, MEMORY_SSA, rotate_and_hoist),
    PASS(ALL, SimplifyCFGPass(switches())),
    PASS(ALL, InstCombinePass()),
    LOOPS(ALL, NO_MEMORY_SSA, reshape_loops),
    PASS(ALL, SROAPass(SROAOptions::ModifyCFG)),
    PASS(O23, VectorCombinePass(/*TryEarlyFoldsOnly=*/true)),
    PASS(O23, MergedLoadStoreMotionPass()),
    PASS(O23, GVNPass()),
    PASS(O1, MemCpyOptPass()),
    PASS(ALL, SCCPPass()),
    PASS(ALL, BDCEPass()),
    PASS(ALL, InstCombinePass()),
    PASS(O23, JumpThreadingPass()),
    PASS(O23, CorrelatedValuePropagationPass()),
    PASS(ALL, ADCEPass()),
    PASS(O23, MemCpyOptPass()),
    PASS(O23, DSEPass()),
    PASS(O23, MoveAutoInitPass()),
    LOOPS(O23, MEMORY_SSA, hoist),
    PASS(O1, SimplifyCFGPass(switches())),
    PASS(O23, SimplifyCFGPass(switches().hoistCommonInsts(true).sinkCommonInsts(true))),
    PASS(ALL, InstCombinePass()),
};

static const cgscc_row inline_and_simplify[] = {
    PASS(O23, PostOrderFunctionAttrsPass(/*SkipNonRecursive=*/true)),
    PASS(O23, createCGSCCToFunctionPassAdaptor(build(simplify_functions, level), true, /*NoRerun=*/true)),
    PASS(O23, PostOrderFunctionAttrsPass()),
    PASS(O23, createCGSCCToFunctionPassAdaptor(RequireAnalysisPass<ShouldNotRunFunctionPassesAnalysis, Function>())),
};

static const loop_row rotate_for_vectors[] = {
    PASS(ALL, LoopRotatePass()),
    PASS(ALL, LoopDeletionPass()),
};

static const function_row finish_functions[] = {
    PASS(ALL, Float2IntPass()),
    PASS(ALL, LowerConstantIntrinsicsPass()),
    LOOPS(ALL, NO_MEMORY_SSA, rotate_for_vectors),
    PASS(O23, LoopDistributePass()),
    PASS(O23, InjectTLIMappings()),
    PASS(O23, LoopVectorizePass()),
    PASS(O23, InferAlignmentPass()),
    PASS(O23, LoopLoadEliminationPass()),
    PASS(O23, InstCombinePass()),
    PASS(O23, SimplifyCFGPass(last_cleanup())),
    PASS(O23, SLPVectorizerPass()),
    PASS(O23, VectorCombinePass()),
    PASS(ALL, InstCombinePass()),
    PASS(ALL, LoopUnrollPass(LoopUnrollOptions(level))),
    PASS(ALL, SROAPass(SROAOptions::PreserveCFG)),
    PASS(ALL, InferAlignmentPass()),
    PASS(ALL, InstCombinePass()),
    LOOPS(ALL, MEMORY_SSA, hoist),
    PASS(ALL, AlignmentFromAssumptionsPass()),
    PASS(ALL, LoopSinkPass()),
    PASS(ALL, InstSimplifyPass()),
    PASS(ALL, DivRemPairsPass()),
    PASS(ALL, TailCallElimPass()),
    PASS(ALL,
         SimplifyCFGPass(last_cleanup().hoistCommonInsts(false).sinkCommonInsts(false).speculateUnpredictables(true))),
};

/* Inlines each function into its callers after simplifying it. */
static ModuleInlinerWrapperPass inliner(int level)
{
    static const int devirtualise_again = 4;
    ModuleInlinerWrapperPass inliner(getInlineParams(level, 0), /*MandatoryFirst=*/true, {},
                                     InliningAdvisorMode::Default, devirtualise_again);
    inliner.getPM().addPass(build(inline_and_simplify, level));
    inliner.addLateModulePass(
        createModuleToFunctionPassAdaptor(InvalidateAnalysisPass<ShouldNotRunFunctionPassesAnalysis>()));
    return inliner;
}

static const module_row pipeline[] = {
    PASS(ALL, InferFunctionAttrsPass()),
    FUNCTIONS(ALL, early_functions),
    PASS(O23, IPSCCPPass()),
    PASS(ALL, GlobalOptPass()),
    FUNCTIONS(O23, before_inlining),
    PASS(O0 | ALL, AlwaysInlinerPass()),
    PASS(O23, RequireAnalysisPass<GlobalsAA, Module>()),
    PASS(O23, RequireAnalysisPass<ProfileSummaryAnalysis, Module>()),
    PASS(O23, inliner(level)),
    FUNCTIONS(O1, simplify_functions),
    PASS(O23, DeadArgumentEliminationPass()),
    PASS(O23, GlobalOptPass()),
    PASS(ALL, GlobalDCEPass()),
    PASS(ALL, EliminateAvailableExternallyPass()),
    PASS(O23, ReversePostOrderFunctionAttrsPass()),
    PASS(O23, RecomputeGlobalsAAPass()),
    FUNCTIONS(ALL, finish_functions),
    PASS(ALL, GlobalDCEPass()),
    PASS(ALL, ConstantMergePass()),
};

/* Functions marked optnone are left alone: in LLVM, too, that is not the pass managers' doing but a callback's. */
static bool may_optimize(Any unit)
{
    const Function *function = nullptr;
    if (auto *f = any_cast<const Function *>(&unit))
        function = *f;
    else if (auto *loop = any_cast<const Loop *>(&unit))
        function = (*loop)->getHeader()->getParent();
    return !function || !function->hasOptNone();
}

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

/* The analysis managers and the ways between them. They refer to each other, so they stay where they were made. */
struct analyses {
    PassInstrumentationCallbacks callbacks;
    LoopAnalysisManager loops;
    FunctionAnalysisManager functions;
    CGSCCAnalysisManager cgscc;
    ModuleAnalysisManager modules;

    analyses(const Module &module, TargetMachine &machine)
    {
        callbacks.registerShouldRunOptionalPassCallback([](StringRef, Any unit) { return may_optimize(unit); });
        /* Those that need to be told something. */
        TargetLibraryInfoImpl library(TN_MODULE_TRIPLE(module));
        functions.registerPass([library] { return TargetLibraryAnalysis(library); });
        functions.registerPass([&machine] { return machine.getTargetIRAnalysis(); });
        functions.registerPass([] { return alias_analyses(); });
        auto instrumentation = [this] { return PassInstrumentationAnalysis(&callbacks); };
        loops.registerPass(instrumentation);
        functions.registerPass(instrumentation);
        cgscc.registerPass(instrumentation);
        modules.registerPass(instrumentation);
        provide<ShouldRunExtraSimpleLoopUnswitch, IVUsersAnalysis>(loops);
        provide<AssumptionAnalysis, BasicAA, BlockFrequencyAnalysis, BranchProbabilityAnalysis, CycleAnalysis,
                DemandedBitsAnalysis, DominatorTreeAnalysis, LazyValueAnalysis, LoopAccessAnalysis, LoopAnalysis,
                MemoryDependenceAnalysis, MemorySSAAnalysis, OptimizationRemarkEmitterAnalysis, PhiValuesAnalysis,
                PostDominatorTreeAnalysis, ScalarEvolutionAnalysis, ScopedNoAliasAA, ShouldNotRunFunctionPassesAnalysis,
                ShouldRunExtraVectorPasses, TypeBasedAA, UniformityInfoAnalysis TN_NEWER_FUNCTION_ANALYSES>(functions);
        provide<CallGraphAnalysis, GlobalsAA, InlineAdvisorAnalysis, LazyCallGraphAnalysis, ProfileSummaryAnalysis>(
            modules);
        connect();
    }

    void connect()
    {
        modules.registerPass([this] { return FunctionAnalysisManagerModuleProxy(functions); });
        modules.registerPass([this] { return CGSCCAnalysisManagerModuleProxy(cgscc); });
        cgscc.registerPass([] { return FunctionAnalysisManagerCGSCCProxy(); });
        cgscc.registerPass([this] { return ModuleAnalysisManagerCGSCCProxy(modules); });
        functions.registerPass([this] { return CGSCCAnalysisManagerFunctionProxy(cgscc); });
        functions.registerPass([this] { return ModuleAnalysisManagerFunctionProxy(modules); });
        functions.registerPass([this] { return LoopAnalysisManagerFunctionProxy(loops); });
        loops.registerPass([this] { return FunctionAnalysisManagerLoopProxy(functions); });
    }
};

void tn__llvm_optimize(LLVMModuleRef module, LLVMTargetMachineRef machine, int level,
                       const tn_compile_observer *observer)
{
    /* There is work at level 0, too: what must be inlined may have no other definition (C++ templates declared
     * extern). */
    if (level == 0 && none_of(*unwrap(module), [](const Function &function) {
            return !function.isDeclaration() && function.hasFnAttribute(Attribute::AlwaysInline);
        }))
        return;
    analyses analyses(*unwrap(module), *reinterpret_cast<TargetMachine *>(machine));
    tn__watch watch(analyses.callbacks, *observer);
    build(pipeline, level).run(*unwrap(module), analyses.modules);
}

/* The targets of AArch64 and RISC-V name this one constant of the Passes library. Weak, because a program that has
 * codegen linked in may use that library as well. */
__attribute__((weak)) const OptimizationLevel OptimizationLevel::O0 = {0, 0};
