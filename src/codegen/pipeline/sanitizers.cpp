/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM's sanitizers. Functions are chosen before optimisation, which has to know
 * them, and instrumented after it. Managed functions are left alone: AddressSanitizer moves variables in which the
 * stack map names references, and both it and ThreadSanitizer make pointers in space 0 of those to objects. */

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/StackSafetyAnalysis.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Instrumentation/AddressSanitizer.h"
#include "llvm/Transforms/Instrumentation/MemorySanitizer.h"
#include "llvm/Transforms/Instrumentation/ThreadSanitizer.h"

#include "codegen/managed/passes/passes.h"
#include "codegen/pipeline/optimizer.h"
#include "codegen/pipeline/rows.h"

using namespace llvm;

namespace {

struct sanitizer {
    const char *option;
    unsigned everywhere; /* TN__..., with which all functions are instrumented */
    Attribute::AttrKind attribute;
    const char *init; /* of the runtime; IR that refers to it was instrumented before */
    void (*run)(Module &module, ModuleAnalysisManager &analyses);
};

void run_memory(Module &module, ModuleAnalysisManager &analyses)
{
    MemorySanitizerPass({}).run(module, analyses);
}

/* Without sections that linkers collect, and without symbols for each variable, which a library would have to promise:
 * an initialiser of the module registers its variables, a finaliser withdraws them. */
void run_address(Module &module, ModuleAnalysisManager &analyses)
{
    AddressSanitizerOptions options;
    options.UseAfterScope = true;
    AddressSanitizerPass(options, /*UseGlobalGC=*/false, /*UseOdrIndicator=*/false).run(module, analyses);
}

void run_thread(Module &module, ModuleAnalysisManager &analyses)
{
    auto &functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
    for (Function &function : module)
        if (!function.isDeclaration() && function.hasFnAttribute(Attribute::SanitizeThread))
            ThreadSanitizerPass().run(function, functions);
    ModuleThreadSanitizerPass().run(module, analyses);
}

const sanitizer address = {"sanitize_address", TN__ADDRESS_EVERYWHERE, Attribute::SanitizeAddress, "__asan_init",
                           run_address};
const sanitizer memory = {"sanitize_memory", TN__MEMORY_EVERYWHERE, Attribute::SanitizeMemory, "__msan_init",
                          run_memory};
const sanitizer thread = {"sanitize_thread", TN__THREAD_EVERYWHERE, Attribute::SanitizeThread, "__tsan_init",
                          run_thread};
const sanitizer *const sanitizers[] = {&address, &memory, &thread};

bool is_instrumented(const Module &module, const sanitizer &s)
{
    return module.getFunction(s.init) != nullptr;
}

bool is_managed(Function &function)
{
    return tn__holds_managed(wrap(&function));
}

bool may_be_instrumented(const Function &function)
{
    return !function.isDeclaration() && !function.hasFnAttribute(Attribute::Naked) &&
           !function.hasFnAttribute(Attribute::DisableSanitizerInstrumentation);
}

bool has_chosen(const Module &module, const sanitizer &s)
{
    return any_of(module, [&](const Function &function) {
        return !function.isDeclaration() && function.hasFnAttribute(s.attribute);
    });
}

/* True if there are functions to instrument, or variables. */
bool choose(Module &module, const tn__stages &stages, const sanitizer &s)
{
    bool everywhere = stages.options & s.everywhere;
    if (is_instrumented(module, s))
        return false;
    for (Function &function : module)
        if (everywhere && may_be_instrumented(function))
            function.addFnAttr(s.attribute);
    return everywhere || has_chosen(module, s);
}

/* Memory that code without MemorySanitizer writes, it takes for uninitialised. */
bool refuses_managed(Module &module, const tn__stages &stages)
{
    if (!(stages.options & memory.everywhere) || none_of(module, is_managed))
        return false;
    tn__diagnostics_report(stages.gc->diagnostics, nullptr, 0, 0,
                           "sanitize_memory: the module has managed code, which cannot be instrumented");
    return true;
}

/* Calls of the runtime are no safepoints. */
void mark_runtime(Module &module)
{
    static const char *const prefixes[] = {"__asan_", "__msan_", "__tsan_", "__sanitizer_"};
    for (Function &function : module)
        if (function.isDeclaration() &&
            any_of(prefixes, [&](const char *prefix) { return function.getName().starts_with(prefix); }))
            function.addFnAttr("gc-leaf-function");
}

template <const sanitizer &s> class SanitizerPass : public PassInfoMixin<SanitizerPass<s>> {
    bool everywhere;

  public:
    explicit SanitizerPass(const tn__stages &stages) : everywhere(stages.options & s.everywhere)
    {
    }

    static StringRef name()
    {
        return s.option;
    }

    PreservedAnalyses run(Module &module, ModuleAnalysisManager &analyses)
    {
        for (Function &function : module)
            if (function.hasFnAttribute(s.attribute) && is_managed(function))
                function.removeFnAttr(s.attribute);
        if (is_instrumented(module, s) || !(everywhere || has_chosen(module, s)))
            return PreservedAnalyses::all();
        s.run(module, analyses);
        mark_runtime(module);
        return PreservedAnalyses::none();
    }
};

} // namespace

static const module_row rows[] = {
    OPTIONAL(O0 | ALL, TN__SANITIZE_ADDRESS, "asan", SanitizerPass<address>(stages)),
    OPTIONAL(O0 | ALL, TN__SANITIZE_MEMORY, "msan", SanitizerPass<memory>(stages)),
    OPTIONAL(O0 | ALL, TN__SANITIZE_THREAD, "tsan", SanitizerPass<thread>(stages)),
};
const ArrayRef<module_row> tn__sanitizer_rows = rows;

bool tn__choose_sanitized(Module &module, const tn__stages &stages)
{
    bool any = false;
    if (refuses_managed(module, stages))
        return false;
    for (const sanitizer *s : sanitizers)
        any |= choose(module, stages, *s);
    return any;
}

void tn__provide_sanitizers(ModuleAnalysisManager &modules, FunctionAnalysisManager &functions)
{
    modules.registerPass([] { return StackSafetyGlobalAnalysis(); });
    functions.registerPass([] { return StackSafetyAnalysis(); });
}
