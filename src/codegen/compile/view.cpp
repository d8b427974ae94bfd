/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* One function out of a module. It is kept where all of the module is optimised, and the rest is taken away before
 * machine code is made. */

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/Module.h"

#include "codegen/compile/view.h"

using namespace llvm;

/* ---- taking the rest away ---- */

/* Aliases and indirect functions: what they stand for may be gone. */
static void declare_instead(Module &module, GlobalValue &value)
{
    GlobalValue *declared;
    if (auto *type = dyn_cast<FunctionType>(value.getValueType()))
        declared = Function::Create(type, GlobalValue::ExternalLinkage, value.getAddressSpace(), "", &module);
    else
        declared = new GlobalVariable(module, value.getValueType(), false, GlobalValue::ExternalLinkage, nullptr, "",
                                      nullptr, value.getThreadLocalMode(), value.getAddressSpace());
    declared->takeName(&value);
    value.replaceAllUsesWith(declared);
    value.eraseFromParent();
}

static void declare_variable(GlobalVariable &variable)
{
    variable.setInitializer(nullptr);
    variable.setLinkage(GlobalValue::ExternalLinkage);
    variable.setComdat(nullptr);
}

template <typename List> static bool erase_unused(List &&values, const Function *kept)
{
    bool erased = false;
    for (GlobalValue &value : make_early_inc_range(values)) {
        value.removeDeadConstantUsers();
        if (&value == kept || !value.use_empty() || !(value.isDeclaration() || value.hasLocalLinkage()))
            continue;
        value.eraseFromParent();
        erased = true;
    }
    return erased;
}

static void keep_only(Module &module, Function &kept)
{
    for (GlobalVariable &variable : make_early_inc_range(module.globals()))
        if (variable.hasAppendingLinkage())
            variable.eraseFromParent();
        else if (!variable.isDeclaration() && !variable.hasLocalLinkage())
            declare_variable(variable);
    for (GlobalAlias &alias : make_early_inc_range(module.aliases()))
        declare_instead(module, alias);
    for (GlobalIFunc &ifunc : make_early_inc_range(module.ifuncs()))
        declare_instead(module, ifunc);
    for (Function &function : module)
        if (&function != &kept && !function.isDeclaration()) {
            function.deleteBody();
            function.setComdat(nullptr);
        }
    while (erase_unused(module.globals(), &kept) | erase_unused(module.functions(), &kept)) /* both, each time */
        ;
}

static void drop_names(Function &function)
{
    for (Argument &argument : function.args())
        argument.setName("");
    for (BasicBlock &block : function) {
        block.setName("");
        for (Instruction &instruction : block)
            instruction.setName("");
    }
}

/* ---- the hook ---- */

static Function *find(Module &module, tn__view &view, tn_error *err)
{
    Function *function = module.getFunction(view.function);
    if (function && !function->isDeclaration())
        return function;
    view.is_undefined = true;
    tn__fail(err, TN_ECOMPILE, "%s: the module defines no function '%s'", module.getModuleIdentifier().c_str(),
             view.function);
    return nullptr;
}

/* An internal function is kept also if all its callers have it inlined. */
static int begin(Module &module, tn__view &view, tn_error *err)
{
    if (view.no_debug_info)
        StripDebugInfo(module);
    if (!view.function)
        return 0;
    Function *function = find(module, view, err);
    if (!function)
        return TN_ECOMPILE;
    if (function->hasLocalLinkage() || function->isDiscardableIfUnused())
        function->setLinkage(GlobalValue::ExternalLinkage);
    return 0;
}

static int end(Module &module, tn__view &view, tn_error *err)
{
    if (view.no_names)
        for (Function &function : module)
            drop_names(function);
    Function *function = view.function ? find(module, view, err) : nullptr;
    if (function)
        keep_only(module, *function);
    return function || !view.function ? 0 : TN_ECOMPILE;
}

int tn__view_hook(void *context, enum tn_hook when, void *llvm_module, struct tn_error *err)
{
    auto &view = *static_cast<tn__view *>(context);
    Module &module = *unwrap(static_cast<LLVMModuleRef>(llvm_module));
    bool has_client = view.client && view.client->hook;
    int code = has_client ? view.client->hook(view.client->hook_context, when, llvm_module, err) : 0;
    view.was_called = true;
    if (code)
        return code;
    return when == TN_HOOK_BEGIN ? begin(module, view, err) : when == TN_HOOK_OPTIMIZED ? end(module, view, err) : 0;
}
