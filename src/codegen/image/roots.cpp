/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Makes several modules one, by LLVM's linker of IR, reduces it to what chosen functions and variables lead to, and
 * keeps its initializers in order. LLVM's GlobalDCE would need the whole machinery of passes around it; this is a mark
 * and a sweep. */

#include "codegen/llvm/llvm_compat.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"

#include "codegen/image/multiversion.h"
#include "codegen/llvm/ir.h"

using namespace llvm;

/* Modules are linked within one context; bitcode leads from one to the other. */
bool tn__image_join(LLVMModuleRef module, LLVMModuleRef other, bool other_counts)
{
    std::unique_ptr<Module> source(unwrap(other));
    SmallVector<char, 0> bytes;
    BitcodeWriter writer(bytes);
    writer.writeModule(*source);
    writer.writeStrtab();
    std::string name = source->getModuleIdentifier();
    source.reset();
    LLVMContext &context = unwrap(module)->getContext();
    auto read = parseBitcodeFile(MemoryBufferRef(StringRef(bytes.data(), bytes.size()), name), context);
    if (!read) {
        context.emitError(toString(read.takeError()));
        return false;
    }
    return !Linker::linkModules(*unwrap(module), std::move(*read),
                                other_counts ? Linker::Flags::OverrideFromSrc : Linker::Flags::None);
}

/* What these lead to, with themselves. */
static DenseSet<const Value *> reachable_from(ArrayRef<const Value *> roots)
{
    DenseSet<const Value *> seen;
    SmallVector<const Value *, 32> work;
    auto add = [&](const Value *value) {
        if (isa<Constant>(value) && seen.insert(value).second)
            work.push_back(value);
    };
    for_each(roots, add);
    while (!work.empty()) {
        const Value *value = work.pop_back_val();
        for_each(cast<User>(value)->operand_values(), add); /* of a function: personality and the like */
        if (auto *function = dyn_cast<Function>(value))
            for (const Instruction &instruction : instructions(*function))
                for_each(instruction.operand_values(), add);
    }
    return seen;
}

static void erase_all_but(Module &module, const DenseSet<const Value *> &marked)
{
    SmallVector<GlobalValue *, 32> dead;
    for (GlobalValue &global : module.global_values())
        if (!marked.contains(&global) && !tn__is_llvms(global))
            dead.push_back(&global);
    for (GlobalValue *global : dead) /* dead globals may refer to each other: all references are dropped first */
        if (auto *function = dyn_cast<Function>(global))
            function->dropAllReferences();
        else
            cast<User>(global)->dropAllReferences();
    for (GlobalValue *global : dead) {
        global->removeDeadConstantUsers();
        global->replaceAllUsesWith(PoisonValue::get(global->getType())); /* in metadata and dead constants */
        global->eraseFromParent();
    }
}

bool tn__mv_defines(LLVMModuleRef module, const char *name, bool *is_local)
{
    const GlobalValue *global = unwrap(module)->getNamedValue(name);
    bool defined = global && !global->isDeclaration();
    *is_local = defined && global->hasLocalLinkage();
    return defined && !*is_local;
}

static StringRef signature_of(const GlobalValue *global)
{
    auto *function = dyn_cast_or_null<Function>(global);
    bool is_public = function && !function->isDeclaration() && !function->hasLocalLinkage();
    return is_public ? function->getFnAttribute("tenon.signature").getValueAsString() : StringRef();
}

void tn__mv_find_signatures(LLVMModuleRef ref, const char *const *signatures, size_t count, const char **names)
{
    const Module &module = *unwrap(ref);
    StringMap<const char *> found;
    for (const Function &function : module)
        if (StringRef signature = signature_of(&function); !signature.empty())
            found.try_emplace(signature, function.getName().data());
    for (size_t i = 0; i < count; i++)
        if (!signatures[i])
            names[i] = nullptr;
        else if (signature_of(module.getNamedValue(names[i])) != signatures[i])
            names[i] = found.lookup(signatures[i]);
}

/* What the module's assembly may name: each of its words, were it in a comment; also behind the $ of an immediate. */
static SmallSetVector<const GlobalValue *, 32> named_by_assembly(const Module &module)
{
    static const char in_names[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$";
    StringRef text = module.getModuleInlineAsm();
    SmallSetVector<const GlobalValue *, 32> named;
    for (size_t at = 0; (at = text.find_first_of(in_names, at)) != StringRef::npos;) {
        size_t end = text.find_first_not_of(in_names, at);
        StringRef word = text.slice(at, end);
        for (StringRef name : {word, word.ltrim('$')})
            if (const GlobalValue *global = module.getNamedValue(name))
                named.insert(global);
        at = end;
    }
    return named;
}

void tn__mv_each_undefined(LLVMModuleRef ref, void (*visit)(void *context, const char *name), void *context)
{
    const Module &module = *unwrap(ref);
    auto named = named_by_assembly(module);
    auto look = [&](const GlobalValue &global) {
        if (global.isDeclaration() && !global.use_empty() && !global.hasExternalWeakLinkage() &&
            !named.contains(&global))
            visit(context, global.getName().data());
    };
    for_each(module.functions(), look);
    for_each(module.globals(), look);
}

void tn__mv_keep(LLVMModuleRef ref, const char *const *roots, size_t count)
{
    Module &module = *unwrap(ref);
    SmallSetVector<const Value *, 32> kept;
    for (size_t i = 0; i < count; i++)
        kept.insert(module.getNamedValue(roots[i]));
    for (const GlobalValue *global : named_by_assembly(module))
        if (tn__is_defined(*global))
            kept.insert(global);
    for (const GlobalValue &global : module.global_values())
        if (tn__is_llvms(global) && !global.isDeclaration()) /* whatever they name is needed */
            kept.insert(&global);
    erase_all_but(module, reachable_from(kept.getArrayRef()));
    /* What may be called from outside is what was asked for, or what the system calls. */
    for (GlobalValue &global : module.global_values())
        if (!kept.contains(&global) && tn__is_defined(global)) {
            global.setLinkage(GlobalValue::InternalLinkage);
            global.setVisibility(GlobalValue::DefaultVisibility);
        }
}

static void drop_keys(GlobalVariable *list)
{
    if (!list || !list->hasInitializer() || !isa<ConstantArray>(list->getInitializer()))
        return;
    auto *array = cast<ConstantArray>(list->getInitializer());
    SmallVector<Constant *, 32> entries;
    for (const Use &use : array->operands()) {
        auto *entry = cast<ConstantStruct>(use.get());
        auto *key = entry->getOperand(2);
        entries.push_back(ConstantStruct::get(
            entry->getType(), {entry->getOperand(0), entry->getOperand(1), Constant::getNullValue(key->getType())}));
    }
    list->setInitializer(ConstantArray::get(array->getType(), entries));
}

void tn__mv_drop_keys(LLVMModuleRef module)
{
    for (const char *name : {"llvm.global_ctors", "llvm.global_dtors"})
        drop_keys(unwrap(module)->getNamedGlobal(name));
}
