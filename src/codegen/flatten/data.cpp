/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* All variables of a module, in the sections that LLVM's code generator chooses for ELF (SelectSectionForGlobal in
 * TargetLoweringObjectFileImpl.cpp), so that it has nothing to do where all functions are covered. */

#include <elf.h>

#include "llvm/CodeGen/TargetLoweringObjectFileImpl.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Metadata.h"

#include "codegen/flatten/flattener.h"

using namespace llvm;

enum { MOST_ALIGNMENT = 16, DEFAULT_PRIORITY = 65535 };

namespace {

/* The first row whose question is answered with yes. */
const struct {
    bool (SectionKind::*is)() const;
    const char *name;
    uint64_t flags, entry_size;
} rows[] = {
    {&SectionKind::isMergeable1ByteCString, ".rodata", SHF_MERGE | SHF_STRINGS, 1},
    {&SectionKind::isMergeable2ByteCString, ".rodata", SHF_MERGE | SHF_STRINGS, 2},
    {&SectionKind::isMergeable4ByteCString, ".rodata", SHF_MERGE | SHF_STRINGS, 4},
    {&SectionKind::isMergeableConst4, ".rodata", SHF_MERGE, 4},
    {&SectionKind::isMergeableConst8, ".rodata", SHF_MERGE, 8},
    {&SectionKind::isMergeableConst16, ".rodata", SHF_MERGE, 16},
    {&SectionKind::isMergeableConst32, ".rodata", SHF_MERGE, 32},
    {&SectionKind::isReadOnly, ".rodata", 0, 0},
    {&SectionKind::isReadOnlyWithRel, ".data.rel.ro", SHF_WRITE, 0},
    {&SectionKind::isThreadBSS, ".tbss", SHF_WRITE | SHF_TLS, 0},
    {&SectionKind::isThreadData, ".tdata", SHF_WRITE | SHF_TLS, 0},
    {&SectionKind::isBSS, ".bss", SHF_WRITE, 0},
    {&SectionKind::isData, ".data", SHF_WRITE, 0},
};

/* Types of sections that modules name, so or with more after a dot. */
const struct {
    const char *prefix;
    uint32_t type;
} types[] = {
    {".init_array", SHT_INIT_ARRAY},
    {".fini_array", SHT_FINI_ARRAY},
    {".preinit_array", SHT_PREINIT_ARRAY},
};

struct adding {
    tn__flattener &f;
    const Module &module;
    const DataLayout &layout;
    tn__baseline_object &object;
    StringMap<uint32_t> sections; /* the numbers of those that others may be in, by all of their properties */
    DenseMap<const GlobalObject *, uint32_t> data;
    const char *why = nullptr;

    explicit adding(tn__flattener &f) : f(f), module(f.module), layout(f.layout), object(f.object)
    {
    }
    bool refuse(const char *reason)
    {
        why = reason;
        return false;
    }
    bool no_memory()
    {
        f.no_memory = true;
        return false;
    }
    bool find_section(const tn__baseline_section &section, bool is_unique, uint32_t &number);
    bool choose_section(const GlobalVariable &variable, SectionKind kind, uint32_t &number);
    bool fill(const GlobalVariable &variable, uint32_t section, uint64_t at);
    bool add_variable(const GlobalVariable &variable);
    bool add_functions(const GlobalVariable &list, const char *name, uint32_t type);
    bool add_alias(const GlobalAlias &alias);
    bool add(const GlobalVariable &variable);
    bool add_all(const GlobalValue *&which);
};

} // namespace

uint8_t tn__flatten_binding(const GlobalValue &global)
{
    return global.hasLocalLinkage() ? STB_LOCAL : global.isWeakForLinker() ? STB_WEAK : STB_GLOBAL;
}

uint8_t tn__flatten_visibility(const GlobalValue &global)
{
    return global.hasHiddenVisibility() ? STV_HIDDEN : global.hasProtectedVisibility() ? STV_PROTECTED : STV_DEFAULT;
}

/* ---- sections ---- */

uint32_t tn__flattener::group_of(const GlobalObject &global)
{
    const Comdat *comdat = global.getComdat();
    if (!comdat)
        return 0;
    auto [found, is_new] = groups.try_emplace(comdat, uint32_t(object.group_count) + 1);
    if (is_new) {
        StringRef name = comdat->getName();
        const char *text = tn__arena_text(&object.arena, name.data(), name.size());
        if (!text || !grow(object.groups, object.group_room, object.group_count + 1)) {
            no_memory = true;
            return 0;
        }
        object.groups[object.group_count++] = text;
    }
    return found->second;
}

bool adding::find_section(const tn__baseline_section &section, bool is_unique, uint32_t &number)
{
    number = uint32_t(object.section_count);
    if (!is_unique) {
        std::string key = (Twine(section.type) + "," + Twine(section.flags) + "," + Twine(section.entry_size) + "," +
                           Twine(section.group) + "," + section.name)
                              .str();
        auto [found, is_new] = sections.try_emplace(key, number);
        number = found->second;
        if (!is_new)
            return true;
    }
    tn__baseline_section added = section;
    added.name = tn__arena_text(&object.arena, section.name, strlen(section.name));
    return (added.name && tn__baseline_add_section(&object, &added)) || no_memory();
}

static uint32_t type_of(StringRef name)
{
    for (auto &row : types)
        if (StringRef rest = name; rest.consume_front(row.prefix) && (rest.empty() || rest[0] == '.'))
            return row.type;
    return name.starts_with(".note") ? SHT_NOTE : SHT_PROGBITS;
}

/* Names by which LLVM chooses the type and the flags of a section, whatever is in it. */
static bool is_telling(StringRef name)
{
    static const char *const prefixes[] = {".bss",   ".sbss",    ".tbss",     ".tdata", ".gnu.linkonce.", ".lbss",
                                           ".ldata", ".lrodata", ".eh_frame", ".llvm",  "__llvm_cov"};
    return any_of(prefixes, [&](const char *prefix) { return name.starts_with(prefix); });
}

bool adding::choose_section(const GlobalVariable &variable, SectionKind kind, uint32_t &number)
{
    auto *row = find_if(rows, [&](auto &each) { return (kind.*each.is)(); });
    if (row == std::end(rows) || is_telling(variable.getSection()))
        return refuse("its section");
    bool is_retained = f.retained.contains(&variable), is_alone = is_retained;
    bool is_unique = variable.hasComdat() || is_retained || (!(row->flags & SHF_MERGE) && f.machine.getDataSections());
    std::string name = variable.getSection().str();
    tn__baseline_section section = {};
    section.type = kind.isBSS() || kind.isThreadBSS() ? SHT_NOBITS : type_of(name);
    section.flags = SHF_ALLOC | row->flags | (is_retained ? uint64_t(TN__BASELINE_RETAIN) : 0);
    section.entry_size = row->entry_size;
    section.group = f.group_of(variable);
    if (auto *of = variable.getMetadata(LLVMContext::MD_associated)) {
        auto *other = mdconst::dyn_extract_or_null<GlobalValue>(of->getOperand(0).get());
        section.flags |= SHF_LINK_ORDER;
        section.linked = other ? f.symbol_of(other) + 1 : 0;
        is_alone = is_unique = true;
    }
    if (name.empty()) {
        name = row->name;
        if (row->flags & SHF_STRINGS)
            name += ".str" + std::to_string(row->entry_size) + "." +
                    std::to_string(layout.getPreferredAlign(&variable).value());
        else if (row->flags & SHF_MERGE)
            name += ".cst" + std::to_string(row->entry_size);
        if (is_unique)
            name += ("." + GlobalValue::dropLLVMManglingEscape(variable.getName())).str();
    } else
        is_unique = is_alone;
    section.name = name.c_str();
    return find_section(section, is_unique, number);
}

/* ---- variables ---- */

static Align alignment_of(const DataLayout &layout, const GlobalVariable &variable)
{
    MaybeAlign given = variable.getAlign();
    Align preferred = layout.getPreferredAlign(&variable);
    return given && (*given > preferred || variable.hasSection()) ? *given : preferred;
}

static const char *refuses(const DataLayout &layout, const GlobalVariable &variable)
{
    static const unsigned kinds[] = {LLVMContext::MD_exclude, LLVMContext::MD_section_prefix,
                                     LLVMContext::MD_absolute_symbol, LLVMContext::MD_pcsections};
    if (variable.hasAppendingLinkage())
        return "a list for the linker";
    if (variable.getAddressSpace())
        return "another address space";
    if (variable.getCodeModel() || variable.isTagged() || variable.hasPartition() || variable.hasImplicitSection())
        return "a property of it";
    if (any_of(kinds, [&](unsigned kind) { return variable.hasMetadata(kind); }))
        return "metadata of it";
    if (variable.hasComdat() && variable.getComdat()->getSelectionKind() != Comdat::Any)
        return "a COMDAT group of another kind";
    if (variable.getValueType()->isScalableTy() || variable.getValueType()->isTargetExtTy() ||
        layout.getTypeAllocSize(variable.getValueType()) > INT32_MAX)
        return "its size";
    return Log2(alignment_of(layout, variable)) > MOST_ALIGNMENT ? "its alignment" : nullptr;
}

bool adding::fill(const GlobalVariable &variable, uint32_t section, uint64_t at)
{
    tn__baseline_section &to = object.sections[section];
    if (!to.bytes)
        return true;
    tn__contents contents = {layout, variable, to.bytes + at, {}};
    if (!contents.fill(0, *variable.getInitializer()))
        return refuse(contents.why);
    for (const tn__contents::pointer &p : contents.pointers) {
        uint32_t type = p.size == 4 ? R_X86_64_PC32 : p.is_distance ? R_X86_64_PC64 : R_X86_64_64;
        tn__code_reloc reloc = {uint32_t(at + p.offset), type, f.symbol_of(p.symbol), p.addend};
        if (f.no_memory || !tn__baseline_add_reloc(&to, reloc))
            return no_memory();
    }
    return true;
}

bool adding::add_variable(const GlobalVariable &variable)
{
    uint64_t size = layout.getTypeAllocSize(variable.getValueType());
    uint64_t alignment = alignment_of(layout, variable).value();
    SectionKind kind = TargetLoweringObjectFile::getKindForGlobal(&variable, f.machine);
    tn__baseline_datum datum = {f.symbol_of(&variable),
                                TN__BASELINE_COMMON,
                                alignment,
                                size,
                                tn__flatten_binding(variable),
                                tn__flatten_visibility(variable),
                                uint8_t(variable.isThreadLocal() ? STT_TLS : STT_OBJECT)};
    data[&variable] = uint32_t(object.datum_count);
    if (kind.isCommon()) {
        datum.binding = STB_GLOBAL;
        datum.size = std::max<uint64_t>(size, 1);
        return (!f.no_memory && tn__baseline_define(&object, datum)) || no_memory();
    }
    if (!choose_section(variable, kind, datum.section))
        return false;
    tn__baseline_section &section = object.sections[datum.section];
    if (section.type != SHT_NOBITS && section.size + size > INT32_MAX)
        return refuse("its size");
    if (f.no_memory || !tn__baseline_extend(&section, size, alignment, &datum.value) ||
        !tn__baseline_define(&object, datum))
        return no_memory();
    return fill(variable, datum.section, datum.value);
}

/* ---- lists of functions that are called at the beginning and the end ---- */

namespace {

struct entry {
    uint64_t priority;
    const Constant *function;
    const GlobalObject *key; /* it is called if this one's group is kept; NULL: in any case */
};

} // namespace

static bool read_entry(const Constant &value, entry &to)
{
    auto *record = dyn_cast<ConstantStruct>(&value);
    if (!record || record->getNumOperands() != 3 || !isa<ConstantInt>(record->getOperand(0)))
        return false;
    to.priority = cast<ConstantInt>(record->getOperand(0))->getLimitedValue(DEFAULT_PRIORITY);
    to.function = record->getOperand(1);
    to.key = dyn_cast<GlobalObject>(record->getOperand(2)->stripPointerCasts());
    return to.key || record->getOperand(2)->isNullValue();
}

bool adding::add_functions(const GlobalVariable &list, const char *name, uint32_t type)
{
    SmallVector<entry, 8> entries;
    auto *values = dyn_cast<ConstantArray>(list.getInitializer());
    if (!values)
        return list.getInitializer()->isNullValue() || refuse("a list of another kind");
    for (const Use &value : values->operands()) {
        entry next;
        if (!read_entry(*cast<Constant>(value), next))
            return refuse("a list of another kind");
        if (next.function->isNullValue())
            break;
        if (next.key && next.key->isDeclarationForLinker())
            continue;
        if (next.key && (!next.key->hasComdat() || next.key->getComdat()->getName() != next.key->getName()))
            return refuse("a list with conditions");
        entries.push_back(next);
    }
    stable_sort(entries, [](const entry &a, const entry &b) { return a.priority < b.priority; });
    for (const entry &next : entries) {
        int64_t addend;
        auto *function = dyn_cast_or_null<GlobalValue>(tn__flatten_origin(layout, next.function, addend));
        if (!function || !f.machine.Options.UseInitArray)
            return refuse("a list of another kind");
        std::string of = next.priority == DEFAULT_PRIORITY ? name : name + ("." + std::to_string(next.priority));
        tn__baseline_section section = {};
        section.name = of.c_str();
        section.type = type;
        section.flags = SHF_ALLOC | SHF_WRITE;
        section.group = next.key ? f.group_of(*next.key) : 0;
        uint32_t number;
        uint64_t at;
        if (!find_section(section, false, number))
            return false;
        uint32_t symbol = f.symbol_of(function);
        if (f.no_memory || !tn__baseline_extend(&object.sections[number], 8, 8, &at) ||
            !tn__baseline_add_reloc(&object.sections[number], {uint32_t(at), R_X86_64_64, symbol, addend}))
            return no_memory();
    }
    return true;
}

/* ---- the whole ---- */

/* Other names of functions are the functions'. */
bool adding::add_alias(const GlobalAlias &alias)
{
    const Constant *base = &alias;
    uint64_t distance = 0;
    while (auto *other = dyn_cast_or_null<GlobalAlias>(base)) {
        int64_t addend = 0;
        base = tn__flatten_origin(layout, other->getAliasee(), addend);
        distance += uint64_t(addend);
    }
    if (isa_and_nonnull<Function>(base))
        return !distance || refuse("a part of a function");
    auto *variable = dyn_cast_or_null<GlobalVariable>(base);
    auto found = variable ? data.find(variable) : data.end();
    if (found == data.end() || alias.hasPartition() || variable->hasCommonLinkage())
        return refuse("an alias of another kind");
    tn__baseline_datum datum = object.data[found->second];
    datum.symbol = f.symbol_of(&alias);
    datum.value += distance;
    datum.binding = tn__flatten_binding(alias);
    datum.visibility = tn__flatten_visibility(alias);
    if (alias.getValueType()->isFunctionTy())
        datum.type = STT_FUNC; /* machine code as numbers */
    if (variable->hasPrivateLinkage() && alias.getValueType()->isSized())
        datum.size = layout.getTypeAllocSize(alias.getValueType());
    return (!f.no_memory && tn__baseline_define(&object, datum)) || no_memory();
}

/* What LLVM makes of these is no variable. */
static bool has_more(const Module &module)
{
    static const char *const names[] = {"llvm.linker.options", "llvm.dependent-libraries"};
    return any_of(names, [&](const char *name) { return module.getNamedMetadata(name); }) ||
           !all_of(module.debug_compile_units(), tn__flatten_is_of_lines);
}

bool adding::add(const GlobalVariable &variable)
{
    if (variable.isDeclarationForLinker() || variable.getSection() == "llvm.metadata" ||
        variable.getName() == "llvm.used")
        return true;
    if (variable.getName() == "llvm.global_ctors")
        return add_functions(variable, ".init_array", SHT_INIT_ARRAY);
    if (variable.getName() == "llvm.global_dtors")
        return add_functions(variable, ".fini_array", SHT_FINI_ARRAY);
    if (const char *reason = refuses(layout, variable))
        return refuse(reason);
    return add_variable(variable);
}

/* `which` is what is not covered. (Resolvers of ifuncs are not: LLVM compiles such modules.) */
bool adding::add_all(const GlobalValue *&which)
{
    which = nullptr;
    if (has_more(module))
        return refuse("debug information, or lists for the linker");
    for (const GlobalVariable &variable : module.globals())
        if (which = &variable; !add(variable))
            return false;
    for (const GlobalAlias &alias : module.aliases())
        if (which = &alias; !add_alias(alias))
            return false;
    return true;
}

int tn__flatten_data(tn__flattener &flattener, const GlobalValue *&which, const char *&why, tn_error *err)
{
    adding all(flattener);
    if (!all.add_all(which))
        tn__baseline_drop_data(&flattener.object);
    why = all.why;
    return flattener.no_memory ? tn__no_memory(err, nullptr) : 0;
}
