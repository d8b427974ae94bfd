/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Copying one part of a module into a module of its own. LLVM's CloneFunctionInto would copy the debug information as
 * well, and walk through all of it to find the compile units; here metadata is shared. A body that can be read again is
 * not copied but moved, which takes a quarter of the instructions. */

#include "codegen/llvm/llvm_compat.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

#include "base/base.h"
#include "base/shown_name.h"
#include "codegen/llvm/ir.h"
#include "codegen/llvm/llvm.h"
#include "codegen/parts/extract.h"

using namespace llvm;

/* Debug information is shared, but for what ties an assignment to the instruction that makes it: that belongs to one
 * function. Other metadata may refer to functions. */
static bool is_shared(const Metadata *metadata)
{
    return (isa<DINode>(metadata) && !isa<DIAssignID>(metadata)) || isa<DILocation>(metadata) ||
           isa<DIExpression>(metadata) || isa<DIGlobalVariableExpression>(metadata);
}

static bool has_named_blocks(const Function &function)
{
    return any_of(function, [](const BasicBlock &block) { return block.hasAddressTaken(); });
}

/* True for what may name globals. Values of a body, and what is local to one, does not; nor do plain constants. */
static bool is_outside_of_bodies(const Value &value)
{
    if (auto *wrapped = dyn_cast<MetadataAsValue>(&value))
        return !isa<LocalAsMetadata>(wrapped->getMetadata());
    return isa<Constant>(value) && !isa<ConstantData>(value);
}

/* Definitions that a part does not refer to itself are still needed by other parts. */
static GlobalValue::LinkageTypes kept(GlobalValue::LinkageTypes linkage)
{
    if (linkage == GlobalValue::LinkOnceAnyLinkage)
        return GlobalValue::WeakAnyLinkage;
    return linkage == GlobalValue::LinkOnceODRLinkage ? GlobalValue::WeakODRLinkage : linkage;
}

namespace {

struct extraction final : public ValueMaterializer {
    tn__split &split;
    const size_t part;
    const tn__extraction &how;
    const bool stubs; /* functions are defined under the names of their bodies */
    std::unique_ptr<Module> made;
    Module &small;
    ValueToValueMapTy map;
    const MetadataPredicate identity = is_shared;
    ValueMapper mapper;
    DenseMap<const Function *, const Function *> origins;                       /* of what is declared */
    SmallVector<std::pair<GlobalVariable *, const GlobalVariable *>, 4> copies; /* of other modules' constants */
    DenseSet<const DICompileUnit *> units;
    uint64_t budget;               /* instructions that may come along for inlining */
    const char *problem = nullptr; /* with the body of one of the part's functions */

    extraction(tn__split &split, size_t part, const tn__extraction &how)
        : split(split), part(part), how(how), stubs(part && how.stubs),
          made(std::make_unique<Module>(split.module->getName(), split.module->getContext())), small(*made),
          mapper(map, RF_DoNotRemapAtoms, nullptr, this, &identity),
          budget(uint64_t(how.inline_budget) * split.parts[part].members.size())
    {
        small.setSourceFileName(split.module->getSourceFileName());
        small.setDataLayout(split.module->getDataLayout());
        small.setTargetTriple(split.module->getTargetTriple());
    }

    bool is_here(const GlobalValue &global) const
    {
        auto found = split.part_of.find(&global);
        return found != split.part_of.end() && found->second == part;
    }
    std::string body_name(const Function &function) const
    {
        std::string name = split.bodies.lookup(&function);
        return how.tier ? name + TN__NAME_TIER + std::to_string(how.tier) : name;
    }
    /* The function of the large module that a call names, or NULL. */
    const Function *origin(const Instruction &call) const
    {
        const Function *callee = tn__callee(call);
        return callee ? origins.lookup(callee) : nullptr;
    }
    /* What `from` has attached, for its copy. */
    template <typename Global> void take_metadata(Global &to, const Global &from)
    {
        SmallVector<std::pair<unsigned, MDNode *>, 2> attachments;
        from.getAllMetadata(attachments);
        for (auto &[kind, node] : attachments)
            to.addMetadata(kind, *mapper.mapMDNode(*node));
    }

    /* ---- declarations ---- */

    Function *declare(const Function &function, const Twine &name)
    {
        auto *copy = Function::Create(function.getFunctionType(), GlobalValue::ExternalLinkage,
                                      function.getAddressSpace(), name, &small);
        copy->setCallingConv(function.getCallingConv());
        copy->setAttributes(function.getAttributes());
        copy->setVisibility(function.getVisibility());
        copy->setUnnamedAddr(function.getUnnamedAddr());
        copy->setDSOLocal(function.isDSOLocal());
        if (function.hasExternalWeakLinkage())
            copy->setLinkage(GlobalValue::ExternalWeakLinkage);
        origins[copy] = &function;
        return copy;
    }

    GlobalVariable *declare(const GlobalVariable &variable, const Twine &name)
    {
        auto *copy =
            new GlobalVariable(small, variable.getValueType(), variable.isConstant(), GlobalValue::ExternalLinkage,
                               nullptr, name, nullptr, variable.getThreadLocalMode(), variable.getAddressSpace());
        copy->copyAttributesFrom(&variable);
        if (variable.hasExternalWeakLinkage())
            copy->setLinkage(GlobalValue::ExternalWeakLinkage);
        if (variable.hasAvailableExternallyLinkage() && variable.isConstant())
            copies.push_back({copy, &variable});
        return copy;
    }

    /* Called for every global that is mentioned but does not exist yet. */
    Value *materialize(Value *value) override
    {
        auto *global = dyn_cast<GlobalValue>(value);
        if (!global || global->getParent() != split.module)
            return nullptr;
        if (auto *function = dyn_cast<Function>(global))
            return declare(*function, function->getName());
        if (auto *variable = dyn_cast<GlobalVariable>(global)) {
            GlobalVariable *copy = declare(*variable, variable->getName());
            if (split.is_copied(*variable)) {
                copy->setLinkage(GlobalValue::PrivateLinkage);
                copy->setVisibility(GlobalValue::DefaultVisibility);
                copy->setInitializer(variable->getInitializer()); /* names no other global */
            }
            return copy;
        }
        /* An alias or indirect function; only its own part knows of what. */
        if (auto *type = dyn_cast<FunctionType>(global->getValueType())) {
            auto *copy = Function::Create(type, GlobalValue::ExternalLinkage, global->getAddressSpace(),
                                          global->getName(), &small);
            copy->setVisibility(global->getVisibility());
            return copy;
        }
        auto *copy =
            new GlobalVariable(small, global->getValueType(), false, GlobalValue::ExternalLinkage, nullptr,
                               global->getName(), nullptr, global->getThreadLocalMode(), global->getAddressSpace());
        copy->setVisibility(global->getVisibility());
        return copy;
    }

    /* ---- definitions ---- */

    /* All of a function but its body. */
    void copy_properties(Function &to, const Function &from)
    {
        to.copyAttributesFrom(&from);
        to.setPersonalityFn(from.hasPersonalityFn() ? mapper.mapConstant(*from.getPersonalityFn()) : nullptr);
        to.setPrefixData(from.hasPrefixData() ? mapper.mapConstant(*from.getPrefixData()) : nullptr);
        to.setPrologueData(from.hasPrologueData() ? mapper.mapConstant(*from.getPrologueData()) : nullptr);
        take_metadata(to, from);
        if (DISubprogram *program = to.getSubprogram())
            units.insert(program->getUnit());
    }

    void copy_body(Function &to, const Function &from)
    {
        copy_properties(to, from);
        for (auto [argument, copy] : zip(from.args(), to.args())) {
            copy.setName(argument.getName());
            map[&argument] = &copy;
        }
        for (const BasicBlock &block : from) {
            BasicBlock *copy = CloneBasicBlock(&block, map, "", &to, nullptr, /*MapAtoms=*/false);
            map[&block] = copy;
            if (block.hasAddressTaken())
                map[BlockAddress::lookup(&block)] = BlockAddress::get(&to, copy);
        }
        for (BasicBlock &block : to)
            for (Instruction &instruction : block) {
                mapper.remapDbgRecordRange(&small, instruction.getDbgRecordRange());
                mapper.remapInstruction(instruction);
            }
    }

    /* Lets an instruction that was moved refer to globals of the small module. Its other operands came with it, but are
     * set as well: passes see the uses of a value in the order in which they were set, and bitcode may say another
     * one, which a copy of the body would not have. */
    void remap_moved(Instruction &instruction)
    {
        for (Use &operand : instruction.operands())
            operand = is_outside_of_bodies(*operand) ? mapper.mapValue(*operand) : operand.get();
        if (!instruction.hasMetadata())
            return;
        SmallVector<std::pair<unsigned, MDNode *>, 4> attachments;
        instruction.getAllMetadata(attachments);
        for (auto &[kind, node] : attachments)
            if (MDNode *mapped = mapper.mapMDNode(*node); mapped != node)
                instruction.setMetadata(kind, mapped);
    }

    void move_body(Function &to, Function &from)
    {
        copy_properties(to, from);
        to.stealArgumentListFrom(from);
        to.splice(to.end(), &from);
        split.unload(from);
        for (BasicBlock &block : to)
            for (Instruction &instruction : block)
                remap_moved(instruction);
    }

    void define(Function &function)
    {
        Function *copy;
        if (const char *why = split.load(function)) {
            problem = why;
            return;
        }
        if (stubs) {
            copy = declare(function, body_name(function));
            origins.erase(copy);
        } else {
            copy = cast<Function>(mapper.mapValue(function));
        }
        if (split.reads_bodies() && !has_named_blocks(function)) /* the large module has the addresses of these */
            move_body(*copy, function);
        else
            copy_body(*copy, function);
        copy->setLinkage(stubs ? GlobalValue::ExternalLinkage : kept(function.getLinkage()));
        if (stubs)
            copy->setVisibility(GlobalValue::DefaultVisibility); /* its stub looks it up */
    }

    void define(const GlobalVariable &variable)
    {
        auto *copy = cast<GlobalVariable>(mapper.mapValue(variable));
        copy->setLinkage(how.tier ? GlobalValue::InternalLinkage : kept(variable.getLinkage()));
        if (how.tier) /* the first tier's is the one that others see */
            copy->setVisibility(GlobalValue::DefaultVisibility);
        copy->setInitializer(mapper.mapConstant(*variable.getInitializer()));
        take_metadata(*copy, variable);
    }

    /* Aliases and indirect functions replace the declarations that stood in for them. */
    void define_indirect(const GlobalValue &global)
    {
        GlobalValue *copy;
        if (auto *alias = dyn_cast<GlobalAlias>(&global))
            copy = GlobalAlias::create(alias->getValueType(), alias->getAddressSpace(), kept(alias->getLinkage()), "",
                                       mapper.mapConstant(*alias->getAliasee()), &small);
        else
            copy = GlobalIFunc::create(global.getValueType(), global.getAddressSpace(), kept(global.getLinkage()), "",
                                       mapper.mapConstant(*cast<GlobalIFunc>(global).getResolver()), &small);
        copy->setVisibility(global.getVisibility());
        copy->setUnnamedAddr(global.getUnnamedAddr());
        copy->setThreadLocalMode(global.getThreadLocalMode());
        copy->setDSOLocal(global.isDSOLocal());
        auto *stand_in = cast<GlobalValue>(mapper.mapValue(global));
        copy->takeName(stand_in);
        stand_in->replaceAllUsesWith(copy);
        stand_in->eraseFromParent();
    }

    /* llvm.global_ctors and the like; of llvm.used only members that are in this part. */
    void take_initializers()
    {
        for (const GlobalVariable &variable : split.module->globals()) {
            if (!variable.hasAppendingLinkage())
                continue;
            auto *list = dyn_cast<ConstantArray>(variable.getInitializer());
            if (!list)
                continue;
            SmallVector<Constant *, 16> members;
            for (const Use &use : list->operands()) {
                auto *named = dyn_cast<GlobalValue>(use->stripPointerCasts());
                if (variable.getSection() != "llvm.metadata" || (named && is_here(*named)))
                    members.push_back(mapper.mapConstant(*cast<Constant>(use)));
            }
            if (members.empty())
                continue;
            auto *type = ArrayType::get(list->getType()->getElementType(), members.size());
            auto *copy = new GlobalVariable(small, type, variable.isConstant(), GlobalValue::AppendingLinkage,
                                            ConstantArray::get(type, members), variable.getName());
            copy->setSection(variable.getSection());
        }
    }

    /* ---- calls ---- */

    /* Lets calls of functions of this part lead to their bodies. All else refers to a function by its stub, which has
     * the same address everywhere. */
    void go_past_stubs(Function &function)
    {
        for (BasicBlock &block : function)
            for (Instruction &instruction : block) {
                const Function *callee = origin(instruction);
                auto found = callee ? split.part_of.find(callee) : split.part_of.end();
                if (found != split.part_of.end() && found->second == part && !callee->isWeakForLinker())
                    cast<CallBase>(instruction).setCalledOperand(small.getFunction(body_name(*callee)));
            }
    }

    bool may_inline(const Function &callee) const
    {
        if (callee.isDeclaration() || callee.isInterposable() || callee.hasFnAttribute(Attribute::NoInline) ||
            callee.hasOptNone())
            return false;
        auto found = split.part_of.find(&callee);
        if (found != split.part_of.end() && (found->second == part || split.entangled.contains(&callee)))
            return false;
        bool always = callee.hasFnAttribute(Attribute::AlwaysInline);
        if ((!always && !how.inline_size) || split.load(callee) || has_named_blocks(callee))
            return false;
        if (always)
            return true;
        unsigned count = 0;
        for (const BasicBlock &block : callee)
            if ((count += block.size()) > how.inline_size)
                return false;
        return count <= budget;
    }

    /* Lists the functions that the caller may inline. */
    void bring_along(const Function &caller, SmallVectorImpl<const Function *> &work)
    {
        for (const BasicBlock &block : caller)
            for (const Instruction &instruction : block)
                if (const Function *callee = origin(instruction))
                    work.push_back(callee);
    }

    void bring_inlinable()
    {
        SmallVector<const Function *, 16> work;
        for (const Function &function : small)
            bring_along(function, work);
        while (!work.empty()) {
            const Function *callee = work.pop_back_val();
            auto *copy = cast<Function>(mapper.mapValue(*callee));
            if (!copy->isDeclaration() || !may_inline(*callee))
                continue;
            copy_body(*copy, *callee);
            copy->setLinkage(GlobalValue::AvailableExternallyLinkage);
            budget -= std::min<uint64_t>(budget, copy->getInstructionCount());
            bring_along(*copy, work);
        }
    }

    /* Values of other modules' constants; they may name more of them. */
    void bring_constants()
    {
        for (size_t at = 0; at < copies.size(); at++) {
            auto [copy, variable] = copies[at];
            copy->setInitializer(mapper.mapConstant(*variable->getInitializer()));
            copy->setLinkage(GlobalValue::AvailableExternallyLinkage);
        }
    }

    /* ---- the module as a whole ---- */

    void take_flags()
    {
        NamedMDNode *flags = split.module->getModuleFlagsMetadata();
        if (!flags)
            return;
        NamedMDNode *copy = small.getOrInsertModuleFlagsMetadata();
        for (MDNode *flag : flags->operands()) {
            auto *key = dyn_cast_or_null<MDString>(flag->getOperand(1));
            if (!key || key->getString() != "CG Profile") /* it names functions of the whole module */
                copy->addOperand(flag);
        }
    }

    void list_units()
    {
        if (split.units.size() > 1) /* several, linked into one module: inlined code may come from any */
            for (const Function &function : small)
                for (const BasicBlock &block : function)
                    for (const Instruction &instruction : block)
                        for (const DILocation *at = instruction.getDebugLoc(); at; at = at->getInlinedAt())
                            units.insert(at->getScope()->getSubprogram()->getUnit());
        for (const tn__split::unit_lists &lists : split.units)
            if (part == 0 || units.contains(lists.unit))
                small.getOrInsertNamedMetadata("llvm.dbg.cu")->addOperand(lists.unit);
    }

    /* The module, which is the caller's; or NULL, with a problem. */
    LLVMModuleRef run()
    {
        const auto &members = split.parts[part].members;
        for (GlobalValue *member : members)
            if (auto *function = dyn_cast<Function>(member))
                define(*function);
        if (problem)
            return nullptr;
        for (const GlobalValue *member : members) /* they may hold addresses of blocks, which have to be there */
            if (auto *variable = dyn_cast<GlobalVariable>(member))
                define(*variable);
        for (const GlobalValue *member : members)
            if (isa<GlobalAlias>(member) || isa<GlobalIFunc>(member))
                define_indirect(*member);
        if (part == 0)
            take_initializers();
        bring_inlinable();
        bring_constants();
        if (stubs)
            for (Function &function : small)
                go_past_stubs(function);
        take_flags();
        list_units();
        if (how.finish)
            how.finish(how.context, wrap(&small));
        return wrap(made.release());
    }
};

} // namespace

LLVMModuleRef tn__split_copy(tn__split *split, size_t part, const tn__extraction *how, const char **problem)
{
    extraction all(*split, part, *how);
    LLVMModuleRef copy = all.run();
    *problem = all.problem;
    return copy;
}

/* As a part that there is for a moment. */
LLVMModuleRef tn__split_copy_function(tn__split *split, LLVMValueRef function, const tn__extraction *how)
{
    const char *unused;
    split->parts.emplace_back().members.push_back(cast<Function>(unwrap(function)));
    LLVMModuleRef copy = tn__split_copy(split, split->parts.size() - 1, how, &unused);
    split->parts.pop_back();
    return copy;
}

bool tn__split_extract(tn__split *split, size_t part, const tn__extraction *how, tn_buffer *out, const char **problem)
{
    if (part == 0)
        split->show_lists(true);
    std::unique_ptr<Module> copy(unwrap(tn__split_copy(split, part, how, problem)));
    bool written = copy && tn__llvm_write_bitcode(wrap(copy.get()), out);
    copy.reset();
    if (part == 0)
        split->show_lists(false);
    return written;
}
