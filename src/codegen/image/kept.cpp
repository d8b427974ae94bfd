/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The IR of opaque functions, as it is before optimisation, for those that become stale (doc/PACKAGES.md, "Stale
 * functions"). Each is a module of its own that only declares what the function shares with the image or takes from
 * others: so code that is made of it later uses the image's variables, and knows nothing of other images. */

#include "codegen/llvm/llvm_compat.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/ReplaceConstant.h"

#include "base/shown_name.h"
#include "codegen/image/bodies.h"
#include "codegen/llvm/ir.h"
#include "codegen/llvm/llvm.h"
#include "codegen/managed/ir/saved.h"
#include "codegen/parts/split.h"

using namespace llvm;

static bool is_thread_local(const GlobalValue *global)
{
    return global->isThreadLocal();
}

/* ---- which functions ---- */

/* Callees that have to be inlined come along. */
bool tn__comes_along(const GlobalValue &global)
{
    auto *function = dyn_cast<Function>(&global);
    return function && !function->isDeclaration() && function->hasFnAttribute(Attribute::AlwaysInline) &&
           !tn__is_foreign(*function);
}

static tn__references named_by(const Function &function)
{
    tn__references all = tn__references_of(function);
    for (size_t at = 0; at < all.size(); at++)
        if (tn__comes_along(*all[at])) {
            tn__references more = tn__references_of(*cast<Function>(all[at]));
            all.insert(more.begin(), more.end());
        }
    return all;
}

/* Labels in variables of the image are those of the code that it has. */
static bool knows_labels(const Function &function)
{
    bool hands_out = any_of(function, [](const BasicBlock &block) {
        return block.hasAddressTaken() &&
               !all_of(BlockAddress::lookup(&block)->users(), [](const User *user) { return isa<Instruction>(user); });
    });
    return hands_out || any_of(instructions(function), [&](const Instruction &instruction) {
               return any_of(instruction.operands(), [&](const Use &use) {
                   auto *label = dyn_cast<BlockAddress>(use);
                   return label && label->getFunction() != &function;
               });
           });
}

/* A variable of a thread is reached through a function of the image. */
static bool has_accessor(const GlobalValue *global)
{
    return !is_thread_local(global) || isa<GlobalVariable>(global);
}

static bool may_keep(const Function &function)
{
    tn__saved_references unused;
    return function.hasFnAttribute("tenon.mv.opaque") && !knows_labels(function) &&
           tn__gc_saved_references(wrap(&function), &unused) && all_of(named_by(function), has_accessor);
}

/* ---- before functions get versions ---- */

/* A function that is not cloned: it has one version in any case. */
static void make_accessor(GlobalVariable &variable, const std::string &name)
{
    Module &module = *variable.getParent();
    auto *function =
        Function::Create(FunctionType::get(variable.getType(), false), GlobalValue::ExternalLinkage, name, &module);
    function->setVisibility(GlobalValue::HiddenVisibility);
    function->addFnAttr(Attribute::NoInline);
    function->addFnAttr(Attribute::OptimizeNone);
    function->addFnAttr(Attribute::NoUnwind);
    function->addFnAttr("gc-leaf-function");
    IRBuilder<> builder(BasicBlock::Create(module.getContext(), "", function));
    builder.CreateRet(builder.CreateThreadLocalAddress(&variable));
    variable.addAttribute("tenon.mv.accessor", name);
}

/* Optimised code may not need it. */
static void must_stay(GlobalValue &global)
{
    if (global.hasLinkOnceODRLinkage())
        global.setLinkage(GlobalValue::WeakODRLinkage);
    else if (global.hasLinkOnceLinkage())
        global.setLinkage(GlobalValue::WeakAnyLinkage);
}

void tn__mv_mark_kept(LLVMModuleRef ref, const char *image)
{
    Module &module = *unwrap(ref);
    SmallSetVector<GlobalVariable *, 8> variables;
    for (Function &function : module) {
        if (!may_keep(function))
            continue;
        function.addFnAttr("tenon.mv.kept");
        for (const GlobalValue *global : named_by(function)) {
            if (auto *used = dyn_cast<Function>(global); used && tn__is_defined(*used))
                const_cast<Function *>(used)->addFnAttr("tenon.mv.shared");
            else if (is_thread_local(global))
                variables.insert(const_cast<GlobalVariable *>(cast<GlobalVariable>(global)));
            must_stay(*const_cast<GlobalValue *>(global));
        }
    }
    for (size_t i = 0; i < variables.size(); i++)
        make_accessor(*variables[i], std::string(image) + ".thread." + utostr(i));
}

/* ---- one function ---- */

static void forget_marks(Function &function)
{
    SmallVector<std::string, 8> marks;
    for (Attribute attribute : function.getAttributes().getFnAttrs())
        if (attribute.isStringAttribute() && attribute.getKindAsString().starts_with("tenon.mv."))
            marks.push_back(attribute.getKindAsString().str());
    for (const std::string &mark : marks)
        function.removeFnAttr(mark);
}

static void call_accessor(GlobalVariable &variable)
{
    std::string name = variable.getAttribute("tenon.mv.accessor").getValueAsString().str();
    FunctionCallee accessor =
        variable.getParent()->getOrInsertFunction(name, FunctionType::get(variable.getType(), false));
    cast<Function>(accessor.getCallee())->addFnAttr("gc-leaf-function");
    convertUsersOfConstantsToInstructions({&variable});
    SmallVector<Use *, 16> uses;
    for (Use &use : variable.uses())
        uses.push_back(&use);
    for (Use *use : uses) {
        auto *user = cast<Instruction>(use->getUser());
        auto *phi = dyn_cast<PHINode>(user);
        IRBuilder<> builder(phi ? phi->getIncomingBlock(*use)->getTerminator() : user);
        Value *address = builder.CreateCall(accessor);
        auto *intrinsic = dyn_cast<IntrinsicInst>(user);
        if (intrinsic && intrinsic->getIntrinsicID() == Intrinsic::threadlocal_address) {
            intrinsic->replaceAllUsesWith(address);
            intrinsic->eraseFromParent();
        } else if (phi) { /* equal blocks have equal values */
            phi->setIncomingValueForBlock(phi->getIncomingBlock(*use), address);
        } else {
            use->set(address);
        }
    }
}

/* What was brought along for a body that is forgotten now. */
static void erase_unused(Module &module)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (GlobalValue &global : make_early_inc_range(module.global_values())) {
            auto *object = dyn_cast<GlobalObject>(&global);
            global.removeDeadConstantUsers();
            if (!object || !global.use_empty() || (tn__is_defined(global) && !global.hasLocalLinkage()))
                continue;
            global.eraseFromParent();
            changed = true;
        }
    }
}

/* The function gets another name: its own stands for its entry in the image, for itself as for others. */
static void rename(Function &function, const std::string &name)
{
    Module &module = *function.getParent();
    auto *entry = Function::Create(function.getFunctionType(), GlobalValue::ExternalLinkage, function.getAddressSpace(),
                                   "", &module);
    entry->setCallingConv(function.getCallingConv());
    entry->setAttributes(function.getAttributes());
    tn__keep_passing_only(*entry);
    entry->takeName(&function);
    function.replaceUsesWithIf(entry, [](const Use &use) { return !isa<BlockAddress>(use.getUser()); });
    function.setName(name);
    function.setLinkage(GlobalValue::ExternalLinkage);
    function.setVisibility(GlobalValue::DefaultVisibility);
    function.setDSOLocal(true);
    function.setSection("");
}

/* Anything of the image, and of others, may be far away. */
static void declare_far(Module &module, const Function *function)
{
    for (GlobalObject &global : module.global_objects()) {
        if (&global == function || global.hasLocalLinkage())
            continue;
        global.setVisibility(GlobalValue::DefaultVisibility);
        global.setDSOLocal(false);
    }
}

static std::unique_ptr<Module> keep(tn__split *split, const Function &function)
{
    const tn__extraction how = {};
    std::unique_ptr<Module> module(unwrap(tn__split_copy_function(split, wrap(&function), &how)));
    Function *copy = module->getFunction(function.getName());
    for (GlobalObject &global : module->global_objects())
        if (tn__is_foreign(global))
            tn__forget(global);
    rename(*copy, (GlobalValue::dropLLVMManglingEscape(function.getName()) + TN__NAME_BODY).str());
    StripDebugInfo(*module);
    for (GlobalVariable &variable : make_early_inc_range(module->globals()))
        if (variable.isThreadLocal() && variable.hasAttribute("tenon.mv.accessor"))
            call_accessor(variable);
    erase_unused(*module);
    for (Function &other : *module)
        forget_marks(other);
    for (GlobalVariable &variable : module->globals())
        variable.setAttributes(AttributeSet());
    declare_far(*module, copy);
    return module;
}

/* ---- all of them ---- */

/* Names that a linker looks up. Intrinsics of Tenon are lowered. */
static bool is_looked_up(const GlobalObject &global, bool is_own)
{
    StringRef name = global.getName();
    return !tn__is_defined(global) && !tn__is_llvms(global) &&
           (is_own || (!name.starts_with("julia.") && !name.starts_with("tenon.")));
}

bool tn__mv_each_kept(LLVMModuleRef ref, tn__split *split, const tn__mv_visit_kept *visit, void *context)
{
    const Module &module = *unwrap(ref);
    for (const Function &function : module) {
        tn__mv_kept kept = {};
        tn__saved_references saved = {};
        uint64_t unused;
        if (!function.hasFnAttribute("tenon.mv.kept") ||
            !tn__attribute_number(function, "tenon.mv.cell", 10, kept.cell))
            continue;
        std::unique_ptr<Module> copy = keep(split, function);
        tn__gc_saved_references(wrap(&function), &saved);
        kept.registers = saved.registers;
        kept.stack = saved.stack;
        kept.is_common = !tn__attribute_number(function, "tenon.mv.clones", 16, unused);
        if (!tn__llvm_write_bitcode(wrap(copy.get()), &kept.bitcode))
            return false;
        bool good = visit->function(context, &kept);
        for (const GlobalObject &global : copy->global_objects()) {
            const GlobalValue *own = module.getNamedValue(global.getName());
            bool is_own = own && tn__is_defined(*own);
            if (!good || !is_looked_up(global, is_own))
                continue;
            std::string name = GlobalValue::dropLLVMManglingEscape(global.getName()).str();
            good = visit->name(context, name.c_str(), is_own, is_own && own->hasHiddenVisibility());
        }
        if (!good)
            return false;
    }
    return true;
}
