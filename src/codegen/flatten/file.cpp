/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A whole module as a flat file. Functions keep the order of the module, and symbols are numbered as they are met. */

#include <elf.h>

#include "llvm/IR/Constants.h"

#include "baseline/file/file.h"
#include "codegen/flatten/flattener.h"

using namespace llvm;

namespace {

struct writing {
    Module &module;
    const DataLayout &layout;
    tn__left_function *tell;
    void *context;
    tn_error *err;
    tn__baseline_object object = {};
    tn__flat flat = {};
    tn__flat_writer writer = {};
    tn__flattener flattener;

    writing(Module &module, const TargetMachine &machine, tn__left_function *tell, void *context, tn_error *err)
        : module(module), layout(module.getDataLayout()), tell(tell), context(context), err(err),
          flattener(module, machine, object, flat)
    {
    }
    writing(const writing &) = delete;
    writing &operator=(const writing &) = delete;
    ~writing()
    {
        tn__baseline_object_free(&object);
        tn__flat_free(&flat);
        tn__flat_writer_free(&writer);
    }
    int refuse(const GlobalValue &global, const char *why);
    int number_of(const GlobalValue &global, uint32_t &number);
    int write_function(Function &function);
    int read_pointers(const tn__contents &contents, SmallVectorImpl<tn__flat_pointer> &pointers);
    int write_variable(const GlobalVariable &variable);
    int write_symbols();
    int write_all();
};

} // namespace

/* What is left out is no error of the module. */
int writing::refuse(const GlobalValue &global, const char *why)
{
    if (tell)
        return TN_ENOTSUP;
    return tn__fail(err, TN_ENOTSUP, "%s: the flat form cannot hold '%s': %s", module.getModuleIdentifier().c_str(),
                    global.getName().str().c_str(), why);
}

int writing::number_of(const GlobalValue &global, uint32_t &number)
{
    flattener.why = nullptr;
    uint32_t address = flattener.address_of(&global, 0);
    if (flattener.no_memory)
        return tn__no_memory(err, nullptr);
    if (flattener.why)
        return refuse(global, flattener.why);
    number = flat.addresses[tn__flat_index(address)].symbol;
    return 0;
}

/* ---- functions ---- */

/* Groups are dissolved: weak members give way by themselves. */
static const char *refuses_place(const GlobalObject &global)
{
    if (global.hasSection() || global.hasPartition())
        return "a section of its own";
    return global.hasComdat() && !global.isWeakForLinker() && !global.hasLocalLinkage() ? "a COMDAT group" : nullptr;
}

int writing::write_function(Function &function)
{
    const char *why = refuses_place(function);
    if (!why)
        why = function.hasGC() ? "managed code" : tn__flatten_refuses(function);
    uint32_t symbol;
    if (!why && !flattener.flatten(function))
        why = flattener.why;
    if (flattener.no_memory)
        return tn__no_memory(err, nullptr);
    if (why && !tell)
        return refuse(function, why);
    if (why) {
        tell(context, wrap(&function), why);
        return 0;
    }
    if (int code = number_of(function, symbol))
        return code;
    flat.address_count--; /* that is not one of the function's */
    tn__flat_write_function(&writer, symbol, &flat);
    return 0;
}

/* ---- variables ---- */

static const char *refuses(const GlobalVariable &variable)
{
    if (variable.hasAppendingLinkage())
        return "a list for the linker";
    if (variable.hasCommonLinkage())
        return "common linkage";
    if (variable.getAddressSpace())
        return "another address space";
    if (const char *why = refuses_place(variable))
        return why;
    return variable.getAlign() && Log2(*variable.getAlign()) > TN__FLAT_MOST_ALIGNMENT ? "its alignment" : nullptr;
}

int writing::read_pointers(const tn__contents &contents, SmallVectorImpl<tn__flat_pointer> &pointers)
{
    for (const tn__contents::pointer &p : contents.pointers) {
        if (p.size != 8 || p.is_distance)
            return refuse(contents.variable, "a distance");
        pointers.push_back({uint32_t(p.offset), 0, p.addend});
        if (int code = number_of(*p.symbol, pointers.back().symbol))
            return code;
    }
    return 0;
}

static uint8_t place_of(const GlobalVariable &variable)
{
    return variable.isConstant() ? TN__FLAT_READ_ONLY : TN__FLAT_WRITABLE;
}

int writing::write_variable(const GlobalVariable &variable)
{
    SmallVector<uint8_t, 0> bytes;
    SmallVector<tn__flat_pointer, 0> pointers;
    tn__flat_data data = {};
    if (variable.getName() == "llvm.used" || variable.getName() == "llvm.compiler.used")
        return 0;
    if (const char *why = refuses(variable))
        return refuse(variable, why);
    if (int code = number_of(variable, data.symbol))
        return code;
    data.size = layout.getTypeAllocSize(variable.getValueType());
    if (data.size > TN__FLAT_LARGEST_DATA)
        return refuse(variable, "its size");
    data.place = place_of(variable);
    data.alignment = uint8_t(Log2(variable.getAlign() ? *variable.getAlign() : layout.getPreferredAlign(&variable)));
    const Constant &initial = *variable.getInitializer();
    if (!initial.isNullValue() && !isa<UndefValue>(initial)) {
        bytes.assign(data.size, 0);
        tn__contents contents = {layout, variable, bytes.data(), {}};
        if (!contents.fill(0, initial))
            return refuse(variable, contents.why);
        if (int code = read_pointers(contents, pointers))
            return code;
    }
    uint64_t needed = pointers.empty() ? 0 : pointers.back().offset + 8;
    while (bytes.size() > needed && !bytes.back())
        bytes.pop_back();
    data.bytes = bytes.data();
    data.byte_count = uint32_t(bytes.size());
    data.pointer_count = uint32_t(pointers.size());
    flat.address_count = 0; /* they were noted for nothing but their numbers */
    tn__flat_write_data(&writer, &data, pointers.data());
    return 0;
}

/* ---- symbols ---- */

static uint8_t binding_of(const GlobalValue &global)
{
    return global.hasLocalLinkage()                                      ? TN__FLAT_LOCAL
           : global.isWeakForLinker() || global.hasExternalWeakLinkage() ? TN__FLAT_WEAK
                                                                         : TN__FLAT_GLOBAL;
}

/* Something local that was left out is of another module. Those that are defined here are near in any case. */
static tn__flat_symbol symbol_of(const GlobalValue &global, const tn__code_symbol &symbol, bool is_defined)
{
    bool is_near = symbol.direct && !global.hasLocalLinkage();
    if (!is_defined && global.hasLocalLinkage())
        return {symbol.name, TN__FLAT_GLOBAL, STV_HIDDEN, TN__FLAT_DIRECT};
    return {symbol.name, binding_of(global), symbol.visibility, is_near ? uint8_t(TN__FLAT_DIRECT) : uint8_t(0)};
}

int writing::write_symbols()
{
    SmallVector<tn__flat_symbol, 0> symbols(object.symbol_count);
    for (size_t i = 0; i < symbols.size(); i++)
        symbols[i] = {object.symbols[i].name, TN__FLAT_GLOBAL, object.symbols[i].visibility, 0};
    SmallVector<bool, 0> defined(symbols.size());
    for (size_t at = 0; at < writer.functions.size; at += TN__FLAT_FUNCTION_ROW)
        defined[tn__get32(writer.functions.bytes + at)] = true;
    for (size_t at = 0; at < writer.data.size; at += TN__FLAT_DATA_ROW)
        defined[tn__get32(writer.data.bytes + at)] = true;
    for (auto &[global, number] : flattener.symbols) {
        auto &changed = const_cast<GlobalValue &>(*global);
        object.symbols[number].name = tn__flatten_name(changed, object.arena);
        if (!object.symbols[number].name)
            return tn__no_memory(err, nullptr);
        symbols[number] = symbol_of(changed, object.symbols[number], defined[number]);
    }
    for (const tn__flat_symbol &symbol : symbols)
        tn__flat_write_symbol(&writer, &symbol);
    return 0;
}

int writing::write_all()
{
    for (Function &function : module)
        if (!function.isDeclarationForLinker()) {
            int code = write_function(function);
            if (code && !(code == TN_ENOTSUP && tell))
                return code;
        }
    for (const GlobalVariable &variable : module.globals()) {
        int code = variable.isDeclarationForLinker() ? 0 : write_variable(variable);
        if (code && !(code == TN_ENOTSUP && tell))
            return code;
    }
    return write_symbols();
}

int tn__flatten_file(LLVMModuleRef module_ref, LLVMTargetMachineRef machine_ref, tn__left_function *tell, void *context,
                     tn_buffer *out, tn_error *err)
{
    Module &module = *unwrap(module_ref);
    const TargetMachine &machine = *reinterpret_cast<TargetMachine *>(machine_ref);
    const char *name = module.getModuleIdentifier().c_str();
    if (const char *why = tn__flatten_refuses(module, machine))
        return tn__fail(err, TN_ENOTSUP, "%s: the flat form cannot hold this module: %s", name, why);
    if (!tell && (!module.alias_empty() || !module.ifunc_empty()))
        return tn__fail(
            err, TN_ENOTSUP, "%s: the flat form cannot hold '%s': it is an alias", name,
            (module.alias_empty() ? module.ifuncs().begin()->getName() : module.aliases().begin()->getName())
                .str()
                .c_str());
    writing w(module, machine, tell, context, err);
    int code = w.write_all();
    return code ? code : tn__flat_write_end(&w.writer, out, err);
}
