/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Initial values of variables, as bytes and addresses. */

#include "llvm/IR/Constants.h"

#include "codegen/flatten/flattener.h"

using namespace llvm;

namespace {

/* A number that is known when the program is linked. */
struct term {
    const GlobalValue *plus = nullptr, *minus = nullptr;
    uint64_t number = 0; /* modulo the width of the value */
};

} // namespace

static bool is_sum(const ConstantExpr &expression)
{
    return expression.getOpcode() == Instruction::Add || expression.getOpcode() == Instruction::Sub;
}

static bool evaluate(const DataLayout &layout, const Constant &value, term &result)
{
    auto *expression = dyn_cast<ConstantExpr>(&value);
    if (expression && expression->getOpcode() == Instruction::Trunc)
        return evaluate(layout, *expression->getOperand(0), result);
    if (expression && is_sum(*expression)) {
        term left, right;
        if (!evaluate(layout, *expression->getOperand(0), left) || !evaluate(layout, *expression->getOperand(1), right))
            return false;
        if (expression->getOpcode() == Instruction::Sub) {
            std::swap(right.plus, right.minus);
            right.number = -right.number;
        }
        if ((left.plus && right.plus) || (left.minus && right.minus))
            return false;
        result = {left.plus ? left.plus : right.plus, left.minus ? left.minus : right.minus,
                  left.number + right.number};
        return true;
    }
    int64_t addend = 0;
    const Constant *origin = tn__flatten_origin(layout, &value, addend);
    result = {dyn_cast_or_null<GlobalValue>(origin), nullptr, uint64_t(addend)};
    if (auto *integer = dyn_cast_or_null<ConstantInt>(origin); integer && integer->getBitWidth() <= 64)
        result.number += integer->getZExtValue();
    else if (!result.plus && !isa_and_nonnull<ConstantPointerNull>(origin))
        return false;
    return true;
}

static void put_number(uint8_t *to, const APInt &number)
{
    for (unsigned i = 0; i * 8 < number.getBitWidth(); i++)
        to[i] = uint8_t(number.extractBitsAsZExtValue(std::min(8u, number.getBitWidth() - i * 8), i * 8));
}

/* A step of 0: elements that are not whole bytes. */
static uint64_t step_of(const DataLayout &layout, Type *type)
{
    if (!isa<FixedVectorType>(type))
        return layout.getTypeAllocSize(type->getArrayElementType());
    uint64_t bits = layout.getTypeSizeInBits(cast<FixedVectorType>(type)->getElementType());
    return bits % 8 ? 0 : bits / 8;
}

static bool refuse(tn__contents &contents, const char *why)
{
    contents.why = why;
    return false;
}

static bool fill_parts(tn__contents &c, uint64_t at, const Constant &value)
{
    auto *record = dyn_cast<StructType>(value.getType());
    const StructLayout *places = record ? c.layout.getStructLayout(record) : nullptr;
    uint64_t step = record ? 0 : step_of(c.layout, value.getType());
    if (!record && !step && c.layout.getTypeAllocSize(value.getType()))
        return refuse(c, "a vector of bits");
    for (unsigned i = 0; i < value.getNumOperands(); i++) {
        uint64_t offset = record ? places->getElementOffset(i).getFixedValue() : i * step;
        if (!c.fill(at + offset, *cast<Constant>(value.getOperand(i))))
            return false;
    }
    return true;
}

/* A distance is from the variable, whose own place is known with the relocation's. */
static bool fill_term(tn__contents &c, uint64_t at, const Constant &value)
{
    term result;
    uint64_t size = c.layout.getTypeStoreSize(value.getType());
    bool is_whole = c.layout.getTypeSizeInBits(value.getType()).getFixedValue() == 8 * size;
    if (!is_whole || size > 8 || !evaluate(c.layout, value, result))
        return refuse(c, "a constant expression");
    if (result.plus == result.minus) {
        put_number(c.bytes + at, APInt(64, result.number).trunc(unsigned(8 * size)));
        return true;
    }
    bool is_distance = result.minus == &c.variable;
    if (!result.plus || (result.minus && !is_distance) || (size != 8 && !(size == 4 && is_distance)))
        return refuse(c, "a constant expression");
    if (result.plus->isThreadLocal() || result.plus->isAbsoluteSymbolRef())
        return refuse(c, "an address of another kind");
    uint64_t addend = result.number + (is_distance ? at : 0);
    c.pointers.push_back({at, size, result.plus, is_distance, int64_t(size == 4 ? uint64_t(int32_t(addend)) : addend)});
    return true;
}

bool tn__contents::fill(uint64_t at, const Constant &value)
{
    Type *type = value.getType();
    if (value.isNullValue() || isa<UndefValue>(value))
        return true;
    if (isa<ConstantAggregate>(value))
        return fill_parts(*this, at, value);
    if (auto *numbers = dyn_cast<ConstantDataSequential>(&value)) {
        StringRef raw = numbers->getRawDataValues();
        std::copy(raw.begin(), raw.end(), bytes + at);
        return true;
    }
    if (type->isVectorTy())
        return refuse(*this, "a constant vector");
    if (auto *integer = dyn_cast<ConstantInt>(&value)) {
        put_number(bytes + at, integer->getValue());
        return true;
    }
    if (auto *real = dyn_cast<ConstantFP>(&value)) {
        put_number(bytes + at, real->getValueAPF().bitcastToAPInt());
        return true;
    }
    return fill_term(*this, at, value);
}
