/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Makes the versions that annotate.cpp decided on. Calls between versions for one target are direct. A version that
 * several targets share, because some of them have no body of their own, calls those that differ through their slots.
 * What is neither is a jump through the slot: the entry, which has the function's name, so that its address is the same
 * for everybody and lies in initialized data like any other address; nothing but the slots is written when an image is
 * loaded. */

#include "codegen/llvm/llvm_compat.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/Cloning.h"

#include "codegen/image/bodies.h"
#include "codegen/image/multiversion.h"
#include "codegen/llvm/ir.h"
#include "codegen/managed/ir/gc.h"
#include "image/format/format.h"

using namespace llvm;

/* The features that the function itself asks for come after the target's: the function was written to be called where
 * they are. */
static void compile_for(Function &function, const tn__mv_target &target)
{
    std::string features = target.features;
    SmallVector<StringRef, 32> own;
    function.getFnAttribute("target-features").getValueAsString().split(own, ',', -1, false);
    for (StringRef feature : own)
        if (feature.starts_with("+"))
            features += "," + feature.str();
    function.addFnAttr("target-cpu", target.cpu);
    function.addFnAttr("target-features", StringRef(features).ltrim(','));
    function.removeFnAttr("tune-cpu");
    if (target.opt_size || target.min_size)
        tn__ask_for_size(function, target.min_size);
}

/* What a caller has to know of a function that may be replaced: how values are passed, and nothing else. */
static AttributeList passing_only(LLVMContext &context, const AttributeList &given, size_t arguments)
{
    static const Attribute::AttrKind kept[] = {
        Attribute::ZExt,      Attribute::SExt,           Attribute::NoExt,        Attribute::InReg,
        Attribute::ByVal,     Attribute::ByRef,          Attribute::StructRet,    Attribute::InAlloca,
        Attribute::Nest,      Attribute::SwiftSelf,      Attribute::SwiftAsync,   Attribute::SwiftError,
        Attribute::Alignment, Attribute::StackAlignment, Attribute::Preallocated, Attribute::ElementType,
    };
    AttributeList list;
    for (unsigned index = 0; index <= arguments; index++) /* of the result, then of the arguments */
        for (Attribute::AttrKind kind : kept)
            if (given.hasAttributeAtIndex(index, kind))
                list = list.addAttributeAtIndex(context, index, given.getAttributeAtIndex(index, kind));
    return list;
}

void tn__keep_passing_only(Function &function)
{
    function.setAttributes(passing_only(function.getContext(), function.getAttributes(), function.arg_size()));
}

/* A jump through a slot that changes nothing but a register which calls may change, whatever the signature is. */
static std::string jump_text(const Module &module, const std::string &slot)
{
    switch (TN_MODULE_TRIPLE(module).getArch()) {
    case Triple::aarch64:
        return "adrp x16, " + slot + "\n\tldr x16, [x16, :lo12:" + slot + "]\n\tbr x16";
    case Triple::riscv64:
        return ".Lentry${:uid}:\n\tauipc t3, %pcrel_hi(" + slot + ")\n\tld t3, %pcrel_lo(.Lentry${:uid})(t3)\n\tjr t3";
    default:
        return "jmpq *" + slot + "(%rip)";
    }
}

/* The same, to a label. */
static std::string direct_jump_text(const Module &module, const std::string &to)
{
    switch (TN_MODULE_TRIPLE(module).getArch()) {
    case Triple::aarch64:
        return "b " + to;
    case Triple::riscv64:
        return ".Lentry${:uid}:\n\tauipc t3, %pcrel_hi(" + to + ")\n\tjalr zero, %pcrel_lo(.Lentry${:uid})(t3)";
    default:
        return "jmp " + to;
    }
}

/* A jump through a cell, or the other one if the cell is zero. On x86-64 no register may be changed, so the cell is
 * read twice: it never becomes zero again. */
static std::string cell_text(const Module &module, const std::string &cell, const std::string &otherwise)
{
    switch (TN_MODULE_TRIPLE(module).getArch()) {
    case Triple::aarch64:
        return "adrp x16, " + cell + "\n\tldr x16, [x16, :lo12:" + cell +
               "]\n\tcbz x16, .Lbody${:uid}\n\tbr x16\n.Lbody${:uid}:\n\t" + otherwise;
    case Triple::riscv64:
        return ".Lcell${:uid}:\n\tauipc t3, %pcrel_hi(" + cell +
               ")\n\tld t3, %pcrel_lo(.Lcell${:uid})(t3)\n\tbeqz t3, .Lbody${:uid}\n\tjr t3\n.Lbody${:uid}:\n\t" +
               otherwise;
    default:
        return "cmpq $$0, " + cell + "(%rip)\n\tjne .Lcell${:uid}\n\t" + otherwise + "\n.Lcell${:uid}:\n\tjmpq *" +
               cell + "(%rip)";
    }
}

namespace {

/* A function with all its versions. */
struct family {
    std::string name; /* of the function */
    uint64_t clones;
    uint64_t slot, cell;
    bool has_slot, has_cell;
    bool by_name;                        /* calls use the entry */
    SmallVector<Function *, 8> versions; /* by target; NULL until needed */
};

struct multiplication {
    Module &module;
    const tn__mv &mv;
    std::vector<family> families{};
    DenseMap<const Value *, size_t> family_of{};         /* by what calls name: the entry, or the body for target 0 */
    std::vector<std::pair<Function *, size_t>> bodies{}; /* with their targets */
    GlobalVariable *slots = nullptr;

    std::string version_name(const family &family, size_t target) const
    {
        return family.name + "." + mv.image + "." + utostr(target);
    }

    /* ---- versions ---- */

    std::string name_of(const char *what, uint64_t number) const
    {
        return std::string(mv.image) + "." + what + "." + utostr(number);
    }

    void add_name(Function &function, const std::string &name)
    {
        auto *alias = GlobalAlias::create(GlobalValue::ExternalLinkage, name, &function);
        alias->setVisibility(GlobalValue::HiddenVisibility);
    }

    /* Of the entry. */
    std::string text(const family &family)
    {
        std::string jump;
        if (family.has_slot) {
            slot_array(); /* the text names it */
            jump = jump_text(module, std::string(mv.image) + ".slots+" + utostr(8 * family.slot));
        } else
            jump = direct_jump_text(module, name_of("body", family.cell));
        std::string cell = std::string(mv.image) + ".cells+" + utostr(TN__IMAGE_CELL * family.cell);
        return family.has_cell ? cell_text(module, cell, jump) : jump;
    }

    /* Takes the place of `body`, which gets another name. */
    Function *make_entry(Function &body, family &family)
    {
        LLVMContext &context = module.getContext();
        auto *entry = Function::Create(body.getFunctionType(), body.getLinkage(), body.getAddressSpace(), "", &module);
        entry->takeName(&body);
        entry->setAttributes(body.getAttributes().removeFnAttributes(context));
        if (family.has_cell)
            entry->setAttributes(passing_only(context, body.getAttributes(), body.arg_size()));
        if (body.hasFnAttribute("gc-leaf-function")) /* which others that are marked may call */
            entry->addFnAttr("gc-leaf-function");
        entry->setCallingConv(body.getCallingConv());
        entry->setVisibility(body.getVisibility());
        entry->setDSOLocal(body.isDSOLocal());
        entry->setUnnamedAddr(body.getUnnamedAddr());
        if (body.hasPrefixData()) /* callers read what lies before a function: of pointers, that is this one */
            entry->setPrefixData(body.getPrefixData());
        for (unsigned kind : {LLVMContext::MD_kcfi_type, LLVMContext::MD_func_sanitize})
            entry->setMetadata(kind, body.getMetadata(kind));
        body.replaceUsesWithIf(entry, [](const Use &use) { return !isa<BlockAddress>(use.getUser()); });
        body.setName(version_name(family, 0));
        if (tn__is_defined(body)) {
            entry->addFnAttr(Attribute::Naked);
            entry->addFnAttr(Attribute::NoInline);
            entry->addFnAttr(TN__JUMP);
            if (body.doesNotThrow() && !family.has_cell) /* or calls of the entry lose their landing pads */
                entry->addFnAttr(Attribute::NoUnwind);
            compile_for(*entry, mv.common);
            IRBuilder<> builder(BasicBlock::Create(context, "", entry));
            auto *type = FunctionType::get(Type::getVoidTy(context), false);
            builder.CreateCall(InlineAsm::get(type, text(family), "", /*hasSideEffects=*/true));
            builder.CreateUnreachable();
            body.setLinkage(GlobalValue::ExternalLinkage);
            if (family.has_cell) {
                add_name(*entry, name_of("entry", family.cell));
                if (!family.has_slot)
                    add_name(body, name_of("body", family.cell));
            }
        } else if (body.hasAvailableExternallyLinkage()) {
            entry->setLinkage(GlobalValue::ExternalLinkage);
        }
        body.setVisibility(GlobalValue::HiddenVisibility);
        body.setDSOLocal(true);
        return entry;
    }

    void clone(Function &body, family &family, size_t target)
    {
        ValueToValueMapTy map;
        Function *copy = CloneFunction(&body, map);
        copy->setName(version_name(family, target));
        if (tn__is_defined(body))
            copy->setLinkage(GlobalValue::ExternalLinkage);
        copy->setVisibility(GlobalValue::HiddenVisibility);
        copy->setDSOLocal(true);
        family.versions[target] = copy;
        bodies.push_back({copy, target});
    }

    /* The version for a target that has one; declared if it is not here. */
    Function *version(family &family, size_t target)
    {
        Function *&version = family.versions[target];
        if (!version) {
            Function *model = family.versions[0];
            version = Function::Create(model->getFunctionType(), GlobalValue::ExternalLinkage, model->getAddressSpace(),
                                       version_name(family, target), &module);
            version->setAttributes(model->getAttributes());
            version->setCallingConv(model->getCallingConv());
            version->setVisibility(GlobalValue::HiddenVisibility);
            version->setDSOLocal(true);
        }
        return version;
    }

    void multiply(Function &function)
    {
        uint64_t clones = 1;
        bool is_whole = tn__attribute_number(function, "tenon.mv.clones", 16, clones);
        family family = {function.getName().str(), clones, 0, 0, false, false, false, {}};
        family.has_slot = tn__attribute_number(function, "tenon.mv.slot", 10, family.slot);
        family.has_cell = tn__attribute_number(function, "tenon.mv.cell", 10, family.cell);
        family.by_name = family.has_cell || function.hasFnAttribute("tenon.mv.weak");
        family.versions.resize(mv.count);
        family.versions[0] = &function;
        bool is_public = function.hasFnAttribute("tenon.mv.public") && tn__is_defined(function);
        bool has_entry = family.has_cell || function.hasFnAttribute("tenon.mv.entry");
        Function *named = has_entry ? make_entry(function, family) : &function;
        if (is_public && (family.has_slot || family.has_cell))
            name_entry(*named);
        if (!function.isDeclaration() && !is_whole)
            compile_for(function, mv.common);
        else if (!function.isDeclaration()) {
            for (size_t target = 1; target < mv.count; target++)
                if (family.clones >> target & 1)
                    clone(function, family, target);
            bodies.push_back({&function, 0});
        }
        family_of[named] = families.size();
        families.push_back(std::move(family));
    }

    /* Functions with one body. Lookups need a name that no other file may define. */
    void settle(Function &function)
    {
        bool whole = function.hasFnAttribute("tenon.mv.clones");
        if (!function.isDeclaration() && !whole)
            compile_for(function, mv.common);
        else if (!function.isDeclaration())
            bodies.push_back({&function, 0});
        if (!tn__is_defined(function) || !function.hasFnAttribute("tenon.mv.public"))
            return;
        const char *as_it_stands = function.getCallingConv() == CallingConv::X86_VectorCall ? "\1" : "";
        add_name(function, (as_it_stands + function.getName() + "." + mv.image + ".0").str());
    }

    /* A name that no other file may define, for the table of offers. Aliases of what others may define are not
     * allowed; the names of an image are final. */
    void name_entry(GlobalValue &global)
    {
        Constant *named = &global;
        while (auto *outer = dyn_cast<GlobalAlias>(named->stripPointerCasts()))
            named = outer->getAliasee();
        auto *alias = GlobalAlias::create(global.getValueType(), global.getAddressSpace(), GlobalValue::ExternalLinkage,
                                          global.getName() + "." + mv.image + ".entry", named, &module);
        alias->setVisibility(GlobalValue::HiddenVisibility);
    }

    void name_variables()
    {
        SmallVector<GlobalValue *, 32> found;
        for (GlobalVariable &global : module.globals())
            if (tn__is_offered(global))
                found.push_back(&global);
        for (GlobalAlias &alias : module.aliases())
            if (tn__is_offered(alias))
                found.push_back(&alias);
        for (GlobalValue *global : found)
            name_entry(*global);
    }

    /* ---- calls ---- */

    GlobalVariable *slot_array()
    {
        if (!slots) {
            auto *type = ArrayType::get(PointerType::get(module.getContext(), 0), 0);
            slots = new GlobalVariable(module, type, false, GlobalValue::ExternalLinkage, nullptr,
                                       std::string(mv.image) + ".slots");
            slots->setVisibility(GlobalValue::HiddenVisibility);
            slots->setDSOLocal(true);
            slots->setAlignment(Align(8));
        }
        return slots;
    }

    /* The call does not name the function any more, so it says itself what matters of it to others than optimisers. */
    void call_through_slot(CallBase &call, const family &family)
    {
        Function &function = *family.versions[0];
        if (function.hasFnAttribute("gc-leaf-function"))
            call.addFnAttr(Attribute::get(module.getContext(), "gc-leaf-function"));
        if (function.hasFnAttribute(Attribute::ReturnsTwice))
            call.addFnAttr(Attribute::ReturnsTwice);
        IRBuilder<> builder(&call);
        Value *place = builder.CreateConstInBoundsGEP1_64(builder.getPtrTy(), slot_array(), family.slot);
        LoadInst *load = builder.CreateLoad(builder.getPtrTy(), place, family.name + ".version");
        load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(module.getContext(), {}));
        call.setCalledOperand(load);
    }

    /* Lets a call in a body for `target` lead to the right version. */
    void redirect(CallBase &call, size_t target)
    {
        auto found = family_of.find(call.getCalledOperand());
        if (found == family_of.end() || families[found->second].by_name)
            return;
        family &family = families[found->second];
        if (target && !mv.targets[target].clone_all) { /* only this target runs it */
            bool own = family.clones >> target & 1;
            call.setCalledOperand(version(family, own ? target : mv.targets[target].base));
            return;
        }
        uint64_t others = 0; /* targets that run this body, but not that version */
        for (size_t i = 1; i < mv.count; i++)
            if (!mv.targets[i].clone_all && mv.targets[i].base == target)
                others |= family.clones & UINT64_C(1) << i;
        if (others)
            call_through_slot(call, family);
        else
            call.setCalledOperand(version(family, target));
    }

    void run()
    {
        std::vector<Function *> functions;
        name_variables();
        for (Function &function : module)
            if (!function.isIntrinsic())
                functions.push_back(&function);
        for (Function *function : functions) {
            uint64_t clones = 0;
            tn__attribute_number(*function, "tenon.mv.clones", 16, clones);
            if (clones > 1 || function->hasFnAttribute("tenon.mv.cell"))
                multiply(*function);
            else
                settle(*function);
        }
        for (auto &[body, target] : bodies) {
            compile_for(*body, mv.targets[target]);
            for (Instruction &instruction : instructions(*body))
                if (auto *call = dyn_cast<CallBase>(&instruction))
                    redirect(*call, target);
        }
    }
};

} // namespace

void tn__mv_multiply(LLVMModuleRef module, const tn__mv *mv)
{
    multiplication{*unwrap(module), *mv}.run();
}
