/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a module says of symbols: their types as the ABI sees them, and facts (doc/PACKAGES.md). */

#include "codegen/llvm/llvm_compat.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"

#include "codegen/image/bodies.h"
#include "codegen/image/multiversion.h"
#include "codegen/llvm/ir.h"

using namespace llvm;

/* ---- types ---- */

/* Names of structs do not matter, members do. */
void tn__print_type(raw_ostream &out, Type *type)
{
    auto print_all = [&](const char *open, ArrayRef<Type *> members, const char *close) {
        out << open;
        for (size_t i = 0; i < members.size(); i++) {
            out << (i ? ", " : "");
            tn__print_type(out, members[i]);
        }
        out << close;
    };
    if (auto *record = dyn_cast<StructType>(type)) {
        if (record->isOpaque())
            out << "opaque";
        else
            print_all(record->isPacked() ? "<{" : "{", record->elements(), record->isPacked() ? "}>" : "}");
    } else if (auto *array = dyn_cast<ArrayType>(type)) {
        print_all(("[" + std::to_string(array->getNumElements()) + " x ").c_str(), array->getElementType(), "]");
    } else {
        type->print(out, /*IsForDebug=*/false, /*NoDetails=*/true);
    }
}

/* Attributes of a value that callers and callees have to agree on. */
static void print_attributes(raw_ostream &out, AttributeSet attributes)
{
    static const Attribute::AttrKind plain[] = {Attribute::ZExt,      Attribute::SExt,      Attribute::InReg,
                                                Attribute::Nest,      Attribute::SwiftSelf, Attribute::SwiftAsync,
                                                Attribute::SwiftError};
    static const Attribute::AttrKind typed[] = {Attribute::StructRet, Attribute::ByVal, Attribute::ByRef,
                                                Attribute::InAlloca, Attribute::Preallocated};
    bool is_memory = false;
    for (Attribute::AttrKind kind : plain)
        if (attributes.hasAttribute(kind))
            out << ' ' << Attribute::getNameFromAttrKind(kind);
    for (Attribute::AttrKind kind : typed)
        if (attributes.hasAttribute(kind)) {
            out << ' ' << Attribute::getNameFromAttrKind(kind) << '(';
            tn__print_type(out, attributes.getAttribute(kind).getValueAsType());
            out << ')';
            is_memory = true;
        }
    if (is_memory && attributes.getAlignment())
        out << " align " << attributes.getAlignment()->value();
    if (attributes.getStackAlignment())
        out << " stackalign " << attributes.getStackAlignment()->value();
}

/* RESULT (PARAMETER, ...), after the number of a calling convention that is not C's. */
static std::string function_text(const Function &function)
{
    std::string text;
    raw_string_ostream out(text);
    const FunctionType *type = function.getFunctionType();
    if (function.getCallingConv())
        out << "cc " << function.getCallingConv() << ' ';
    tn__print_type(out, type->getReturnType());
    print_attributes(out, function.getAttributes().getRetAttrs());
    out << " (";
    for (unsigned i = 0; i < type->getNumParams(); i++) {
        out << (i ? ", " : "");
        tn__print_type(out, type->getParamType(i));
        print_attributes(out, function.getAttributes().getParamAttrs(i));
    }
    if (type->isVarArg())
        out << (type->getNumParams() ? ", ..." : "...");
    out << ')';
    return out.str();
}

static const char *model_text(const GlobalValue &global)
{
    switch (global.getThreadLocalMode()) {
    case GlobalValue::GeneralDynamicTLSModel:
        return "general-dynamic";
    case GlobalValue::LocalDynamicTLSModel:
        return "local-dynamic";
    case GlobalValue::InitialExecTLSModel:
        return "initial-exec";
    case GlobalValue::LocalExecTLSModel:
        return "local-exec";
    default:
        return "";
    }
}

/* ---- symbols ---- */

/* A name that begins with 1 is meant as it is. */
static StringRef plain_name(const GlobalValue &global)
{
    StringRef name = global.getName();
    name.consume_front("\1");
    return name;
}

/* C++ code knows the typeinfo of another file by its address alone: front ends declare it as a pointer, whatever size
 * it is defined with (Itanium C++ ABI, section 2.9.5). */
static bool has_unknown_size(const GlobalValue &global)
{
    return global.isDeclaration() && plain_name(global).starts_with("_ZTI");
}

static bool is_of_interest(const GlobalValue &global)
{
    StringRef name = plain_name(global);
    if (tn__is_llvms(global) || isa<GlobalIFunc>(global) || name.starts_with("tenon.") || name.starts_with("julia."))
        return false;
    if (global.isDeclarationForLinker())
        return !global.use_empty();
    return isa<Function>(global) || global.isThreadLocal() ? tn__is_public(global) : tn__is_offered(global);
}

bool tn__mv_each_symbol(LLVMModuleRef ref, tn__mv_visit_symbol *visit, void *context)
{
    const Module &module = *unwrap(ref);
    const DataLayout &layout = module.getDataLayout();
    for (const GlobalValue &global : module.global_values()) {
        if (!is_of_interest(global))
            continue;
        const GlobalObject *object = global.getAliaseeObject();
        auto *function = dyn_cast_or_null<Function>(object);
        auto *variable = dyn_cast_or_null<GlobalVariable>(object);
        std::string name = plain_name(global).str(), text = function ? function_text(*function) : model_text(global);
        tn__mv_symbol symbol = {name.c_str(),           text.c_str(),           0,    0, function != nullptr,
                                global.isThreadLocal(), tn__is_defined(global), false};
        Type *type = global.getValueType();
        if (function)
            symbol.is_open =
                global.isDeclaration() && type->getFunctionNumParams() == 0 && cast<FunctionType>(type)->isVarArg();
        else if (type->isSized() && !has_unknown_size(global))
            symbol.size = layout.getTypeAllocSize(type).getFixedValue();
        if (variable)
            symbol.alignment = (uint32_t)(global.isDeclaration() ? variable->getAlign().valueOrOne()
                                                                 : variable->getPointerAlignment(layout))
                                   .value();
        if (!visit(context, &symbol))
            return false;
    }
    return true;
}

bool tn__mv_has_public(LLVMModuleRef ref, const char *name)
{
    const Module &module = *unwrap(ref);
    const GlobalValue *global = module.getNamedValue(name);
    if (!global)
        global = module.getNamedValue(std::string("\1") + name);
    return global && is_of_interest(*global) && !global->isDeclaration();
}

/* ---- facts ---- */

bool tn__mv_each_fact(LLVMModuleRef ref, tn__mv_visit_fact *visit, void *context)
{
    const NamedMDNode *facts = unwrap(ref)->getNamedMetadata("tenon.facts");
    for (unsigned i = 0; facts && i < facts->getNumOperands(); i++) {
        const MDNode *node = facts->getOperand(i);
        auto text = [&](unsigned n) {
            return node->getNumOperands() == 2 ? dyn_cast_or_null<MDString>(node->getOperand(n).get()) : nullptr;
        };
        bool good = text(0) && text(1);
        std::string key = good ? text(0)->getString().str() : "", digest = good ? text(1)->getString().str() : "";
        if (!visit(context, good ? key.c_str() : nullptr, digest.c_str()))
            return false;
    }
    return true;
}
