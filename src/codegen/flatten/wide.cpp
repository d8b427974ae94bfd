/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Integers of 128 bits: two values of 64 bits, of which the lower half is the first. What only moves them takes them
 * for aggregates; here is what computes with them. */

#include "llvm/IR/Constants.h"
#include "llvm/IR/Intrinsics.h"

#include "codegen/flatten/walk.h"

using namespace llvm;

namespace {

struct halves {
    uint32_t low, high;
};

struct wide {
    tn__walk &w;

    halves of(const Value *value) const
    {
        uint32_t low = w.part_of(value, 0, TN__FLAT_I64);
        return {low, w.part_of(value, 1, TN__FLAT_I64)};
    }
    uint32_t number(uint64_t value) const
    {
        return w.f.number(value);
    }
    uint32_t op(unsigned operation, uint32_t a, uint32_t b, unsigned sub = 0) const
    {
        return w.combine(operation, TN__FLAT_I64, {a, b}, sub);
    }
    uint32_t choose(uint32_t condition, uint32_t a, uint32_t b) const
    {
        return w.combine(TN__FLAT_SELECT, TN__FLAT_I64, {condition, a, b});
    }
    /* 1 or 0. */
    uint32_t is(unsigned condition, uint32_t a, uint32_t b) const
    {
        uint32_t bit = op(TN__FLAT_ICMP, a, b, condition);
        return w.combine(TN__FLAT_ZEXT, TN__FLAT_I64, {bit}, TN__FLAT_I1);
    }
    void give(const Instruction &instruction, halves value) const
    {
        static const tn__leaf leaf = {TN__FLAT_I64, 0};
        w.give(instruction, {leaf, leaf}, {value.low, value.high});
    }
};

} // namespace

/* ---- arithmetic ---- */

static halves sum(const wide &x, halves a, halves b)
{
    uint32_t low = x.op(TN__FLAT_ADD, a.low, b.low), carry = x.is(TN__FLAT_ULT, low, a.low);
    uint32_t high = x.op(TN__FLAT_ADD, a.high, b.high);
    return {low, x.op(TN__FLAT_ADD, high, carry)};
}

static halves difference(const wide &x, halves a, halves b)
{
    uint32_t borrow = x.is(TN__FLAT_ULT, a.low, b.low), high = x.op(TN__FLAT_SUB, a.high, b.high);
    high = x.op(TN__FLAT_SUB, high, borrow);
    return {x.op(TN__FLAT_SUB, a.low, b.low), high};
}

static halves product(const wide &x, halves a, halves b)
{
    uint32_t high = x.op(TN__FLAT_MULH, a.low, b.low);
    high = x.op(TN__FLAT_ADD, high, x.op(TN__FLAT_MUL, a.low, b.high));
    high = x.op(TN__FLAT_ADD, high, x.op(TN__FLAT_MUL, a.high, b.low));
    return {x.op(TN__FLAT_MUL, a.low, b.low), high};
}

/* By less than 64 bits and a multiple of 64. What leaves one half enters the other one: a shift by 64 would not be
 * defined, so it is one by 1 and one by the rest. */
static halves shifted(const wide &x, unsigned op, halves a, uint32_t amount)
{
    bool to_left = op == TN__FLAT_SHL;
    unsigned other = to_left ? TN__FLAT_LSHR : TN__FLAT_SHL;
    uint32_t last = x.number(63), few = x.op(TN__FLAT_AND, amount, last), rest = x.op(TN__FLAT_XOR, few, last);
    uint32_t is_large = x.op(TN__FLAT_ICMP, x.op(TN__FLAT_AND, amount, x.number(64)), x.number(0), TN__FLAT_NE);
    uint32_t from = to_left ? a.low : a.high, to = to_left ? a.high : a.low;
    uint32_t moved = x.op(op, from, few), carried = x.op(other, x.op(other, from, x.number(1)), rest);
    uint32_t kept = x.op(TN__FLAT_OR, x.op(to_left ? TN__FLAT_SHL : TN__FLAT_LSHR, to, few), carried);
    uint32_t empty = op == TN__FLAT_ASHR ? x.op(TN__FLAT_ASHR, from, last) : x.number(0);
    uint32_t first = x.choose(is_large, empty, moved), second = x.choose(is_large, moved, kept);
    return to_left ? halves{first, second} : halves{second, first};
}

/* A function of the compiler's library. */
static uint32_t call(const wide &x, const char *name, unsigned type, std::initializer_list<halves> operands)
{
    uint32_t callee = x.w.f.library_function(name), value = x.w.combine(TN__FLAT_CALL, type, {callee});
    for (halves operand : operands)
        for (uint32_t number :
             {operand.low, uint32_t(TN__FLAT_I64 | TN__FLAT_WHOLE), 0u, operand.high, uint32_t(TN__FLAT_I64), 0u})
            x.w.put(number);
    return value;
}

static halves call_pair(const wide &x, const char *name, std::initializer_list<halves> operands)
{
    uint32_t low = call(x, name, TN__FLAT_I64, operands);
    return {low, x.w.combine(TN__FLAT_RESULT, TN__FLAT_I64, {}, 1)};
}

static halves binary(const wide &x, const BinaryOperator &instruction)
{
    halves a = x.of(instruction.getOperand(0)), b = x.of(instruction.getOperand(1));
    auto both = [&](unsigned op) { return halves{x.op(op, a.low, b.low), x.op(op, a.high, b.high)}; };
    switch (instruction.getOpcode()) {
    case Instruction::Add:
        return sum(x, a, b);
    case Instruction::Sub:
        return difference(x, a, b);
    case Instruction::Mul:
        return product(x, a, b);
    case Instruction::And:
        return both(TN__FLAT_AND);
    case Instruction::Or:
        return both(TN__FLAT_OR);
    case Instruction::Xor:
        return both(TN__FLAT_XOR);
    case Instruction::Shl:
        return shifted(x, TN__FLAT_SHL, a, b.low);
    case Instruction::LShr:
        return shifted(x, TN__FLAT_LSHR, a, b.low);
    case Instruction::AShr:
        return shifted(x, TN__FLAT_ASHR, a, b.low);
    case Instruction::UDiv:
        return call_pair(x, "__udivti3", {a, b});
    case Instruction::SDiv:
        return call_pair(x, "__divti3", {a, b});
    case Instruction::URem:
        return call_pair(x, "__umodti3", {a, b});
    default:
        return call_pair(x, "__modti3", {a, b});
    }
}

/* ---- comparisons ---- */

/* The lower halves decide, as unsigned ones, where the upper halves are equal. */
static uint32_t compared(const wide &x, unsigned condition, halves a, halves b)
{
    static const uint8_t of_low[TN__FLAT_CONDITIONS] = {TN__FLAT_EQ,  TN__FLAT_NE,  TN__FLAT_UGT, TN__FLAT_UGE,
                                                        TN__FLAT_ULT, TN__FLAT_ULE, TN__FLAT_UGT, TN__FLAT_UGE,
                                                        TN__FLAT_ULT, TN__FLAT_ULE};
    if (condition == TN__FLAT_EQ || condition == TN__FLAT_NE) {
        uint32_t low = x.op(TN__FLAT_XOR, a.low, b.low), high = x.op(TN__FLAT_XOR, a.high, b.high);
        return x.op(TN__FLAT_ICMP, x.op(TN__FLAT_OR, low, high), x.number(0), condition);
    }
    uint32_t low = x.op(TN__FLAT_ICMP, a.low, b.low, of_low[condition]);
    uint32_t high = x.op(TN__FLAT_ICMP, a.high, b.high, condition);
    uint32_t is_equal = x.op(TN__FLAT_ICMP, a.high, b.high, TN__FLAT_EQ);
    return x.w.combine(TN__FLAT_SELECT, TN__FLAT_I1, {is_equal, low, high});
}

void tn__walk::flatten_wide_compare(const ICmpInst &instruction, unsigned condition)
{
    wide x = {*this};
    halves a = x.of(instruction.getOperand(0)), b = x.of(instruction.getOperand(1));
    own_at(instruction, compared(x, condition, a, b));
}

/* ---- conversions ---- */

static halves extended(const wide &x, const CastInst &instruction, bool is_signed)
{
    const Value *value = instruction.getOperand(0);
    unsigned from = x.w.f.type_of(value->getType());
    uint32_t low = from == TN__FLAT_I1 ? x.w.part_of(value, 0, from) : x.w.extended(value, from, is_signed);
    if (from != TN__FLAT_I64)
        low = x.w.combine(is_signed ? TN__FLAT_SEXT : TN__FLAT_ZEXT, TN__FLAT_I64, {low}, from);
    return {low, is_signed ? x.op(TN__FLAT_ASHR, low, x.number(63)) : x.number(0)};
}

/* The first letters say what the value is converted from, or to; of float, double and x86_fp80. */
static const char *const from_signed[] = {"__floattisf", "__floattidf", "__floattixf"};
static const char *const from_unsigned[] = {"__floatuntisf", "__floatuntidf", "__floatuntixf"};
static const char *const to_signed[] = {"__fixsfti", "__fixdfti", "__fixxfti"};
static const char *const to_unsigned[] = {"__fixunssfti", "__fixunsdfti", "__fixunsxfti"};

static halves from_float(const wide &x, const CastInst &instruction, unsigned from)
{
    bool is_signed = instruction.getOpcode() == Instruction::FPToSI;
    uint32_t value = x.w.part_of(instruction.getOperand(0), 0, from);
    uint32_t callee = x.w.f.library_function((is_signed ? to_signed : to_unsigned)[from - TN__FLAT_F32]);
    uint32_t low = x.w.combine(TN__FLAT_CALL, TN__FLAT_I64, {callee, value, from, 0});
    return {low, x.w.combine(TN__FLAT_RESULT, TN__FLAT_I64, {}, 1)};
}

/* To something narrower, which is one value. */
static uint32_t narrowed(const wide &x, const CastInst &instruction, unsigned to)
{
    halves value = x.of(instruction.getOperand(0));
    switch (instruction.getOpcode()) {
    case Instruction::SIToFP:
        return call(x, from_signed[to - TN__FLAT_F32], to, {value});
    case Instruction::UIToFP:
        return call(x, from_unsigned[to - TN__FLAT_F32], to, {value});
    default: /* trunc, inttoptr */
        return x.w.combine(tn__flat_size(to) == 8 ? TN__FLAT_COPY : TN__FLAT_TRUNC, to, {value.low}, TN__FLAT_I64);
    }
}

static void convert(const wide &x, const CastInst &instruction)
{
    bool from_wide = instruction.getSrcTy()->isIntegerTy(128);
    bool is_same = from_wide && instruction.getType()->isIntegerTy(128);
    unsigned other =
        is_same ? unsigned(TN__FLAT_I64) : x.w.f.type_of(from_wide ? instruction.getType() : instruction.getSrcTy());
    if (x.w.f.why)
        return;
    if (is_same)
        return x.give(instruction, x.of(instruction.getOperand(0)));
    if (from_wide)
        return x.w.own_at(instruction, narrowed(x, instruction, other));
    switch (instruction.getOpcode()) {
    case Instruction::ZExt:
    case Instruction::SExt:
        return x.give(instruction, extended(x, instruction, instruction.getOpcode() == Instruction::SExt));
    case Instruction::FPToSI:
    case Instruction::FPToUI:
        return x.give(instruction, from_float(x, instruction, other));
    case Instruction::PtrToInt: {
        uint32_t value = x.w.part_of(instruction.getOperand(0), 0, TN__FLAT_PTR);
        return x.give(instruction, {x.w.combine(TN__FLAT_COPY, TN__FLAT_I64, {value}, TN__FLAT_PTR), x.number(0)});
    }
    default:
        x.w.refuse("a conversion of an i128");
    }
}

/* ---- intrinsic functions ---- */

static halves chosen(const wide &x, uint32_t condition, halves a, halves b)
{
    return {x.choose(condition, a.low, b.low), x.choose(condition, a.high, b.high)};
}

static uint32_t one(const wide &x, unsigned op, uint32_t a)
{
    return x.w.combine(op, TN__FLAT_I64, {a});
}

/* Zeros at one end: those of the half there, and if it has nothing else those of the other half. */
static halves zeros(const wide &x, unsigned op, uint32_t first, uint32_t second)
{
    uint32_t is_empty = x.op(TN__FLAT_ICMP, first, x.number(0), TN__FLAT_EQ);
    uint32_t more = x.op(TN__FLAT_ADD, one(x, op, second), x.number(64));
    return {x.choose(is_empty, more, one(x, op, first)), x.number(0)};
}

static void compute(const wide &x, const IntrinsicInst &intrinsic)
{
    static const struct {
        Intrinsic::ID id;
        unsigned condition;
    } choices[] = {{Intrinsic::smin, TN__FLAT_SLT},
                   {Intrinsic::smax, TN__FLAT_SGT},
                   {Intrinsic::umin, TN__FLAT_ULT},
                   {Intrinsic::umax, TN__FLAT_UGT}};
    halves a = x.of(intrinsic.getOperand(0));
    for (auto &choice : choices)
        if (choice.id == intrinsic.getIntrinsicID()) {
            halves b = x.of(intrinsic.getOperand(1));
            return x.give(intrinsic, chosen(x, compared(x, choice.condition, a, b), a, b));
        }
    switch (intrinsic.getIntrinsicID()) {
    case Intrinsic::expect:
    case Intrinsic::expect_with_probability:
    case Intrinsic::ssa_copy:
        return x.give(intrinsic, a);
    case Intrinsic::bswap:
        return x.give(intrinsic, {one(x, TN__FLAT_BSWAP, a.high), one(x, TN__FLAT_BSWAP, a.low)});
    case Intrinsic::cttz:
        return x.give(intrinsic, zeros(x, TN__FLAT_CTTZ, a.low, a.high));
    case Intrinsic::ctlz:
        return x.give(intrinsic, zeros(x, TN__FLAT_CTLZ, a.high, a.low));
    case Intrinsic::abs: {
        halves zero = {x.number(0), x.number(0)}, negative = difference(x, zero, a);
        return x.give(intrinsic, chosen(x, x.op(TN__FLAT_ICMP, a.high, zero.high, TN__FLAT_SLT), negative, a));
    }
    default:
        x.w.refuse("an intrinsic function of an i128");
    }
}

/* ---- */

/* An instruction that was not written because it has an i128. */
void tn__walk::flatten_wide(const Instruction &instruction)
{
    wide x = {*this};
    bool has_wide = instruction.getType()->isIntegerTy(128) ||
                    (instruction.getNumOperands() && instruction.getOperand(0)->getType()->isIntegerTy(128));
    if (!has_wide)
        return (void)refuse("i128");
    if (auto *intrinsic = dyn_cast<IntrinsicInst>(&instruction))
        intrinsic->getType()->isIntegerTy(128) ? compute(x, *intrinsic)
                                               : (void)refuse("an intrinsic function of an i128");
    else if (auto *cast = dyn_cast<CastInst>(&instruction))
        convert(x, *cast);
    else if (auto *operation = dyn_cast<BinaryOperator>(&instruction))
        x.give(instruction, binary(x, *operation));
    else
        refuse("i128");
}
