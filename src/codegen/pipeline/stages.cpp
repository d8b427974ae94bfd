/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM's passes by stages (doc/PASSES.md). The order of passes in them follows LLVM's own default
 * pipelines. Early optimisation, loops and scalars are what the inliner runs on each function before it decides about
 * its callers. */

#include "codegen/llvm/ir.h"
#include "codegen/pipeline/rows.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/GlobalsModRef.h"
#include "llvm/Analysis/ProfileSummaryInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/AggressiveInstCombine/AggressiveInstCombine.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/Annotation2Metadata.h"
#include "llvm/Transforms/IPO/ConstantMerge.h"
#include "llvm/Transforms/IPO/DeadArgumentElimination.h"
#include "llvm/Transforms/IPO/ElimAvailExtern.h"
#include "llvm/Transforms/IPO/ForceFunctionAttrs.h"
#include "llvm/Transforms/IPO/FunctionAttrs.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/IPO/GlobalOpt.h"
#include "llvm/Transforms/IPO/InferFunctionAttrs.h"
#include "llvm/Transforms/IPO/SCCP.h"
#include "llvm/Transforms/IPO/StripDeadPrototypes.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/AlignmentFromAssumptions.h"
#include "llvm/Transforms/Scalar/AnnotationRemarks.h"
#include "llvm/Transforms/Scalar/BDCE.h"
#include "llvm/Transforms/Scalar/ConstraintElimination.h"
#include "llvm/Transforms/Scalar/CorrelatedValuePropagation.h"
#include "llvm/Transforms/Scalar/DeadStoreElimination.h"
#include "llvm/Transforms/Scalar/DivRemPairs.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/Float2Int.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/IndVarSimplify.h"
#include "llvm/Transforms/Scalar/InductiveRangeCheckElimination.h"
#include "llvm/Transforms/Scalar/InferAlignment.h"
#include "llvm/Transforms/Scalar/InstSimplifyPass.h"
#include "llvm/Transforms/Scalar/JumpThreading.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopDeletion.h"
#include "llvm/Transforms/Scalar/LoopIdiomRecognize.h"
#include "llvm/Transforms/Scalar/LoopInstSimplify.h"
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
#include "llvm/Transforms/Scalar/WarnMissedTransforms.h"
#include "llvm/Transforms/Utils/LibCallsShrinkWrap.h"
#include "llvm/Transforms/Utils/Mem2Reg.h"
#include "llvm/Transforms/Utils/MoveAutoInit.h"
#include "llvm/Transforms/Vectorize/VectorCombine.h"
#include "codegen/pipeline/analyses.h"
#include "codegen/pipeline/floats.h"
#include "codegen/pipeline/managed.h"
#include "codegen/pipeline/optimizer.h"
#include "codegen/llvm/llvm_compat.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/BasicAliasAnalysis.h"
#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/Analysis/BranchProbabilityInfo.h"
#include "llvm/Analysis/CallGraph.h"
#include "llvm/Analysis/CycleAnalysis.h"
#include "llvm/Analysis/DemandedBits.h"
#include "llvm/Analysis/IVUsers.h"
#include "llvm/Analysis/LazyCallGraph.h"
#include "llvm/Analysis/LazyValueInfo.h"
#include "llvm/Analysis/LoopAccessAnalysis.h"
#include "llvm/Analysis/MemoryDependenceAnalysis.h"
#include "llvm/Analysis/MemorySSA.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/PhiValues.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScopedNoAliasAA.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Analysis/TypeBasedAliasAnalysis.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Passes/OptimizationLevel.h"

/* ---- analyses ---- */

/* The analyses by name, and the ways between their managers (analyses.h). */

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

/* ---- stages ---- */

using namespace llvm;

MARKERS(EarlySimplification)
MARKERS(EarlyOptimization)
MARKERS(LoopOptimization)
MARKERS(LICM)
MARKERS(LoopSimplification)
MARKERS(ScalarOptimization)
MARKERS(Vectorization)
MARKERS(Cleanup)

static SimplifyCFGOptions switches()
{
    return SimplifyCFGOptions().convertSwitchRangeToICmp(true);
}

SimplifyCFGOptions tn__last_simplification()
{
    return switches()
        .forwardSwitchCondToPhi(true)
        .convertSwitchToLookupTable(true)
        .needCanonicalLoops(false)
        .hoistCommonInsts(true)
        .sinkCommonInsts(true);
}

/* ---- early simplification ---- */

static const function_row early_functions[] = {
    PASS(ALL, "lower-expect", LowerExpectIntrinsicPass()),
    OPTIONAL(O23, TN__MANAGED, "propagate-addrspaces", PropagateAddrspacesPass(stages)),
    PASS(ALL, "simplifycfg", SimplifyCFGPass()),
    PASS(ALL, "sroa", SROAPass(SROAOptions::ModifyCFG)),
    PASS(ALL, "early-cse", EarlyCSEPass()),
};

static const function_row before_inlining[] = {
    PASS(ALL, "mem2reg", PromotePass()),
    PASS(ALL, "instcombine", InstCombinePass()),
    PASS(ALL, "simplifycfg", SimplifyCFGPass(switches())),
    OPTIONAL(ALL, TN__MANAGED, "devirtualize", DevirtualizePass(stages)),
};

static const module_row early_simplification[] = {
    PASS(ALL, "forceattrs", ForceFunctionAttrsPass()),
    PASS(ALL, "annotation2metadata", Annotation2MetadataPass()),
    PASS(ALL, "inferattrs", InferFunctionAttrsPass()),
    FUNCTIONS(ALL, early_functions),
    PASS(O23, "ipsccp", IPSCCPPass()),
    PASS(ALL, "globalopt", GlobalOptPass()),
    FUNCTIONS(O23, before_inlining),
};

/* ---- early optimisation ---- */

static const function_row early_optimization[] = {
    PASS(ALL, "sroa", SROAPass(SROAOptions::ModifyCFG)),
    PASS(ALL, "early-cse<memssa>", EarlyCSEPass(/*UseMemorySSA=*/true)),
    PASS(O23, "jump-threading", JumpThreadingPass()),
    PASS(O23, "correlated-propagation", CorrelatedValuePropagationPass()),
    PASS(ALL, "simplifycfg", SimplifyCFGPass(switches())),
    PASS(ALL, "instcombine", InstCombinePass()),
    PASS(O23, "aggressive-instcombine", AggressiveInstCombinePass()),
    PASS(ALL, "libcalls-shrinkwrap", LibCallsShrinkWrapPass()),
    PASS(O23, "tailcallelim", TailCallElimPass()),
    PASS(ALL, "simplifycfg", SimplifyCFGPass(switches())),
    PASS(ALL, "reassociate", ReassociatePass()),
    PASS(O23, "constraint-elimination", ConstraintEliminationPass()),
    OPTIONAL(O23, TN__MANAGED, "alloc-opt", AllocOptPass(stages)),
    OPTIONAL(O23, TN__MANAGED, "devirtualize", DevirtualizePass(stages)),
};

/* ---- loops ---- */

static const loop_row move_regions[] = {
    OPTIONAL(ALL, TN__MANAGED, "managed-licm", ManagedLicmPass(stages)),
};

static const loop_row rotate_and_hoist[] = {
    PASS(ALL, "loop-instsimplify", LoopInstSimplifyPass()),
    PASS(ALL, "loop-simplifycfg", LoopSimplifyCFGPass()),
    MARK(BeforeLICM),
    PASS(ALL, "licm<no-allowspeculation>",
         LICMPass(LICMOptions(SetLicmMssaOptCap, SetLicmMssaNoAccForPromotionCap, /*AllowSpeculation=*/false))),
    PASS(ALL, "loop-rotate", LoopRotatePass()),
    PASS(ALL, "licm", LICMPass(LICMOptions())),
    OPTIONAL(O23, TN__MANAGED, "managed-licm", ManagedLicmPass(stages)),
    MARK(AfterLICM),
    PASS(ALL, "simple-loop-unswitch", SimpleLoopUnswitchPass(/*NonTrivial=*/level == 3)),
};

static const loop_row reshape_loops[] = {
    MARK(BeforeLoopSimplification),
    PASS(ALL, "loop-idiom", LoopIdiomRecognizePass()),
    PASS(ALL, "indvars", IndVarSimplifyPass()),
    PASS(ALL, "loop-deletion", LoopDeletionPass()),
    PASS(ALL, "loop-unroll-full", LoopFullUnrollPass(level)),
    MARK(AfterLoopSimplification),
};

static const function_row loop_optimization[] = {
    OPTIONAL(ALL, TN__SIMDLOOP, "simdloop", SimdLoopPass(stages)),
    LOOPS(O23, NO_MEMORY_SSA, move_regions),
    LOOPS(ALL, MEMORY_SSA, rotate_and_hoist),
    PASS(O23, "irce", IRCEPass()),
    PASS(ALL, "simplifycfg", SimplifyCFGPass(switches())),
    PASS(ALL, "instcombine", InstCombinePass()),
    LOOPS(ALL, NO_MEMORY_SSA, reshape_loops),
};

/* ---- scalars ---- */

static const loop_row hoist[] = {
    PASS(ALL, "licm", LICMPass(LICMOptions())),
};

static const function_row scalar_optimization[] = {
    OPTIONAL(ALL, TN__MANAGED, "alloc-opt", AllocOptPass(stages)),
    PASS(ALL, "sroa", SROAPass(SROAOptions::ModifyCFG)),
    PASS(O23, "vector-combine<early>", VectorCombinePass(/*TryEarlyFoldsOnly=*/true)),
    PASS(O23, "mldst-motion", MergedLoadStoreMotionPass()),
    PASS(O23, "gvn", GVNPass()),
    PASS(O1, "memcpyopt", MemCpyOptPass()),
    PASS(ALL, "sccp", SCCPPass()),
    PASS(ALL, "bdce", BDCEPass()),
    PASS(ALL, "instcombine", InstCombinePass()),
    PASS(O23, "irce", IRCEPass()),
    PASS(O23, "jump-threading", JumpThreadingPass()),
    PASS(O23, "correlated-propagation", CorrelatedValuePropagationPass()),
    PASS(ALL, "adce", ADCEPass()),
    PASS(O23, "memcpyopt", MemCpyOptPass()),
    PASS(O23, "dse", DSEPass()),
    PASS(O23, "move-auto-init", MoveAutoInitPass()),
    LOOPS(O23, MEMORY_SSA, hoist),
    PASS(O1, "simplifycfg", SimplifyCFGPass(switches())),
    PASS(O23, "simplifycfg", SimplifyCFGPass(switches().hoistCommonInsts(true).sinkCommonInsts(true))),
    OPTIONAL(O23, TN__MANAGED, "alloc-opt", AllocOptPass(stages)),
    PASS(ALL, "instcombine", InstCombinePass()),
};

/* ---- what the inliner runs on each function ---- */

static const function_row simplification[] = {
    STAGE(TN__EARLY_OPTIMIZATIONS, "early-optimization", EarlyOptimization, early_optimization),
    STAGE(TN__LOOP_OPTIMIZATIONS, "loop-optimization", LoopOptimization, loop_optimization),
    STAGE(TN__SCALAR_OPTIMIZATIONS, "scalar-optimization", ScalarOptimization, scalar_optimization),
};

FunctionPassManager tn__simplification(const tn__stages &stages)
{
    return build(simplification, stages);
}

/* ---- vectors ---- */

static const loop_row rotate_for_vectors[] = {
    PASS(ALL, "loop-rotate", LoopRotatePass()),
    PASS(ALL, "loop-deletion", LoopDeletionPass()),
};

static const function_row vectorization[] = {
    PASS(ALL, "float2int", Float2IntPass()),
    PASS(ALL, "lower-constant-intrinsics", LowerConstantIntrinsicsPass()),
    LOOPS(ALL, NO_MEMORY_SSA, rotate_for_vectors),
    {O23, 0, NULL, NULL,
     [](FunctionPassManager &manager, const tn__stages &stages) { add_rows(manager, tn__vectorizer_rows, stages); }},
    PASS(O23, "vector-combine", VectorCombinePass()),
    PASS(ALL, "instcombine", InstCombinePass()),
    PASS(ALL, "loop-unroll", LoopUnrollPass(LoopUnrollOptions(level))),
    PASS(ALL, "sroa", SROAPass(SROAOptions::PreserveCFG)),
    PASS(ALL, "infer-alignment", InferAlignmentPass()),
    PASS(ALL, "instcombine", InstCombinePass()),
    LOOPS(ALL, MEMORY_SSA, hoist),
};

/* ---- cleanup ---- */

static const function_row cleanup[] = {
    PASS(ALL, "alignment-from-assumptions", AlignmentFromAssumptionsPass()),
    PASS(ALL, "loop-sink", LoopSinkPass()),
    PASS(ALL, "instsimplify", InstSimplifyPass()),
    PASS(ALL, "div-rem-pairs", DivRemPairsPass()),
    PASS(ALL, "tailcallelim", TailCallElimPass()),
    PASS(ALL, "simplifycfg",
         SimplifyCFGPass(
             tn__last_simplification().hoistCommonInsts(false).sinkCommonInsts(false).speculateUnpredictables(true))),
    OPTIONAL(O23, TN__MULADD, "muladd", MulAddPass(stages)),
    OPTIONAL(ALL, TN__DEMOTE_FLOAT16, "demote-float16", DemoteFloat16Pass(stages)),
    OPTIONAL(ALL, TN__WARN_MISSED, "transform-warning", WarnMissedTransformationsPass()),
    PASS(O0 | ALL, "annotation-remarks", AnnotationRemarksPass()),
};

static const function_row finish_functions[] = {
    STAGE(TN__VECTOR_PIPELINE, "vectorization", Vectorization, vectorization),
    STAGE(TN__CLEANUP, "cleanup", Cleanup, cleanup),
};

/* ---- all stages ---- */

static const module_row stages_of_llvm[] = {
    STAGE(TN__EARLY_SIMPLIFICATIONS, "early-simplification", EarlySimplification, early_simplification),
    OPTIONAL(O0 | ALL, TN__ALWAYS_INLINE, "always-inline", AlwaysInlinerPass()),
    PASS(O23, NULL, RequireAnalysisPass<GlobalsAA, Module>()),
    PASS(O23, NULL, RequireAnalysisPass<ProfileSummaryAnalysis, Module>()),
    {O23, 0, NULL, NULL,
     [](ModulePassManager &manager, const tn__stages &stages) { add_rows(manager, tn__inliner_rows, stages); }},
    FUNCTIONS(O1, simplification),
    PASS(O23, "deadargelim", DeadArgumentEliminationPass()),
    PASS(O23, "globalopt", GlobalOptPass()),
    PASS(ALL, "globaldce", GlobalDCEPass()),
    OPTIONAL(O0 | ALL, TN__STRIP_PROTOTYPES, "strip-dead-prototypes", StripDeadPrototypesPass()),
    PASS(ALL, "elim-avail-extern", EliminateAvailableExternallyPass()),
    PASS(O23, "rpo-function-attrs", ReversePostOrderFunctionAttrsPass()),
    PASS(O23, "recompute-globalsaa", RecomputeGlobalsAAPass()),
    FUNCTIONS(ALL, finish_functions),
    PASS(ALL, "globaldce", GlobalDCEPass()),
    PASS(ALL, "constmerge", ConstantMergePass()),
    {O0 | ALL, 0, NULL, NULL,
     [](ModulePassManager &manager, const tn__stages &stages) { add_rows(manager, tn__sanitizer_rows, stages); }},
};

/* ---- passes by name ---- */

static ModulePassManager as_module_pass(ModulePassManager &&manager)
{
    return std::move(manager);
}

static ModulePassManager as_module_pass(FunctionPassManager &&manager)
{
    ModulePassManager whole;
    whole.addPass(createModuleToFunctionPassAdaptor(std::move(manager)));
    return whole;
}

static ModulePassManager as_module_pass(LoopPassManager &&manager)
{
    FunctionPassManager functions;
    functions.addPass(TN_LOOP_ADAPTOR(std::move(manager), MEMORY_SSA));
    return as_module_pass(std::move(functions));
}

/* Calls `visit` with each table in the order of the stages, until it returns true. */
template <typename Visit> static bool each_table(Visit visit)
{
    return visit(ArrayRef(stages_of_llvm)) || visit(ArrayRef(early_simplification)) ||
           visit(ArrayRef(early_functions)) || visit(ArrayRef(before_inlining)) || visit(tn__inliner_rows) ||
           visit(ArrayRef(simplification)) || visit(ArrayRef(early_optimization)) ||
           visit(ArrayRef(loop_optimization)) || visit(ArrayRef(move_regions)) || visit(ArrayRef(rotate_and_hoist)) ||
           visit(ArrayRef(reshape_loops)) || visit(ArrayRef(scalar_optimization)) ||
           visit(ArrayRef(finish_functions)) || visit(ArrayRef(vectorization)) || visit(tn__vectorizer_rows) ||
           visit(ArrayRef(cleanup)) || visit(tn__sanitizer_rows);
}

/* Calls `visit` with each row that has a name, until it returns true. */
template <typename Visit> static bool each_row(Visit visit)
{
    return each_table([&](auto table) { return any_of(table, [&](auto &row) { return row.name && visit(row); }); });
}

bool tn__llvm_has_pass(const char *name, size_t length)
{
    return each_row([&](auto &row) { return StringRef(name, length) == row.name; });
}

void tn__llvm_each_pass(void (*visit)(void *context, const char *name), void *context)
{
    each_row([&](auto &row) {
        visit(context, row.name);
        return false;
    });
}

template <typename Manager> static ModulePassManager make_pass(const row<Manager> &row, const tn__stages &stages)
{
    Manager manager;
    row.add(manager, stages);
    return as_module_pass(std::move(manager));
}

/* ---- running ---- */

/* Without what is in angle brackets: passes of a class are told apart by their order alone. */
static void name_classes(PassInstrumentationCallbacks &callbacks)
{
    each_row([&](auto &row) {
        callbacks.addClassToPassName(row.class_name({}), StringRef(row.name).split('<').first);
        return false;
    });
}

static void run(Module &module, TargetMachine &machine, ModulePassManager &&manager, tn__watch &watch)
{
    if (watch.is_observed())
        name_classes(watch.callbacks);
    tn__analyses analyses(module, machine, watch.callbacks);
    manager.run(module, analyses.modules);
}

void tn__llvm_run_pass(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *name, size_t length,
                       const tn__stages *stages, tn__watch *watch)
{
    each_row([&](auto &row) {
        if (StringRef(name, length) != row.name)
            return false;
        run(*unwrap(module), *reinterpret_cast<TargetMachine *>(machine), make_pass(row, *stages), *watch);
        return true;
    });
}

/* There is work at level 0, too: what must be inlined may have no other definition (C++ templates declared extern). */
static bool has_work(const Module &module, const tn__stages &stages, const tn__watch &watch)
{
    return stages.level > 0 || stages.options & TN__STRIP_PROTOTYPES || watch.is_observed() ||
           any_of(module, [](const Function &function) {
               return !function.isDeclaration() && function.hasFnAttribute(Attribute::AlwaysInline);
           });
}

static void ask_for_size(Module &module, const tn__stages &stages)
{
    if (stages.options & (TN__OPT_SIZE | TN__MIN_SIZE))
        for (Function &function : module)
            if (!function.isDeclaration())
                tn__ask_for_size(function, stages.options & TN__MIN_SIZE);
}

bool tn__llvm_run_stages(LLVMModuleRef module, LLVMTargetMachineRef machine, const tn__stages *stages, tn__watch *watch)
{
    ask_for_size(*unwrap(module), *stages);
    bool sanitized = tn__choose_sanitized(*unwrap(module), *stages);
    if (!sanitized && !has_work(*unwrap(module), *stages, *watch))
        return false;
    run(*unwrap(module), *reinterpret_cast<TargetMachine *>(machine), build(stages_of_llvm, *stages), *watch);
    return true;
}
