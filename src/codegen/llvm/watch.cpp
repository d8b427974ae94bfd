/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Reporting passes to an observer, see watch.h. */

#include "codegen/llvm/watch.h"

#include "llvm/Analysis/LazyCallGraph.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

#include "codegen/llvm/llvm.h"

extern "C" {
#include "base/os.h"
}

using namespace llvm;

/* Passes that only run others are not reported. */
static bool is_scaffold(StringRef name)
{
    static const char *const kinds[] = {"PassManager",           "PassAdaptor",           "AnalysisManagerProxy",
                                        "WrapperPass",           "DevirtSCCRepeatedPass", "RequireAnalysisPass",
                                        "InvalidateAnalysisPass"};
    return any_of(kinds, [name](StringRef kind) { return name.contains(kind); });
}

static const Function *function_of(const Any &unit)
{
    if (auto *function = any_cast<const Function *>(&unit))
        return *function;
    if (auto *loop = any_cast<const Loop *>(&unit))
        return (*loop)->getHeader()->getParent();
    if (auto *component = any_cast<const LazyCallGraph::SCC *>(&unit); component && (*component)->size() == 1)
        return &(*component)->begin()->getFunction();
    return nullptr;
}

static const Module *module_of(const Any &unit)
{
    if (auto *module = any_cast<const Module *>(&unit))
        return *module;
    if (auto *component = any_cast<const LazyCallGraph::SCC *>(&unit))
        return (*component)->begin()->getFunction().getParent();
    const Function *function = function_of(unit);
    return function ? function->getParent() : nullptr;
}

tn_pass tn__watch::describe(StringRef name, const Any *unit)
{
    text = name.str(); /* LLVM's is a part of a longer literal */
    const Function *function = unit ? function_of(*unit) : nullptr;
    tn_pass pass = {};
    pass.size = sizeof pass;
    pass.name = text.c_str();
    pass.function = function ? function->getName().data() : nullptr;
    StringRef alias = callbacks.getPassNameForClassName(name);
    pass.pipeline_name = alias.empty() ? pass.name : alias.data(); /* of literals */
    pass.unit = unit;
    return pass;
}

bool tn__watch::announce(StringRef name, const Any &unit)
{
    if (is_scaffold(name) || !observer.before_pass)
        return true;
    tn_pass pass = describe(name, &unit);
    if (observer.before_pass(observer.context, &pass) != 0)
        stopped = true;
    return !stopped;
}

bool tn__watch::may_run(StringRef name, const Any &unit)
{
    if (stopped || !announce(name, unit))
        return false;
    announced = true;
    return true;
}

void tn__watch::begin(StringRef name, const Any &unit)
{
    if (!announced && !stopped)
        announce(name, unit);
    announced = false;
    begun.push_back(tn__os_now_ns());
}

void tn__watch::end(StringRef name, const Any *unit)
{
    uint64_t ns = tn__os_now_ns() - begun.back();
    begun.pop_back();
    if (is_scaffold(name) || !observer.after_pass)
        return;
    tn_pass pass = describe(name, unit);
    pass.ns = ns;
    observer.after_pass(observer.context, &pass);
}

/* Functions marked optnone are left alone: in LLVM, too, that is not the pass managers' doing but a callback's. */
static bool may_optimize(const Any &unit)
{
    bool is_part = any_cast<const Function *>(&unit) || any_cast<const Loop *>(&unit);
    return !is_part || !function_of(unit)->hasOptNone();
}

bool tn__watch::is_observed() const
{
    return observer.before_pass || observer.after_pass;
}

tn__watch::tn__watch(const tn_compile_observer &observer) : observer(observer)
{
    callbacks.registerShouldRunOptionalPassCallback([](StringRef, Any unit) { return may_optimize(unit); });
    if (!is_observed())
        return;
    callbacks.registerShouldRunOptionalPassCallback([this](StringRef name, Any unit) { return may_run(name, unit); });
    callbacks.registerBeforeNonSkippedPassCallback([this](StringRef name, Any unit) { begin(name, unit); });
    callbacks.registerAfterPassCallback(
        [this](StringRef name, Any unit, const PreservedAnalyses &) { end(name, &unit); });
    callbacks.registerAfterPassInvalidatedCallback(
        [this](StringRef name, const PreservedAnalyses &) { end(name, nullptr); });
}

tn__watch *tn__watch_create(const tn_compile_observer *observer)
{
    return new tn__watch(*observer);
}

void tn__watch_destroy(tn__watch *watch)
{
    delete watch;
}

bool tn__watch_is_observed(const tn__watch *watch)
{
    return watch->is_observed();
}

bool tn__watch_begin(tn__watch *watch, const char *pass, LLVMModuleRef module)
{
    Any unit = static_cast<const Module *>(unwrap(module));
    if (!watch->may_run(pass, unit))
        return false;
    watch->begin(pass, unit);
    return true;
}

void tn__watch_end(tn__watch *watch, const char *pass, LLVMModuleRef module)
{
    Any unit = static_cast<const Module *>(unwrap(module));
    watch->end(pass, &unit);
}

int tn_pass_text(const tn_pass *pass, tn_buffer *out, tn_error *err)
{
    if (!pass || !out)
        return tn__no_argument(err);
    *out = {};
    auto *unit = static_cast<const Any *>(pass->unit);
    if (!unit)
        return tn__fail(err, TN_EINVAL, "pass %s has removed what it worked on", pass->name);
    std::string text;
    raw_string_ostream stream(text);
    if (const Function *function = function_of(*unit))
        function->print(stream);
    else if (const Module *module = module_of(*unit))
        module->print(stream, nullptr);
    return tn__buffer_fill(out, text.data(), text.size()) ? 0
                                                          : tn__fail(err, TN_ENOMEM, "no memory for the text of IR");
}
