/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Dividing a module (split.h). What has to stay together is found once; extracting a part then walks through that part
 * only.
 *
 * Functions are copied into a small module of the same context, so types, constants and metadata are shared with the
 * large one and cost nothing. Debug information is shared as it is, except for the lists that a compile unit has for
 * the whole module: they are set aside and go with the data. */

#include "codegen/llvm/llvm_compat.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Mangler.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"

#include "base/shown_name.h"
#include "codegen/parts/extract.h"
#include "codegen/managed/ir/saved.h"
#include "codegen/llvm/diagnostics.h"
#include "codegen/llvm/ir.h"

using namespace llvm;

/* ---- names and linkage ---- */

/* Self-contained constants are copied to where they are used, unless they are large and shared. */
static bool is_plain(const Constant *constant)
{
    if (isa<ConstantData>(constant))
        return true;
    return isa<ConstantAggregate>(constant) && constant->getNumOperands() <= 16 &&
           all_of(constant->operands(), [](const Use &use) { return is_plain(cast<Constant>(use)); });
}

bool tn__split::may_copy(const GlobalVariable &variable) const
{
    static const uint64_t small = 1024;
    return variable.hasLocalLinkage() && variable.isConstant() && variable.hasInitializer() &&
           variable.hasGlobalUnnamedAddr() && !variable.isThreadLocal() && !variable.hasSection() &&
           ((variable.hasOneUse() && !reads_bodies()) || /* uses in bodies that are not read are unknown */
            module->getDataLayout().getTypeAllocSize(variable.getValueType()).getFixedValue() <= small) &&
           is_plain(variable.getInitializer());
}

void tn__split_leave_groups(LLVMModuleRef module)
{
    for (GlobalObject &object : unwrap(module)->global_objects()) {
        if (object.hasComdat() && object.hasExternalLinkage() && tn__is_defined(object))
            object.setLinkage(GlobalValue::WeakODRLinkage);
        object.setComdat(nullptr);
    }
}

/* A name that begins with \1 is that of the symbol without it (LangRef, "Identifiers"). Where symbols have the names of
 * the IR in any case, as with ELF, that is the same; so symbols are found by the names that objects give them. */
static void name_as_objects_do(Module &module)
{
    if (module.getDataLayout().getGlobalPrefix())
        return;
    for (GlobalValue &global : module.global_values()) {
        StringRef name = global.getName();
        if (name.consume_front("\1") && !name.empty() && !module.getNamedValue(name))
            global.setName(name.str());
    }
}

void tn__split::name_everything(const char *tag)
{
    name_as_objects_do(*module);
    /* Whatever becomes of it, reports call a function what the module does. */
    for (Function &function : *module)
        if (tn__is_defined(function) && !function.hasFnAttribute(TN__MODULE_NAME))
            function.addFnAttr(TN__MODULE_NAME, function.getName());
    for (const GlobalVariable &variable : module->globals())
        if (may_copy(variable))
            copied.insert(&variable);
    tn__split_leave_groups(wrap(module)); /* members may end up in different parts */
    for (GlobalValue &global : module->global_values()) {
        auto *variable = dyn_cast<GlobalVariable>(&global);
        if (tn__is_llvms(global) || !tn__is_defined(global) || (variable && is_copied(*variable)))
            continue;
        if (global.hasLocalLinkage() || !global.hasName()) {
            /* Parts are compiled separately and linked, so what they share needs a name that no other module uses. */
            global.setName((global.hasName() ? global.getName() : "unnamed") + TN__NAME_LOCAL + tag);
            global.setLinkage(GlobalValue::ExternalLinkage);
            global.setVisibility(GlobalValue::HiddenVisibility);
        }
    }
}

/* ---- what stays together ---- */

using groups = EquivalenceClasses<const GlobalValue *>;

/* Unites `function` with the functions that use `constant`. */
static void unite_with_users(groups &groups, const Function *function, const Constant *constant)
{
    for (const User *user : constant->users()) {
        if (auto *instruction = dyn_cast<Instruction>(user))
            groups.unionSets(function, instruction->getFunction());
        else if (auto *variable = dyn_cast<GlobalVariable>(user))
            groups.unionSets(function, variable);
        else if (auto *outer = dyn_cast<Constant>(user))
            unite_with_users(groups, function, outer);
    }
}

/* The function that an alias is just another name of, or NULL. */
static const Function *function_of(const GlobalAlias &alias)
{
    return dyn_cast<Function>(alias.getAliasee()->stripPointerCastsAndAliases());
}

/* True if callers read what lies before a function: data, or the hash of its type (-fsanitize=kcfi, function). */
static bool has_prefix(const Function &function)
{
    return function.hasPrefixData() || function.hasMetadata(LLVMContext::MD_kcfi_type) ||
           function.hasMetadata(LLVMContext::MD_func_sanitize);
}

/* True if a stub keeps the function's arguments during the first call. preserve_none passes the eleventh in r11, which
 * stubs use (link/redirect/host_x86_64.c); of AArch64, it leaves x16 and x17 to linkers. */
static bool can_have_stub(const Function &function)
{
    tn__saved_references unused;
    bool loses_r11 = function.getCallingConv() == CallingConv::PreserveNone &&
                     Triple(function.getParent()->getTargetTriple()).getArch() == Triple::x86_64;
    return !loses_r11 && !has_prefix(function) && tn__gc_saved_references(wrap(&function), &unused);
}

/* The functions that have to be defined where the data is, with all that depends on them. */
static void unite_with_data(groups &groups, const Module &module, const GlobalValue *data)
{
    for (const Function &function : module)
        if (tn__is_defined(function) && !can_have_stub(function))
            groups.unionSets(&function, data);
    for (const GlobalIFunc &ifunc : module.ifuncs())
        if (const Function *resolver = ifunc.getResolverFunction())
            groups.unionSets(resolver, data);
    for (const GlobalAlias &alias : module.aliases())
        if (auto *object = dyn_cast_or_null<Function>(alias.getAliaseeObject()); object && !function_of(alias))
            groups.unionSets(object, data);
}

void tn__split::form_parts()
{
    groups groups;
    const GlobalValue *data = nullptr; /* stands for all of it */
    groups.insert(data);
    for (const Function &function : *module)
        if (tn__is_defined(function)) {
            groups.insert(&function);
            /* Block addresses mean nothing outside of their function's module: tables of them stay with it. */
            for (const BasicBlock &block : function)
                if (block.hasAddressTaken())
                    unite_with_users(groups, &function, BlockAddress::lookup(&block));
        }
    unite_with_data(groups, *module, data);

    DenseMap<const GlobalValue *, size_t> part_of_leader;
    part_of_leader[groups.getLeaderValue(data)] = 0;
    parts.resize(1);
    auto place = [&](GlobalValue &global) {
        auto leader = groups.findLeader(&global);
        size_t part = 0;
        if (leader != groups.member_end()) {
            part = part_of_leader.try_emplace(*leader, parts.size()).first->second;
            if (part == parts.size())
                parts.emplace_back();
        }
        parts[part].members.push_back(&global);
        part_of[&global] = part;
    };
    for (Function &function : *module)
        if (tn__is_defined(function))
            place(function);
    for (GlobalVariable &variable : module->globals())
        if (tn__is_defined(variable) && !tn__is_llvms(variable) && !is_copied(variable))
            place(variable);
    for (GlobalIFunc &ifunc : module->ifuncs())
        place(ifunc);
    for (GlobalAlias &alias : module->aliases())
        if (!function_of(alias))
            place(alias);
    for (const part &part : parts)
        if (part.members.size() > 1)
            entangled.insert(part.members.begin(), part.members.end());
}

static unsigned flags_of(const GlobalValue &global)
{
    return (global.isWeakForLinker() ? TN__SPLIT_WEAK : 0) | (global.hasHiddenVisibility() ? TN__SPLIT_HIDDEN : 0);
}

static unsigned flags_without_body(const GlobalValue &global)
{
    return flags_of(global) | (isa<FunctionType>(global.getValueType()) ? TN__SPLIT_CALLABLE : 0);
}

/* The other members of a COMDAT group give way as a weak one does. */
static unsigned flags_in_whole(const GlobalValue &global)
{
    return flags_without_body(global) | (global.hasComdat() ? TN__SPLIT_WEAK : 0) |
           (global.isDiscardableIfUnused() ? TN__SPLIT_DISCARDABLE : 0);
}

/* ---- what tiers have to know (doc/TIERS.md) ---- */

/* True if the value, the address of a block, is only jumped to. */
static bool is_only_jumped_to(const Value *value, SmallPtrSetImpl<const Value *> &seen)
{
    return all_of(value->users(), [&](const User *user) {
        return isa<IndirectBrInst>(user) ||
               (isa<PHINode>(user) && (!seen.insert(user).second || is_only_jumped_to(user, seen)));
    });
}

/* True if the code only jumps to what it reads in this memory. */
static bool is_only_read_for_jumps(const Value *place)
{
    SmallPtrSet<const Value *, 8> seen;
    return all_of(place->users(), [&](const User *user) {
        return isa<LoadInst>(user) ? is_only_jumped_to(user, seen)
                                   : isa<GEPOperator>(user) && is_only_read_for_jumps(user);
    });
}

static bool hands_out_blocks(const Function &function)
{
    SmallPtrSet<const Value *, 8> seen;
    return any_of(function, [&](const BasicBlock &block) {
        return block.hasAddressTaken() && !all_of(BlockAddress::lookup(&block)->users(), [&](const User *user) {
                   return isa<ConstantAggregate>(user) || isa<IndirectBrInst>(user) ||
                          (isa<PHINode>(user) && is_only_jumped_to(user, seen));
               });
    });
}

/* Addresses of blocks that a function hands out, or keeps in a variable, have no meaning in other code of the function,
 * nor has a second variable. */
static bool is_fixed(const tn__split::part &part)
{
    return any_of(part.members, [](const GlobalValue *member) {
        if (auto *variable = dyn_cast<GlobalVariable>(member))
            return !variable->isConstant() || !is_only_read_for_jumps(variable);
        auto *function = dyn_cast<Function>(member);
        return !function || hands_out_blocks(*function);
    });
}

static bool has_loops(const Function &function)
{
    SmallVector<std::pair<const BasicBlock *, const BasicBlock *>, 8> edges;
    FindFunctionBackedges(function, edges);
    return !edges.empty();
}

/* A function's attribute comes before the module's flag. Others have to be numbers from 0 to 3. */
static unsigned wanted_level(const Function &function)
{
    for (const char *name : {"tenon.optlevel", "julia.optlevel"}) {
        unsigned level;
        Attribute attribute = function.getFnAttribute(name);
        if (attribute.isStringAttribute() && !attribute.getValueAsString().getAsInteger(10, level) && level <= 3)
            return level + 1;
        auto *flag = mdconst::dyn_extract_or_null<ConstantInt>(function.getParent()->getModuleFlag(name));
        if (flag && flag->getValue().ule(3))
            return (unsigned)flag->getZExtValue() + 1;
    }
    return 0;
}

unsigned tn__split::tier_flags(const part &part, const Function &function)
{
    bool once = function.getName() == "main" && !load(function) && has_loops(function);
    return (is_fixed(part) ? TN__SPLIT_FIXED : 0) | (once ? TN__SPLIT_ONCE : 0) |
           TN__SPLIT_LEVEL * wanted_level(function);
}

void tn__split::list_symbols(const char *tag)
{
    StringSaver saver(names);
    auto name = [&](const GlobalValue &global) { return saver.save(global.getName()).data(); };
    for (part &part : parts)
        for (const GlobalValue *member : part.members) {
            auto *function = dyn_cast<Function>(member);
            const char *body = nullptr;
            unsigned flags = flags_without_body(*member);
            tn__saved_references saved = {};
            if (function && &part != &parts[0]) {
                /* Several modules of a library may have a weak function of the same name, but its stub leads to only
                 * one of them. */
                std::string of_module = function->isWeakForLinker() ? std::string(".") + tag : "";
                body = bodies[function] = saver.save(function->getName() + TN__NAME_BODY + of_module).data();
                tn__gc_saved_references(wrap(function), &saved);
                flags = flags_of(*member) | tier_flags(part, *function);
            }
            part.symbols.push_back({name(*member), nullptr, body, flags, saved.registers, saved.stack});
        }
    for (const GlobalAlias &alias : module->aliases())
        if (const Function *function = function_of(alias))
            parts[part_of[function]].symbols.push_back({name(alias), name(*function), nullptr, flags_of(alias), 0, 0});
}

/* ---- debug information ---- */

/* The operand of a compile unit that is the first list. */
static const unsigned first_list = 4;

void tn__split::show_lists(bool shown)
{
    for (const unit_lists &full : units)
        for (unsigned i = 0; i < std::size(full.lists); i++)
            full.unit->replaceOperandWith(first_list + i, shown ? full.lists[i].get() : nullptr);
}

/* Debug information is shared between modules, so it must not refer to values of this one, as template arguments do. */
static void forget_values(Metadata *root, DenseSet<const Metadata *> &seen)
{
    SmallVector<Metadata *, 64> work = {root};
    while (!work.empty()) {
        auto *node = dyn_cast_or_null<MDNode>(work.pop_back_val());
        if (!node || !seen.insert(node).second)
            continue;
        for (unsigned i = 0; i < node->getNumOperands(); i++)
            if (isa<DITemplateValueParameter>(node) && isa_and_nonnull<ConstantAsMetadata>(node->getOperand(i)))
                node->replaceOperandWith(i, nullptr);
            else
                work.push_back(node->getOperand(i));
    }
}

void tn__split::forget_values_in_debug_info()
{
    if (none_of(module->global_values(), [](const GlobalValue &global) { return global.isUsedByMetadata(); }))
        return;
    DenseSet<const Metadata *> seen;
    for (DICompileUnit *unit : module->debug_compile_units())
        forget_values(unit, seen);
    for (Function &function : *module) {
        forget_values(function.getSubprogram(), seen);
        for (BasicBlock &block : function)
            for (Instruction &instruction : block) {
                forget_values(instruction.getDebugLoc().getAsMDNode(), seen);
                for (DbgRecord &record : instruction.getDbgRecordRange())
                    if (auto *variable = dyn_cast<DbgVariableRecord>(&record))
                        forget_values(variable->getRawVariable(), seen);
            }
    }
}

/* ---- bodies ---- */

/* LLVM reads a body that another one names blocks of together with that one, which is invalid then. */
const char *tn__split::load(const Function &function)
{
    std::string message = "its body was read with another one";
    if (unread.erase(&function) &&
        !(function.isMaterializable() && tn__load_body(const_cast<Function &>(function), message)))
        invalid[&function] = message;
    /* No flag of the module tells, and its stub has none. */
    if (bodies.count(&function) && function.hasMetadata(LLVMContext::MD_func_sanitize))
        invalid[&function] =
            "callers read its type before it (-fsanitize=function), and a stub has none: it cannot be lazy";
    auto found = invalid.find(&function);
    return found == invalid.end() ? nullptr : found->second.c_str();
}

/* LLVM's reader keeps the places of all bodies, and adds what is attached to a function each time it reads the body. */
void tn__split::unload(Function &function)
{
    function.clearMetadata();
    function.setIsMaterializable(true);
    unread.insert(&function);
}

/* ---- modules that are not divided ---- */

static bool is_opaque(const Module &module)
{
    return !module.getModuleInlineAsm().empty() ||
           any_of(module.globals(), [](const GlobalVariable &variable) { return variable.hasCommonLinkage(); });
}

/* The sizes of a function's arguments become part of its symbol's name (Mangler.cpp, addByteCountSuffix), so that parts
 * would not find each other's symbols by the names in IR. */
static bool has_other_names(const Module &module)
{
    return any_of(module, [](const Function &function) {
        return function.getCallingConv() == CallingConv::X86_VectorCall && tn__is_defined(function);
    });
}

/* To a part without the definitions, a variable and its alias would be two variables, of which a store to one leaves
 * the other as it was. Aliases that nothing else may define give way to what they name. */
static bool has_weak_aliases(const Module &module)
{
    return any_of(module.aliases(), [](const GlobalAlias &alias) { return alias.isInterposable(); });
}

/* What the module keeps for code that the compiler does not understand, such as assembly in a function, is known there
 * by its own name. */
static bool keeps_own_names(const Module &module)
{
    SmallVector<GlobalValue *, 8> used;
    collectUsedGlobalVariables(module, used, /*CompilerUsed=*/false);
    collectUsedGlobalVariables(module, used, /*CompilerUsed=*/true);
    return any_of(used, [](const GlobalValue *global) { return global->hasLocalLinkage() && tn__is_defined(*global); });
}

/* The borders of a set of sections are those of one link, of the code that asks and of what is in the set. */
static bool has_borders_of_sets(const Module &module)
{
    return any_of(module.global_values(), [](const GlobalValue &global) {
        return global.isDeclaration() &&
               (global.getName().starts_with("__start_") || global.getName().starts_with("__stop_"));
    });
}

/* Which functions have a hash before them is said where their bodies are, which may not be read yet. */
static bool has_hashes(const Module &module)
{
    return module.getModuleFlag("kcfi");
}

static bool cannot_be_divided(const Module &module)
{
    return has_hashes(module) || has_other_names(module) || has_weak_aliases(module) || keeps_own_names(module) ||
           has_borders_of_sets(module);
}

/* One part defines everything that is visible to others. */
void tn__split::list_whole()
{
    StringSaver saver(names);
    Mangler mangler;
    parts.resize(1);
    for (const GlobalValue &global : module->global_values())
        if (tn__is_defined(global) && !global.hasLocalLinkage() && global.hasName() && !tn__is_llvms(global)) {
            SmallString<64> name;
            mangler.getNameWithPrefix(name, &global, false);
            parts[0].symbols.push_back({saver.save(name.str()).data(), nullptr, nullptr, flags_in_whole(global), 0, 0});
        }
}

/* ---- the interface ---- */

tn__split::tn__split(Module *module, const char *tag, bool whole)
    : module(module), opaque(is_opaque(*module)), whole(whole || opaque || cannot_be_divided(*module))
{
    if (this->whole) {
        list_whole();
        return;
    }
    for (const Function &function : *module)
        if (function.isMaterializable())
            unread.insert(&function);
    name_everything(tag);
    /* A part that sees two names of one thing as two things would assume that their addresses differ. */
    for (GlobalAlias &alias : module->aliases())
        if (!alias.isInterposable())
            alias.replaceAllUsesWith(alias.getAliasee());
    form_parts();
    list_symbols(tag);
    forget_values_in_debug_info();
    for (DICompileUnit *unit : module->debug_compile_units()) {
        units.push_back({unit, {}});
        for (unsigned i = 0; i < std::size(units.back().lists); i++)
            units.back().lists[i].reset(unit->getOperand(first_list + i));
    }
    show_lists(false);
}

tn__split *tn__split_create(LLVMModuleRef module, const char *tag, bool whole)
{
    return new tn__split(unwrap(module), tag, whole);
}

bool tn__split_is_opaque(const tn__split *split)
{
    return split->opaque;
}

bool tn__split_is_whole(const tn__split *split)
{
    return split->whole;
}

bool tn__split_is_copied(const tn__split *split, LLVMValueRef variable)
{
    auto *global = dyn_cast<GlobalVariable>(unwrap(variable));
    return global && split->is_copied(*global);
}

void tn__split_dispose(tn__split *split)
{
    delete split;
}

size_t tn__split_parts(const tn__split *split)
{
    return split->parts.size();
}

bool tn__split_has_initializers(const tn__split *split)
{
    return split->module->getNamedGlobal("llvm.global_ctors") || split->module->getNamedGlobal("llvm.global_dtors");
}

const tn__split_symbol *tn__split_symbols(const tn__split *split, size_t part, size_t *count)
{
    *count = split->parts[part].symbols.size();
    return split->parts[part].symbols.data();
}

uint64_t tn__split_weight(const tn__split *split, size_t part)
{
    uint64_t weight = 0;
    for (const GlobalValue *member : split->parts[part].members) {
        uint64_t clones = 1, size = 1;
        if (auto *function = dyn_cast<Function>(member)) {
            tn__attribute_number(*function, "tenon.mv.clones", 16, clones);
            size += function->getInstructionCount() + function->size();
        }
        weight += size * popcount(clones);
    }
    return weight;
}

void tn__split_regroup(tn__split *split, const size_t *group_of, size_t groups)
{
    std::vector<tn__split::part> old(groups);
    old.swap(split->parts);
    for (size_t i = 0; i < old.size(); i++)
        for (GlobalValue *member : old[i].members) {
            split->parts[group_of[i]].members.push_back(member);
            split->part_of[member] = group_of[i];
        }
    for (GlobalAlias &alias : split->module->aliases())
        if (const Function *function = function_of(alias)) {
            split->part_of[&alias] = split->part_of[function];
            split->parts[split->part_of[&alias]].members.push_back(&alias);
        }
}
