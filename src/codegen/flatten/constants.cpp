/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <elf.h>

#include "llvm/IR/Constants.h"
#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Operator.h"

#include "codegen/flatten/flattener.h"
#include "codegen/managed/ir/gc.h"

using namespace llvm;

enum { MOST_LEAVES = 64 };

/* ---- types ---- */

static unsigned integer_type(unsigned width)
{
    switch (width) {
    case 1:
        return TN__FLAT_I1;
    case 8:
        return TN__FLAT_I8;
    case 16:
        return TN__FLAT_I16;
    case 32:
        return TN__FLAT_I32;
    case 64:
        return TN__FLAT_I64;
    default:
        return width > 64   ? TN__FLAT_VOID
               : width > 32 ? TN__FLAT_I64
               : width > 16 ? TN__FLAT_I32
               : width > 8  ? TN__FLAT_I16
                            : TN__FLAT_I8;
    }
}

/* The collector knows pointers of these address spaces (doc/IR.md). */
static bool is_managed(unsigned space)
{
    return space >= TRACKED && space <= LOADED;
}

unsigned tn__flattener::type_of(const Type *type)
{
    unsigned found;
    switch (type->getTypeID()) {
    case Type::IntegerTyID:
        found = integer_type(type->getIntegerBitWidth());
        is_wide |= type->getIntegerBitWidth() == 128;
        if (!found)
            refuse(type->getIntegerBitWidth() == 128 ? "i128" : "a wide integer");
        is_odd |= found > TN__FLAT_I1 && type->getIntegerBitWidth() != 8 * tn__flat_size(found);
        return found;
    case Type::PointerTyID:
        if (type->getPointerAddressSpace() == 0 || (takes_managed && is_managed(type->getPointerAddressSpace())))
            return TN__FLAT_PTR;
        refuse("a pointer of another address space");
        return TN__FLAT_VOID;
    case Type::FloatTyID:
        return TN__FLAT_F32;
    case Type::DoubleTyID:
        return TN__FLAT_F64;
    case Type::X86_FP80TyID:
        return TN__FLAT_F80;
    case Type::FixedVectorTyID:
    case Type::ScalableVectorTyID:
        refuse("a vector");
        return TN__FLAT_VOID;
    case Type::StructTyID:
    case Type::ArrayTyID:
        refuse("an aggregate where only scalars are covered");
        return TN__FLAT_VOID;
    default:
        refuse("a value of another type");
        return TN__FLAT_VOID;
    }
}

bool tn__flattener::leaves_of(Type *type, uint64_t offset, tn__leaves &leaves)
{
    if (leaves.size() > MOST_LEAVES)
        return refuse("a large aggregate");
    if (auto *record = dyn_cast<StructType>(type)) {
        const StructLayout *places = layout.getStructLayout(record);
        for (unsigned i = 0; i < record->getNumElements(); i++)
            if (!leaves_of(record->getElementType(i), offset + places->getElementOffset(i), leaves))
                return false;
        return true;
    }
    if (auto *array = dyn_cast<ArrayType>(type)) {
        if (array->getNumElements() > MOST_LEAVES)
            return refuse("a large aggregate");
        uint64_t step = layout.getTypeAllocSize(array->getElementType());
        for (uint64_t i = 0; i < array->getNumElements(); i++)
            if (!leaves_of(array->getElementType(), offset + i * step, leaves))
                return false;
        return true;
    }
    if (auto *vector = dyn_cast<FixedVectorType>(type))
        return lanes_of(*vector, offset, leaves);
    if (type->isIntegerTy(128)) {
        leaves.push_back({TN__FLAT_I64, offset, true});
        leaves.push_back({TN__FLAT_I64, offset + 8});
        return true;
    }
    unsigned found = type_of(type);
    leaves.push_back({uint8_t(found), offset});
    return found != TN__FLAT_VOID;
}

bool tn__flattener::lanes_of(FixedVectorType &vector, uint64_t offset, tn__leaves &leaves)
{
    unsigned found = type_of(vector.getElementType()), size = tn__flat_size(found);
    if (!found || found == TN__FLAT_F80 || leaves.size() + vector.getNumElements() > MOST_LEAVES)
        return refuse("a large vector");
    for (unsigned i = 0; i < vector.getNumElements(); i++)
        leaves.push_back({uint8_t(found), found == TN__FLAT_I1 ? uint64_t(tn__leaf::NOWHERE) : offset + i * size});
    return true;
}

/* ---- symbols ---- */

/* Weak definitions that may be missing are null then, which no distance from the code is. */
static bool is_direct(const TargetMachine &machine, const GlobalValue &global)
{
    return !global.hasExternalWeakLinkage() && machine.shouldAssumeDSOLocal(&global);
}

uint32_t tn__flattener::address_of(const GlobalValue *global, int64_t addend)
{
    auto *variable = dyn_cast<GlobalVariable>(global);
    bool is_elsewhere = (variable && variable->getCodeModel()) || global->isAbsoluteSymbolRef();
    if (global->isThreadLocal() || global->getAddressSpace() || addend != int32_t(addend) || is_elsewhere) {
        refuse(global->isThreadLocal() ? "a thread-local variable" : "an address");
        return 0;
    }
    return symbol_address(global, addend);
}

uint32_t tn__flattener::thread_local_of(const GlobalVariable *variable)
{
    if (variable->getCodeModel() || variable->getAddressSpace())
        return refuse("an address"), 0;
    return symbol_address(variable, 0);
}

uint32_t tn__flattener::symbol_of(const GlobalValue *global)
{
    auto [found, is_new] = symbols.try_emplace(global, uint32_t(object.symbol_count));
    if (is_new) {
        if (!grow(object.symbols, object.symbol_room, object.symbol_count + 1))
            return 0;
        object.symbols[object.symbol_count++] = {nullptr, is_direct(machine, *global), global->hasExternalWeakLinkage(),
                                                 tn__flatten_visibility(*global)};
    }
    return found->second;
}

uint32_t tn__flattener::symbol_address(const GlobalValue *global, int64_t addend)
{
    uint32_t symbol = symbol_of(global);
    if (no_memory || !grow(flat.addresses, flat.address_room, flat.address_count + 1))
        return 0;
    flat.addresses[flat.address_count] = {symbol, int32_t(addend)};
    return TN__FLAT_SYMBOL | uint32_t(flat.address_count++);
}

/* A function that the module defines may be the one at hand, or call it: LLVM makes few such calls. */
uint32_t tn__flattener::library_function(const char *name)
{
    const GlobalValue *global = module.getNamedValue(name);
    if (global && !global->isDeclaration())
        return refuse("a call of a library function that the module defines");
    if (global)
        return address_of(global, 0);
    auto [found, is_new] = libcalls.try_emplace(name, uint32_t(object.symbol_count));
    if (is_new) {
        if (!grow(object.symbols, object.symbol_room, object.symbol_count + 1))
            return 0;
        object.symbols[object.symbol_count++] = {name, false, false, STV_DEFAULT};
    }
    if (!grow(flat.addresses, flat.address_room, flat.address_count + 1))
        return 0;
    flat.addresses[flat.address_count] = {found->second, 0};
    return TN__FLAT_SYMBOL | uint32_t(flat.address_count++);
}

/* ---- constants ---- */

uint32_t tn__flattener::number(uint64_t value)
{
    int64_t wide = int64_t(value);
    if (wide >= -(1 << 29) && wide < 1 << 29)
        return TN__FLAT_IMMEDIATE | (uint32_t(wide) & ~uint32_t(TN__FLAT_KIND));
    if (!grow(flat.constants, flat.constant_room, flat.constant_count + 1))
        return 0;
    flat.constants[flat.constant_count] = value;
    return TN__FLAT_CONSTANT | uint32_t(flat.constant_count++);
}

/* Two numbers that follow each other, unless it is zero. */
uint32_t tn__flattener::wide_number(const APInt &value)
{
    if (value.isZero())
        return number(0);
    if (!grow(flat.constants, flat.constant_room, flat.constant_count + 2))
        return 0;
    uint32_t first = uint32_t(flat.constant_count);
    for (unsigned i = 0; i < 2; i++)
        flat.constants[flat.constant_count++] = value.getRawData()[i];
    return TN__FLAT_CONSTANT | first;
}

const Constant *tn__flatten_origin(const DataLayout &layout, const Constant *constant, int64_t &addend)
{
    APInt offset(64, 0);
    while (auto *expression = dyn_cast<ConstantExpr>(constant)) {
        if (layout.getTypeSizeInBits(expression->getType()) != TypeSize::getFixed(64))
            return nullptr;
        if (auto *sum = dyn_cast<GEPOperator>(expression)) {
            if (!sum->accumulateConstantOffset(layout, offset))
                return nullptr;
        } else if (expression->getOpcode() != Instruction::PtrToInt &&
                   expression->getOpcode() != Instruction::IntToPtr &&
                   expression->getOpcode() != Instruction::BitCast &&
                   expression->getOpcode() != Instruction::AddrSpaceCast)
            return nullptr;
        constant = expression->getOperand(0);
    }
    addend = offset.getSExtValue();
    return constant;
}

uint32_t tn__flattener::constant(const Constant *constant)
{
    if (auto *integer = dyn_cast<ConstantInt>(constant)) {
        if (integer->getBitWidth() <= 64)
            return number(uint64_t(integer->getSExtValue()));
    } else if (isa<ConstantPointerNull>(constant) || isa<UndefValue>(constant)) {
        return number(0);
    } else if (auto *real = dyn_cast<ConstantFP>(constant)) {
        if (real->getType()->isFloatTy() || real->getType()->isDoubleTy())
            return number(real->getValueAPF().bitcastToAPInt().getZExtValue());
        if (real->getType()->isX86_FP80Ty())
            return wide_number(real->getValueAPF().bitcastToAPInt());
    } else if (constant->getType()->isPointerTy() || constant->getType()->isIntegerTy(64)) {
        int64_t addend;
        const Constant *origin = tn__flatten_origin(layout, constant, addend);
        if (auto *global = dyn_cast_or_null<GlobalValue>(origin))
            return address_of(global, addend);
        if (isa_and_nonnull<ConstantPointerNull>(origin))
            return number(uint64_t(addend));
        if (auto *integer = dyn_cast_or_null<ConstantInt>(origin)) /* as a pointer */
            return number(integer->getValue().zextOrTrunc(64).getZExtValue() + uint64_t(addend));
    }
    refuse("a constant expression");
    return 0;
}

uint32_t tn__flattener::constant_part(const Constant *aggregate, unsigned part)
{
    if (aggregate->getType()->isVectorTy()) {
        const Constant *element = aggregate->getAggregateElement(part);
        return element ? constant(element) : (refuse("a constant vector"), 0);
    }
    if (aggregate->getType()->isIntegerTy(128) && isa<ConstantInt>(aggregate))
        return number(cast<ConstantInt>(aggregate)->getValue().extractBitsAsZExtValue(64, 64 * part));
    if (!aggregate->getType()->isAggregateType())
        return constant(aggregate);
    unsigned count = aggregate->getType()->isStructTy() ? aggregate->getType()->getStructNumElements()
                                                        : unsigned(aggregate->getType()->getArrayNumElements());
    for (unsigned i = 0; i < count; i++) {
        const Constant *element = aggregate->getAggregateElement(i);
        tn__leaves leaves;
        if (!element || !leaves_of(element->getType(), 0, leaves))
            break;
        if (part < leaves.size())
            return constant_part(element, part);
        part -= unsigned(leaves.size());
    }
    refuse("a constant aggregate");
    return 0;
}
