/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A whole module. Functions that are covered become code, and then declarations, so that LLVM compiles what is left. */

#include <elf.h>

extern "C" {
#include "base/os.h"
}
#include "codegen/flatten/flattener.h"

using namespace llvm;

namespace {

/* What is kept from one function to the next. */
struct workshop {
    tn__flat flat = {};
    tn__flat_analysis analysis = {};
    tn__x64_scratch *scratch = nullptr;

    workshop() = default;
    workshop(const workshop &) = delete;
    workshop &operator=(const workshop &) = delete;
    ~workshop()
    {
        tn__flat_free(&flat);
        tn__flat_analysis_free(&analysis);
        tn__x64_scratch_free(scratch);
    }
};

struct compilation {
    Module &module;
    tn__baseline_object &object;
    tn__flattened &done;
    tn_error *err;
    workshop shop;
    tn__flattener flattener;
    tn__lines lines;
    SmallVector<Function *, 0> compiled;
    SmallVector<GlobalAlias *, 0> aliases; /* of these */

    compilation(Module &module, const TargetMachine &machine, tn__baseline_object &object, tn__flattened &done,
                tn_error *err)
        : module(module), object(object), done(done), err(err), flattener(module, machine, object, shop.flat)
    {
        flattener.takes_managed = true;
        object.code.keeps_places = !module.debug_compile_units().empty();
    }
    int compile(Function &function, const char *&why);
    int define(Function &function);
    int define_aliases(GlobalValue &of, uint32_t function);
    int name_symbols();
    int add_data(tn__left_function *tell, void *context);
};

} // namespace

static uint64_t count_time(uint64_t &sum, uint64_t begin)
{
    uint64_t now = tn__os_now_ns();
    sum += now - begin;
    return now;
}

/* ---- functions ---- */

/* A name in the object's memory; NULL if there is none, or no memory. */
static const char *copy_name(tn__baseline_object &object, StringRef name)
{
    return name.empty() ? nullptr : tn__arena_text(&object.arena, name.data(), name.size());
}

int compilation::define_aliases(GlobalValue &of, uint32_t function)
{
    for (User *user : of.users()) {
        auto *alias = dyn_cast<GlobalAlias>(user);
        if (!alias)
            continue;
        tn__baseline_datum datum = {};
        datum.symbol = flattener.symbol_of(alias);
        datum.section = TN__BASELINE_FUNCTION | function;
        datum.binding = tn__flatten_binding(*alias);
        datum.visibility = tn__flatten_visibility(*alias);
        if (flattener.no_memory || !tn__baseline_define(&object, datum))
            return tn__no_memory(err, nullptr);
        aliases.push_back(alias);
        if (int code = define_aliases(*alias, function))
            return code;
    }
    return 0;
}

/* The name of the function's own section; empty: it has none. */
static std::string section_of(const Function &function, const TargetMachine &machine)
{
    if (function.hasSection() || !machine.getFunctionSections())
        return function.getSection().str();
    return (".text." + function.getName()).str();
}

/* The symbols of the function whose code was made last. */
int compilation::define(Function &function)
{
    size_t count = object.code.function_count;
    std::string section = section_of(function, flattener.machine);
    const char *name = copy_name(object, section);
    uint32_t symbol = flattener.symbol_of(&function), group = flattener.group_of(function);
    if (flattener.no_memory || (!section.empty() && !name) ||
        !tn__grow(nullptr, &object.definitions, &object.definition_room, count, sizeof *object.definitions))
        return tn__no_memory(err, nullptr);
    object.definitions[count - 1] = {symbol,
                                     group,
                                     tn__flatten_binding(function),
                                     tn__flatten_visibility(function),
                                     flattener.retained.contains(&function),
                                     name};
    compiled.push_back(&function);
    return define_aliases(function, uint32_t(count - 1));
}

/* `why` if it is not covered. */
int compilation::compile(Function &function, const char *&why)
{
    uint64_t begin = tn__os_now_ns();
    why = tn__flatten_refuses(function);
    if (why)
        return 0;
    bool is_flat = flattener.flatten(function);
    begin = count_time(done.flatten_ns, begin);
    why = flattener.why;
    if (flattener.no_memory)
        return tn__no_memory(err, nullptr);
    if (!is_flat)
        return 0;
#ifdef TN_CHECKING
    if (int code = tn__flat_verify(&shop.flat, err))
        return code;
#endif
    if (!tn__flat_analyse(&shop.flat, &shop.analysis))
        return tn__no_memory(err, nullptr);
    begin = count_time(done.analyse_ns, begin);
    int code = tn__x64_compile(&shop.flat, &shop.analysis, object.symbols, &shop.scratch, &object.code, err);
    count_time(done.compile_ns, begin);
    if (code == TN_ENOTSUP) {
        why = "its size";
        return 0;
    }
    if (code)
        return code;
    lines.add(function, object.code, flattener.located);
    return define(function);
}

/* ---- the module that is left ---- */

/* Locals get a symbol in LLVM's object, by which the code finds them. */
const char *tn__flatten_name(GlobalValue &global, tn__arena &arena)
{
    if (global.hasPrivateLinkage())
        global.setLinkage(GlobalValue::InternalLinkage);
    if (!global.hasName())
        global.setName("unnamed");
    StringRef name = global.getName();
    if (name.starts_with("\1"))
        name = name.drop_front();
    return tn__arena_text(&arena, name.data(), name.size());
}

int compilation::name_symbols()
{
    for (auto &[global, symbol] : flattener.symbols) {
        object.symbols[symbol].name = tn__flatten_name(const_cast<GlobalValue &>(*global), object.arena);
        if (!object.symbols[symbol].name)
            return tn__no_memory(err, nullptr);
    }
    return 0;
}

int compilation::add_data(tn__left_function *tell, void *context)
{
    const GlobalValue *which;
    const char *why;
    int code = tn__flatten_data(flattener, which, why, err);
    if (!code && why)
        tell(context, wrap(which), why);
    done.is_all = !code && !why;
    return code;
}

/* The walk has left numbers of its own. */
static void number_again(Function &function)
{
    for (BasicBlock &block : function)
        block.renumberInstructions();
}

/* What is local to the module is defined in the same object all the same. */
static void declare(Function &function, bool is_local)
{
    if (is_local) {
        function.setVisibility(GlobalValue::HiddenVisibility);
        function.setDSOLocal(true);
    }
}

static void make_declaration(Function &function)
{
    bool is_local = function.hasLocalLinkage();
    function.deleteBody();
    function.clearGC();
    function.clearMetadata();
    function.setComdat(nullptr);
    declare(function, is_local);
}

static void make_declaration(Module &module, GlobalAlias &alias)
{
    auto *function = Function::Create(cast<FunctionType>(alias.getValueType()), GlobalValue::ExternalLinkage,
                                      alias.getAddressSpace(), "", &module);
    function->takeName(&alias);
    function->setVisibility(alias.getVisibility());
    function->setDSOLocal(alias.isDSOLocal());
    declare(*function, alias.hasLocalLinkage());
    alias.replaceAllUsesWith(function);
    alias.eraseFromParent();
}

/* The numbers of sections have 16 bits in symbols. A function in sections of its own has a group, its code and
 * perhaps a table of exceptions and a stack map, and these three have relocations. */
static bool has_many_sections(const Module &module, const TargetMachine &machine)
{
    enum { MOST_OF_THEIR_OWN = 9000 };
    auto is_own = [&](const GlobalObject &object) {
        bool is_apart = isa<Function>(object) ? machine.getFunctionSections() : machine.getDataSections();
        return object.hasComdat() || object.hasSection() || (is_apart && !object.isDeclarationForLinker());
    };
    SmallVector<GlobalValue *, 8> retained;
    collectUsedGlobalVariables(module, retained, false);
    return size_t(count_if(module.global_objects(), is_own)) + retained.size() > MOST_OF_THEIR_OWN;
}

static const char *refuses(const Module &module, const TargetMachine &machine)
{
    if (const char *why = tn__flatten_refuses(module, machine))
        return why;
    return has_many_sections(module, machine) ? "more sections than an object can have" : nullptr;
}

bool tn__flatten_takes(LLVMModuleRef module, LLVMTargetMachineRef machine)
{
    return !refuses(*unwrap(module), *reinterpret_cast<TargetMachine *>(machine));
}

int tn__flatten_module(LLVMModuleRef module_ref, LLVMTargetMachineRef machine_ref, tn__left_function *tell,
                       void *context, tn__baseline_object *object, tn__flattened *done, tn_error *err)
{
    Module &module = *unwrap(module_ref);
    const TargetMachine &machine = *reinterpret_cast<TargetMachine *>(machine_ref);
    const char *refused = refuses(module, machine);
    compilation c(module, machine, *object, *done, err);
    for (Function &function : module) {
        const char *why = refused;
        if (function.isDeclarationForLinker())
            continue;
        if (!refused)
            if (int code = c.compile(function, why))
                return code;
        if (why && !refused)
            number_again(function);
        done->functions += !why;
        done->left += why != nullptr;
        tell(context, wrap(&function), why);
    }
    if (!refused && !done->left)
        if (int code = c.add_data(tell, context))
            return code;
    if (!c.lines.write(module, *object))
        return tn__no_memory(err, nullptr);
    if (int code = c.name_symbols())
        return code;
    for (GlobalAlias *alias : reverse(c.aliases))
        if (!done->is_all)
            make_declaration(module, *alias);
    for (Function *function : c.compiled)
        if (!done->is_all)
            make_declaration(*function);
    return 0;
}
