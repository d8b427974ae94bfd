/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Copies of other images' bodies and constants, for the optimiser: definitions that are available_externally, so none
 * of them becomes part of the image by itself. Functions that such a copy may reach are opaque: others reach them
 * through their cells (multiversion.h). */

#include "codegen/llvm/llvm_compat.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/ValueHandle.h"
#include "llvm/Linker/Linker.h"

#include "codegen/image/bodies.h"
#include "codegen/llvm/ir.h"
#include "codegen/parts/split.h"
#include "tenon_codegen.h"

using namespace llvm;

bool tn__is_foreign(const GlobalValue &global)
{
    if (auto *function = dyn_cast<Function>(&global))
        return function->hasFnAttribute(TN__FOREIGN);
    auto *variable = dyn_cast<GlobalVariable>(&global);
    return variable && variable->hasAttribute(TN__FOREIGN);
}

/* ---- making them ---- */

void tn__forget(GlobalObject &global)
{
    if (auto *function = dyn_cast<Function>(&global)) {
        function->deleteBody(); /* and its metadata */
        function->setPersonalityFn(nullptr);
        tn__keep_passing_only(*function);
        function->removeFnAttr(TN__FOREIGN);
    } else {
        auto &variable = cast<GlobalVariable>(global);
        variable.setInitializer(nullptr);
        variable.clearMetadata();
        variable.setAttributes(AttributeSet());
    }
    global.setComdat(nullptr);
    global.setLinkage(GlobalValue::ExternalLinkage);
}

/* A name of something else is declared as if it were that. */
static void declare_instead(GlobalValue &global)
{
    GlobalValue *stand_in;
    if (auto *type = dyn_cast<FunctionType>(global.getValueType()))
        stand_in =
            Function::Create(type, GlobalValue::ExternalLinkage, global.getAddressSpace(), "", global.getParent());
    else
        stand_in = new GlobalVariable(*global.getParent(), global.getValueType(), false, GlobalValue::ExternalLinkage,
                                      nullptr, "", nullptr, global.getThreadLocalMode(), global.getAddressSpace());
    stand_in->takeName(&global);
    global.replaceAllUsesWith(stand_in);
    global.eraseFromParent();
}

/* Leaves of a module nothing but definitions, and the private constants that these refer to. */
static void erase_rest(Module &module)
{
    StripDebugInfo(module);
    module.setModuleInlineAsm("");
    for (NamedMDNode &node : make_early_inc_range(module.named_metadata()))
        node.eraseFromParent();
    for (GlobalVariable &variable : make_early_inc_range(module.globals()))
        if (tn__is_llvms(variable)) {
            variable.replaceAllUsesWith(PoisonValue::get(variable.getType()));
            variable.eraseFromParent();
        }
    for (GlobalAlias &alias : make_early_inc_range(module.aliases()))
        declare_instead(alias);
    for (GlobalIFunc &ifunc : make_early_inc_range(module.ifuncs()))
        declare_instead(ifunc);
}

int tn__mv_offer_copies(LLVMModuleRef ref, LLVMModuleRef to, const char *version, const tn__mv_offered *offered,
                        void *context)
{
    Module &module = *unwrap(ref);
    tn__digests digests(version);
    SmallVector<std::pair<GlobalObject *, uint64_t>, 32> candidates;
    SmallPtrSet<const GlobalObject *, 32> taken;
    auto is_there = [&](const GlobalValue *used) {
        StringRef name = used->getName();
        const GlobalValue *known = unwrap(to)->getNamedValue(name);
        return (known && !known->hasLocalLinkage() && !known->hasExternalWeakLinkage()) ||
               offered->has_symbol(context, name.str().c_str());
    };
    for (GlobalObject &global : module.global_objects()) {
        tn__references used;
        uint64_t digest = !tn__is_llvms(global) && tn__may_be_copied(global, used) ? digests.of(global) : 0;
        if (!digest || !all_of(used, is_there))
            continue;
        std::string name = GlobalValue::dropLLVMManglingEscape(global.getName()).str();
        int code =
            offered->has_body(context, name.c_str(), isa<GlobalVariable>(global), global.isWeakForLinker(), digest);
        if (code < 0)
            return code;
        if (code)
            taken.insert(&global);
    }
    erase_rest(module);
    for (GlobalObject &global : module.global_objects()) {
        if (taken.contains(&global)) {
            global.setComdat(nullptr);
            global.setLinkage(GlobalValue::AvailableExternallyLinkage);
            if (auto *function = dyn_cast<Function>(&global))
                function->addFnAttr(TN__FOREIGN);
            else
                cast<GlobalVariable>(global).addAttribute(TN__FOREIGN);
        } else if (!global.hasLocalLinkage() && !tn__is_llvms(global)) {
            tn__forget(global);
        }
    }
    return 0;
}

/* ---- taking them ---- */

static size_t count_foreign(const Module &module)
{
    return (size_t)count_if(module.global_objects(), tn__is_foreign);
}

/* True for resolvers of indirect functions: loaders call them, and not by a cell. */
static bool has_no_cell(const Function &function)
{
    return any_of(function.users(), [](const User *user) { return isa<GlobalIFunc>(user); });
}

static tn__references reachable_copies(const Function &function)
{
    tn__references copies, all = tn__references_of(function);
    for (size_t at = 0; at < all.size(); at++) {
        const auto *object = dyn_cast<GlobalObject>(all[at]);
        bool is_copy = tn__is_foreign(*all[at]);
        if (is_copy)
            copies.insert(all[at]);
        /* Initial values may be read, and bodies that are only copies become parts of their callers. */
        if (object && (is_copy || isa<GlobalVariable>(object) || object->hasAvailableExternallyLinkage())) {
            tn__references more = tn__references_of(*object);
            all.insert(more.begin(), more.end());
        }
    }
    return copies;
}

bool tn__mv_take_copies(LLVMModuleRef ref, const tn_buffer *bitcode, bool *changed)
{
    Module &module = *unwrap(ref);
    size_t before = count_foreign(module);
    SmallVector<WeakTrackingVH, 8> weak;
    StringRef bytes((const char *)bitcode->data, bitcode->size);
    auto read = parseBitcodeFile(MemoryBufferRef(bytes, module.getModuleIdentifier()), module.getContext());
    if (!read) {
        module.getContext().emitError(toString(read.takeError()));
        return false;
    }
    for (GlobalValue &global : module.global_values())
        if (global.hasExternalWeakLinkage())
            weak.emplace_back(&global);
    if (Linker::linkModules(module, std::move(*read), Linker::Flags::LinkOnlyNeeded))
        return false;
    for (Value *value : weak) /* a declaration elsewhere has made it a strong one */
        if (auto *global = dyn_cast_or_null<GlobalValue>(value); global && global->isDeclaration())
            global->setLinkage(GlobalValue::ExternalWeakLinkage);
    *changed |= count_foreign(module) != before;
    return true;
}

bool tn__mv_mark_opaque(LLVMModuleRef ref, tn__mv_visit_copy *visit, void *context)
{
    Module &module = *unwrap(ref);
    size_t number = 0;
    for (const Function &function : module)
        if (tn__is_defined(function) && has_no_cell(function))
            for (const GlobalValue *copy : reachable_copies(function))
                tn__forget(*const_cast<GlobalObject *>(cast<GlobalObject>(copy)));
    for (Function &function : module) {
        if (!tn__is_defined(function))
            continue;
        tn__references copies = reachable_copies(function);
        if (copies.empty())
            continue;
        function.addFnAttr("tenon.mv.opaque", utostr(number));
        for (const GlobalValue *copy : copies) {
            std::string name = GlobalValue::dropLLVMManglingEscape(copy->getName()).str();
            if (!visit(context, number, name.c_str(), isa<GlobalVariable>(copy)))
                return false;
        }
        number++;
    }
    return true;
}

/* ---- what opaque functions share with others ---- */

/* Passes know all uses of what is local, so what they see in an opaque function would reach others by that. */
void tn__mv_share(LLVMModuleRef ref, const char *image, const tn__split *split)
{
    Module &module = *unwrap(ref);
    tn__references shared;
    for (const Function &function : module)
        if (function.hasFnAttribute("tenon.mv.opaque")) {
            tn__references used = tn__references_of(function);
            shared.insert(used.begin(), used.end());
        }
    for (size_t at = 0; at < shared.size(); at++)
        if (isa<GlobalVariable>(shared[at]) || (split && tn__comes_along(*shared[at]))) {
            tn__references more = tn__references_of(*cast<GlobalObject>(shared[at]));
            shared.insert(more.begin(), more.end());
        }
    for (const GlobalValue *global : shared) {
        auto *variable = dyn_cast<GlobalVariable>(global);
        bool is_copied = split ? tn__split_is_copied(split, wrap(global)) : variable && variable->isConstant();
        if (tn__is_defined(*global) && global->hasLocalLinkage() && !is_copied)
            tn__make_hidden(*const_cast<GlobalValue *>(global), image);
    }
}
