/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What decides about a function's code besides its instructions: attributes, linkage, flags of the module and options
 * of the machine. Attributes in text are an open set, so the ones that change nothing here are listed, and all others
 * are LLVM's. */

#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/EHPersonalities.h"

#include "codegen/flatten/flattener.h"
#include "codegen/managed/ir/gc.h"

using namespace llvm;

/* ---- modules ---- */

/* Features that change more than which instructions there are. */
static bool changes_code(StringRef features)
{
    static const char *const words[] = {"retpoline", "lvi-", "harden", "seses", "soft-float", "-sse", "reserve"};
    return any_of(words, [&](const char *word) { return features.contains(word); });
}

const char *tn__flatten_refuses(const Module &module, const TargetMachine &machine)
{
    static const char *const flags[] = {
        "cf-protection-branch",  "cf-protection-return",      "kcfi",
        "stack-protector-guard", "indirect_branch_cs_prefix", "function_return_thunk_extern"};
    const Triple &triple = machine.getTargetTriple();
    if (triple.getArch() != Triple::x86_64 || !triple.isOSBinFormatELF() || triple.isX32())
        return "another target";
    if (machine.getCodeModel() != CodeModel::Small ||
        (module.getCodeModel() && *module.getCodeModel() != CodeModel::Small))
        return "another code model";
    if (!module.getModuleInlineAsm().empty())
        return "assembly in the module";
    if (changes_code(machine.getTargetFeatureString()))
        return "a feature of the target";
    for (const char *flag : flags)
        if (const Metadata *value = module.getModuleFlag(flag)) {
            auto *number = mdconst::dyn_extract<ConstantInt>(value);
            if (!number || !number->isZero())
                return "a flag of the module";
        }
    return nullptr;
}

/* ---- functions ---- */

/* What front ends and passes of ours have told each other. */
static bool is_ours(StringRef name)
{
    return name.starts_with("tenon-") || name == "tenon.signature" || name.starts_with("gc-") ||
           name == "no-realign-stack";
}

static bool is_harmless(StringRef name)
{
    static const StringSet<> names = {"frame-pointer",
                                      "no-trapping-math",
                                      "stack-protector-buffer-size",
                                      "target-cpu",
                                      "tune-cpu",
                                      "min-legal-vector-width",
                                      "prefer-vector-width",
                                      "no-builtins",
                                      "no-inline-line-tables",
                                      "less-precise-fpmad",
                                      "no-infs-fp-math",
                                      "no-nans-fp-math",
                                      "no-signed-zeros-fp-math",
                                      "unsafe-fp-math",
                                      "approx-func-fp-math",
                                      "disable-tail-calls",
                                      "uniform-work-group-size"};
    return names.contains(name) || name.starts_with("no-builtin-") || is_ours(name);
}

static bool is_harmless(Attribute attribute)
{
    if (attribute.isStringAttribute()) {
        if (attribute.getKindAsString() == "target-features")
            return !changes_code(attribute.getValueAsString());
        return is_harmless(attribute.getKindAsString());
    }
    switch (attribute.getKindAsEnum()) {
    case Attribute::Naked:
    case Attribute::ReturnsTwice:
    case Attribute::SafeStack:
    case Attribute::SanitizeAddress:
    case Attribute::SanitizeHWAddress:
    case Attribute::SanitizeMemTag:
    case Attribute::SanitizeMemory:
    case Attribute::SanitizeThread:
    case Attribute::ShadowCallStack:
    case Attribute::SpeculativeLoadHardening:
    case Attribute::StackAlignment:
    case Attribute::StackProtect:
    case Attribute::StackProtectReq:
    case Attribute::StackProtectStrong:
    case Attribute::StrictFP:
    case Attribute::FnRetThunkExtern:
    case Attribute::PresplitCoroutine:
        return false;
    default:
        return true;
    }
}

/* Whether another symbol refers to the function that is not just another name of it. */
static bool is_part_of_symbol(const Constant &constant)
{
    return any_of(constant.users(), [](const User *user) {
        return isa<GlobalAlias>(user) || isa<GlobalIFunc>(user) ||
               (isa<ConstantExpr>(user) && is_part_of_symbol(*cast<ConstantExpr>(user)));
    });
}

static bool has_strange_names(const GlobalValue &global)
{
    return any_of(global.users(), [&](const User *user) {
        if (auto *alias = dyn_cast<GlobalAlias>(user))
            return !isa<FunctionType>(alias->getValueType()) || alias->getName().starts_with("\1") ||
                   alias->hasPartition() || has_strange_names(*alias);
        return isa<GlobalIFunc>(user) || (isa<ConstantExpr>(user) && is_part_of_symbol(*cast<ConstantExpr>(user)));
    });
}

static const char *refuses_symbol(const Function &function)
{
    if (!function.hasName() || function.getName().starts_with("\1"))
        return "it has no ordinary name";
    if (function.hasPrivateLinkage())
        return "it is private";
    if (const Comdat *comdat = function.getComdat())
        if (comdat->getSelectionKind() != Comdat::Any || comdat->getUsers().size() > 1)
            return "a COMDAT group with other members";
    if (function.hasPartition())
        return "a partition";
    if (function.hasPrefixData() || function.hasPrologueData())
        return "data before its code";
    if (function.getAlign().valueOrOne() > 16)
        return "its alignment";
    return has_strange_names(function) ? "a symbol that is computed from it" : nullptr;
}

/* Those that read tables in the layout of GCC. */
static bool is_known_personality(const Function &function)
{
    switch (classifyEHPersonality(function.getPersonalityFn())) {
    case EHPersonality::GNU_C:
    case EHPersonality::GNU_CXX:
    case EHPersonality::Rust:
        return isa<GlobalValue>(function.getPersonalityFn());
    default:
        return false;
    }
}

bool tn__flatten_is_of_lines(const DICompileUnit *unit)
{
    return unit && unit->getEmissionKind() == DICompileUnit::LineTablesOnly;
}

const char *tn__flatten_refuses(const Function &function)
{
    if (const char *why = refuses_symbol(function))
        return why;
    if (function.hasPersonalityFn() && !is_known_personality(function))
        return "exceptions of another kind";
    if (function.hasGC() && function.getGC() != TN__GC_STRATEGY)
        return "another collector";
    if (function.getSubprogram() && !tn__flatten_is_of_lines(function.getSubprogram()->getUnit()))
        return "debug information of variables";
    if (function.getCallingConv() != CallingConv::C && function.getCallingConv() != CallingConv::Fast)
        return "its calling convention";
    for (Attribute attribute : function.getAttributes().getFnAttrs())
        if (!is_harmless(attribute))
            return "an attribute of it";
    if (any_of(function, [](const BasicBlock &block) { return block.hasAddressTaken(); }))
        return "the address of a block";
    return nullptr;
}
