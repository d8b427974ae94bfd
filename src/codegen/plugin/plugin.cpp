/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Passes of ours for LLVM's own tools (make opt-plugin): opt -load-pass-plugin=build/tenon-passes.so -passes=alloc-opt.
 * So one of them can be run, bisected and reduced by these. It is no part of libtenon_codegen.a: LLVM is the tool's. */

#include "codegen/llvm/llvm_compat.h"

#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#if __has_include("llvm/Plugins/PassPlugin.h")
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif

#include "codegen/managed/passes/passes.h"
#include "codegen/pipeline/floats.h"
#include "codegen/pipeline/managed.h"
#include "codegen/target/target.h"

using namespace llvm;

namespace {

/* What the passes would get from a compilation by Tenon. Errors are the context's in the end. */
class session {
    Module &module;
    tn_error err = {};
    tn_compile_options options = {};
    tn_compile_stats stats = {};
    tn__diagnostics diagnostics = {};
    tn__target *target = nullptr;
    tn__gc gc = {};

    void fit()
    {
        if (module.getDataLayoutStr().empty())
            LLVMSetDataLayout(wrap(&module), target->layout);
        if (tn__gc_is_managed(wrap(&module)))
            tn__gc_add_ni(&gc);
        tn__arena_free(&gc.arena);
    }

  public:
    /* `pipeline`: what run_pipeline runs; NULL: single passes, begun. */
    explicit session(Module &module, const char *pipeline = nullptr) : module(module)
    {
        options.size = sizeof options;
        options.verify_ir = 1;
        options.passes = pipeline;
        options.polls = pipeline ? 0 : TN_POLL_ENTRIES | TN_POLL_LOOPS;
        diagnostics.name = module.getModuleIdentifier().c_str();
        diagnostics.module = wrap(&module);
        diagnostics.err = &err;
        gc.module = wrap(&module);
        gc.context = wrap(&module.getContext());
        gc.options = &options;
        gc.diagnostics = &diagnostics;
        gc.stats = &stats;
        gc.writes_types = pipeline != nullptr;
        std::string triple = TN_MODULE_TRIPLE(module).str();
        int code = triple.empty() ? tn__fail(&err, TN_EINVAL,
                                             "%s: the module has no target triple, which Tenon's passes "
                                             "need; opt's -mtriple sets one",
                                             diagnostics.name)
                                  : tn__target_take(&target, &options, triple.c_str(), &err);
        diagnostics.errors += code != 0;
        if (code)
            return;
        gc.machine = target->machine;
        fit();
        if (!pipeline)
            tn__gc_begin(&gc);
    }
    session(const session &) = delete;

    ~session()
    {
        if (gc.builder)
            tn__gc_end(&gc);
        tn__arena_free(&gc.arena);
        tn__target_give(target);
        if (diagnostics.errors)
            module.getContext().emitError(err.text);
    }

    /* NULL: there is no target for the module's triple. */
    tn__gc *passes()
    {
        return gc.builder ? &gc : nullptr;
    }

    void run_pipeline()
    {
        static const tn_compile_observer unobserved = {sizeof unobserved};
        int code = tn__pipeline_check(options.passes, &err);
        if (code)
            diagnostics.errors++;
        else if (target)
            tn__pipeline_run(&gc, tn__gc_is_managed(wrap(&module)), false, &unobserved);
    }

    tn__stages stages()
    {
        tn__stages stages = tn__stages_default(2);
        stages.options |= TN__MANAGED;
        stages.gc = &gc;
        return stages;
    }
};

/* ---- passes over modules: those of the table in managed/passes ---- */

template <size_t number> struct NamedPass : PassInfoMixin<NamedPass<number>> {
    static StringRef name()
    {
        return tn__gc_pass_name(number);
    }

    PreservedAnalyses run(Module &module, ModuleAnalysisManager &)
    {
        static const uint8_t pass = number;
        session session(module);
        if (session.passes())
            tn__gc_run(session.passes(), &pass, 1);
        return PreservedAnalyses::none();
    }
};

template <size_t... numbers> bool add_named(StringRef name, ModulePassManager &manager, std::index_sequence<numbers...>)
{
    return ((name == tn__gc_pass_name(numbers) ? (manager.addPass(NamedPass<numbers>()), true) : false) || ...);
}

/* ---- tenon and tenon<...> ---- */

struct Pipeline : PassInfoMixin<Pipeline> {
    std::string text;

    explicit Pipeline(StringRef text) : text(text)
    {
    }

    PreservedAnalyses run(Module &module, ModuleAnalysisManager &)
    {
        session(module, text.c_str()).run_pipeline();
        return PreservedAnalyses::none();
    }
};

bool add_pipeline(StringRef name, ModulePassManager &manager)
{
    if (name != "tenon" && !(name.starts_with("tenon<") && name.ends_with(">")))
        return false;
    manager.addPass(Pipeline(name));
    return true;
}

/* ---- passes over functions and loops ---- */

template <typename Pass> struct InSession : PassInfoMixin<InSession<Pass>> {
    static StringRef name()
    {
        return Pass::name();
    }

    PreservedAnalyses run(Function &function, FunctionAnalysisManager &analyses)
    {
        session session(*function.getParent());
        return session.passes() ? Pass(session.stages()).run(function, analyses) : PreservedAnalyses::all();
    }

    PreservedAnalyses run(Loop &loop, LoopAnalysisManager &analyses, LoopStandardAnalysisResults &results,
                          LPMUpdater &updater)
    {
        session session(*loop.getHeader()->getModule());
        return session.passes() ? Pass(session.stages()).run(loop, analyses, results, updater)
                                : PreservedAnalyses::all();
    }
};

template <typename Pass, typename Manager> void add(Manager &manager)
{
    manager.addPass(InSession<Pass>());
}

const struct {
    const char *name;
    void (*add)(FunctionPassManager &manager);
} function_passes[] = {
    {"alloc-opt", add<AllocOptPass>},
    {"devirtualize", add<DevirtualizePass>},
    {"propagate-addrspaces", add<PropagateAddrspacesPass>},
    {"simdloop", add<SimdLoopPass>},
    {"muladd", add<MulAddPass>},
    {"demote-float16", add<DemoteFloat16Pass>},
};

bool add_module_pass(StringRef name, ModulePassManager &manager, ArrayRef<PassBuilder::PipelineElement>)
{
    return add_pipeline(name, manager) || add_named(name, manager, std::make_index_sequence<TN__PASSES>());
}

bool add_function_pass(StringRef name, FunctionPassManager &manager, ArrayRef<PassBuilder::PipelineElement>)
{
    for (const auto &row : function_passes)
        if (name == row.name) {
            row.add(manager);
            return true;
        }
    return false;
}

bool add_loop_pass(StringRef name, LoopPassManager &manager, ArrayRef<PassBuilder::PipelineElement>)
{
    if (name != "managed-licm")
        return false;
    add<ManagedLicmPass>(manager);
    return true;
}

void add_passes(PassBuilder &builder)
{
    builder.registerPipelineParsingCallback(add_module_pass);
    builder.registerPipelineParsingCallback(add_function_pass);
    builder.registerPipelineParsingCallback(add_loop_pass);
}

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK __attribute__((visibility("default"))) PassPluginLibraryInfo llvmGetPassPluginInfo()
{
    return {LLVM_PLUGIN_API_VERSION, "tenon", "0.1", add_passes};
}
