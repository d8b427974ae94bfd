/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* From modules to objects. Setting up LLVM's code generation passes takes longer than running them on a small function,
 * so one list of passes emits module after module: when a module is done, LLVM's passes forget what they know about it
 * (llc -compile-twice relies on that as well). Where they do not, the list is not reused. */

#include "codegen/llvm/llvm_compat.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/CodeGen/AsmPrinter.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "base/base.h"
#include "codegen/target/target.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/LegacyPassManagers.h"
#include "llvm/IR/PassTimingInfo.h"
#include "llvm/Support/TimeProfiler.h"
#include "codegen/llvm/arguments.h"

extern "C" {
#include "base/os.h"
}

/* ---- passes over functions ---- */

/* LLVM's manager of function passes looks up for each pass and function what follows from the list of passes alone:
 * which analyses the pass uses, and which ones no later pass needs. For a small function that takes as long as a
 * fifth of the passes do. This manager looks that up once, and otherwise does what LLVM's does (FPPassManager in
 * LegacyPassManager.cpp) without its timers and traces; where these were asked for, LLVM's own loop runs. */

using namespace llvm;

namespace {

struct step {
    FunctionPass *pass;
    SmallVector<Pass *, 4> done; /* analyses that are not used any more, and the pass itself if it is none */
};

class manager final : public FPPassManager {
    const tn_compile_observer *const *observer; /* of what is emitted now; NULL: none */
    SmallVector<step, 0> steps;

    void prepare();
    bool run_steps(Function &function);
    void forget(Pass *pass);
    void report(const Pass &pass, const Function &function, uint64_t begin) const;

  public:
    explicit manager(const tn_compile_observer *const *observer) : observer(observer)
    {
    }
    bool runOnModule(Module &module) override;
};

} // namespace

/* A pass keeps for good the first implementation of each analysis that it is told of (AnalysisResolver), so telling it
 * again changes nothing. */
void manager::prepare()
{
    for (unsigned i = 0; i < getNumContainedPasses(); i++) {
        step next = {getContainedPass(i), {}};
        getTopLevelManager()->collectLastUses(next.done, next.pass);
        steps.push_back(std::move(next));
    }
}

void manager::forget(Pass *pass)
{
    pass->releaseMemory();
    getAvailableAnalysis()->erase(pass->getPassID());
}

void manager::report(const Pass &pass, const Function &function, uint64_t begin) const
{
    std::string name = pass.getPassName().str(), of = function.getName().str();
    tn_pass shown = {};
    shown.size = sizeof shown;
    shown.name = shown.pipeline_name = name.c_str();
    shown.function = of.c_str();
    shown.ns = tn__os_now_ns() - begin;
    (*observer)->after_emit_pass((*observer)->context, &shown);
}

bool manager::run_steps(Function &function)
{
    bool changed = false;
    populateInheritedAnalysis(getTopLevelManager()->activeStack);
    for (const step &at : steps) {
        if (*observer)
            initializeAnalysisImpl(at.pass);
        uint64_t begin = *observer ? tn__os_now_ns() : 0;
        bool changed_here = at.pass->runOnFunction(function);
        if (*observer)
            report(*at.pass, function, begin);
        if (changed_here)
            removeNotPreservedAnalysis(at.pass);
        (*getAvailableAnalysis())[at.pass->getPassID()] = at.pass;
        for (Pass *pass : at.done)
            forget(pass);
        changed |= changed_here;
    }
    return changed;
}

/* The first function is LLVM's, which tells each pass of its analyses, unless there is an observer. */
bool manager::runOnModule(Module &module)
{
    bool changed = false, is_watched = TimePassesIsEnabled || timeTraceProfilerEnabled() ||
                                       *tn__llvm_arguments_taken() || module.shouldEmitInstrCountChangedRemark();
    for (Function &function : module) {
        if (function.isDeclaration())
            continue;
        if (*observer && steps.empty())
            prepare();
        changed |= steps.empty() || is_watched ? runOnFunction(function) : run_steps(function);
        if (steps.empty())
            prepare();
    }
    return changed;
}

namespace {

struct beginning final : FunctionPass {
    static char ID;
    const tn_compile_observer *const *observer;

    explicit beginning(const tn_compile_observer *const *observer) : FunctionPass(ID), observer(observer)
    {
    }

    bool runOnFunction(Function &) override
    {
        return false;
    }

    void getAnalysisUsage(AnalysisUsage &usage) const override
    {
        usage.setPreservesAll();
    }

    /* As FunctionPass does it, with our manager. */
    void assignPassManager(PMStack &stack, PassManagerType) override
    {
        while (stack.top()->getPassManagerType() > PMT_FunctionPassManager)
            stack.pop();
        PMDataManager *outer = stack.top();
        if (outer->getPassManagerType() < PMT_FunctionPassManager) {
            auto *ours = new manager(observer);
            ours->populateInheritedAnalysis(stack);
            outer->getTopLevelManager()->addIndirectPassManager(ours);
            ours->assignPassManager(stack, outer->getPassManagerType());
            stack.push(ours);
        }
        stack.top()->add(this);
    }
};

char beginning::ID;

} // namespace

/* ---- emitting ---- */

using namespace llvm;

/* The instructions that a list emits before it is replaced, which bounds whatever grows in it (tables sized for the
 * largest function, a record of each managed one). Each module counts as some more instructions than it has. */
static const size_t lifetime = 300000, per_module = 100;

namespace {

#if TN_KEEPS_LIBCALLS

/* What the runtime's functions are called depends on the machine alone, and finding out takes as long as selecting
 * instructions for a small function. So what was found for a subtarget stays for the next module. */
struct kept_libcalls final : LibcallLoweringInfoWrapper {
    bool initialized = false;

    bool doInitialization(Module &module) override
    {
        bool changed = !initialized && LibcallLoweringInfoWrapper::doInitialization(module);
        initialized = true;
        return changed;
    }

    void releaseMemory() override
    {
    }
};

#endif

/* Remembers which of the passes that LLVM adds is the printer, and lets our manager run those over functions: what is
 * added to a list after a `beginning`, up to the next pass over modules. */
struct list final : legacy::PassManager {
    AsmPrinter *printer = nullptr;
    const tn_compile_observer *observer = nullptr; /* of what is emitted now, if it watches passes */
    bool is_among_functions = false;

    void add(Pass *pass) override
    {
        bool is_of_functions = pass->getPassKind() == PT_Function;
        if (is_of_functions && !is_among_functions)
            legacy::PassManager::add(new beginning(&observer));
        is_among_functions = is_of_functions || (is_among_functions && pass->getAsImmutablePass());
        if (pass->getPassName().ends_with("Assembly Printer"))
            printer = static_cast<AsmPrinter *>(pass);
        [[maybe_unused]] const void *id = pass->getPassID();
        legacy::PassManager::add(pass);
#if TN_KEEPS_LIBCALLS
        /* After the analysis that knows the machine's functions, or ours would get one that knows none; before LLVM
         * adds its own for the first pass that asks. */
        if (id == &RuntimeLibraryInfoWrapper::ID)
            legacy::PassManager::add(new kept_libcalls);
#endif
    }
};

} // namespace

struct tn__emitter {
    SmallVector<char, 0> bytes; /* before the passes, which hold the stream */
    raw_svector_ostream stream{bytes};
    list passes;
    size_t left = lifetime;
};

/* Passes never forget that there were split stacks, collectors other than ours, stack maps outside of managed code, or
 * checks of HWASan; a module with any of these gets a list of its own. */
static bool leaves_traces(const Function &function)
{
    switch (function.getIntrinsicID()) {
    case Intrinsic::experimental_stackmap:
    case Intrinsic::experimental_patchpoint:
    case Intrinsic::experimental_patchpoint_void:
    case Intrinsic::hwasan_check_memaccess:
    case Intrinsic::hwasan_check_memaccess_shortgranules:
        return true;
    default:
        return (function.hasGC() && function.getGC() != TN__GC_STRATEGY) || function.hasFnAttribute("split-stack");
    }
}

/* What the printer writes to is created anew each time, because RISC-V's streamer keeps pointers into the previous
 * object. */
static bool renew(tn__emitter &emitter, TargetMachine &machine)
{
    AsmPrinter *printer = emitter.passes.printer;
    emitter.bytes.clear();
    if (!printer)
        return false;
    auto streamer = machine.createMCStreamer(emitter.stream, nullptr, CodeGenFileType::ObjectFile, printer->OutContext);
    if (!streamer) {
        consumeError(streamer.takeError());
        return false;
    }
    printer->OutStreamer = std::move(*streamer);
    return true;
}

static bool emit(tn__emitter *&emitter, TargetMachine &machine, Module &module, const tn_compile_observer *observer,
                 tn_buffer *out)
{
    size_t cost = tn__llvm_count_instructions(wrap(&module)) + per_module;
    if (!emitter) {
        auto created = std::make_unique<tn__emitter>();
        if (machine.addPassesToEmitFile(created->passes, created->stream, nullptr, CodeGenFileType::ObjectFile))
            return false;
        emitter = created.release();
    }
    module.setDataLayout(machine.createDataLayout());
    emitter->passes.observer = observer->after_emit_pass ? observer : nullptr;
    emitter->passes.run(module);
    emitter->passes.observer = nullptr;
    bool filled = tn__buffer_fill(out, emitter->bytes.data(), emitter->bytes.size());
    emitter->left -= std::min(emitter->left, cost);
    if (!emitter->left || !renew(*emitter, machine))
        tn__llvm_emitter_free(&emitter);
    return filled;
}

bool tn__llvm_emit(tn__emitter **kept, LLVMTargetMachineRef machine_ref, LLVMModuleRef module_ref,
                   const tn_compile_observer *observer, tn_buffer *out)
{
    TargetMachine &machine = *reinterpret_cast<TargetMachine *>(machine_ref);
    Module &module = *unwrap(module_ref);
    tn__emitter *own = nullptr;
    bool good = emit(any_of(module, leaves_traces) ? own : *kept, machine, module, observer, out);
    tn__llvm_emitter_free(&own);
    return good;
}

void tn__llvm_emitter_free(tn__emitter **kept)
{
    delete *kept;
    *kept = nullptr;
}
