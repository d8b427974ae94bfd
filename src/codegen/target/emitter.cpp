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
#include "codegen/target/function_passes.h"
#include "codegen/target/target.h"

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

/* Remembers which of the passes that LLVM adds is the printer, and lets our manager run those over functions. */
struct list final : legacy::PassManager {
    AsmPrinter *printer = nullptr;
    bool is_among_functions = false;

    void add(Pass *pass) override
    {
        bool is_of_functions = pass->getPassKind() == PT_Function;
        if (is_of_functions && !is_among_functions)
            legacy::PassManager::add(tn__make_function_passes());
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

static bool emit(tn__emitter *&emitter, TargetMachine &machine, Module &module, tn_buffer *out)
{
    size_t cost = tn__llvm_count_instructions(wrap(&module)) + per_module;
    if (!emitter) {
        auto created = std::make_unique<tn__emitter>();
        if (machine.addPassesToEmitFile(created->passes, created->stream, nullptr, CodeGenFileType::ObjectFile))
            return false;
        emitter = created.release();
    }
    module.setDataLayout(machine.createDataLayout());
    emitter->passes.run(module);
    bool filled = tn__buffer_fill(out, emitter->bytes.data(), emitter->bytes.size());
    emitter->left -= std::min(emitter->left, cost);
    if (!emitter->left || !renew(*emitter, machine))
        tn__llvm_emitter_free(&emitter);
    return filled;
}

bool tn__llvm_emit(tn__emitter **kept, LLVMTargetMachineRef machine_ref, LLVMModuleRef module_ref, tn_buffer *out)
{
    TargetMachine &machine = *reinterpret_cast<TargetMachine *>(machine_ref);
    Module &module = *unwrap(module_ref);
    tn__emitter *own = nullptr;
    bool good = emit(any_of(module, leaves_traces) ? own : *kept, machine, module, out);
    tn__llvm_emitter_free(&own);
    return good;
}

void tn__llvm_emitter_free(tn__emitter **kept)
{
    delete *kept;
    *kept = nullptr;
}
