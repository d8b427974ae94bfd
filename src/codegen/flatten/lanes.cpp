/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Instructions of vectors: one of each scalar. */

#include "llvm/IR/Constants.h"

#include "codegen/flatten/walk.h"

using namespace llvm;

/* ---- values of which each scalar is computed ---- */

void tn__walk::give(const Instruction &instruction, const tn__leaves &leaves, ArrayRef<uint32_t> values)
{
    bool follow = true;
    if (f.why || values.empty())
        return;
    for (size_t i = 0; i < values.size(); i++)
        follow &= values[i] == values[0] + i;
    if (follow && values[0] >= flat.argument_count) {
        own_at(instruction, values[0]);
        return;
    }
    own(instruction);
    for (size_t i = 0; i < values.size(); i++)
        combine(TN__FLAT_COPY, leaves[i].type, {values[i]}, leaves[i].type);
}

/* ---- bits of scalars as others ---- */

/* The integer that has a scalar's bits. */
static unsigned bits_type(unsigned type)
{
    return type == TN__FLAT_F32                           ? unsigned(TN__FLAT_I32)
           : type == TN__FLAT_F64 || type == TN__FLAT_PTR ? unsigned(TN__FLAT_I64)
                                                          : type;
}

static uint32_t reinterpret(tn__walk &w, uint32_t value, unsigned from, unsigned to)
{
    return from == to ? value : w.combine(TN__FLAT_COPY, to, {value}, from);
}

/* Words of 64 bits, of which the first scalar has the lowest bits. */
static SmallVector<uint32_t, 4> pack(tn__walk &w, const Value *value, const tn__leaves &leaves)
{
    SmallVector<uint32_t, 4> words;
    unsigned width = tn__flat_width(leaves[0].type), type = bits_type(leaves[0].type);
    for (unsigned i = 0; i < leaves.size(); i++) {
        unsigned shift = i * width % 64;
        uint32_t bits = reinterpret(w, w.part_of(value, i, leaves[i].type), leaves[i].type, type);
        if (type != TN__FLAT_I64)
            bits = w.combine(TN__FLAT_ZEXT, TN__FLAT_I64, {bits}, type);
        if (shift == 0) {
            words.push_back(bits);
            continue;
        }
        bits = w.combine(TN__FLAT_SHL, TN__FLAT_I64, {bits, w.f.number(shift)});
        words.back() = w.combine(TN__FLAT_OR, TN__FLAT_I64, {words.back(), bits});
    }
    return words;
}

/* A vector of bits as an integer of another width than registers. */
void tn__walk::flatten_mask(const CastInst &instruction)
{
    tn__leaves from;
    unsigned type = f.type_of(instruction.getType());
    if (!f.leaves_of(instruction.getOperand(0)->getType(), 0, from) || from[0].type != TN__FLAT_I1)
        return (void)refuse("an integer of another width");
    uint32_t word = pack(*this, instruction.getOperand(0), from)[0];
    own(instruction);
    combine(type == TN__FLAT_I64 ? TN__FLAT_COPY : TN__FLAT_TRUNC, type, {word}, TN__FLAT_I64);
}

void tn__walk::flatten_bits(const CastInst &instruction)
{
    tn__leaves from, to;
    SmallVector<uint32_t, 16> values;
    const Value *value = instruction.getOperand(0);
    if (!f.leaves_of(value->getType(), 0, from) || !f.leaves_of(instruction.getType(), 0, to))
        return;
    if (from[0].type == TN__FLAT_F80 || to[0].type == TN__FLAT_F80)
        return (void)refuse("the bits of an x86_fp80");
    unsigned width = tn__flat_width(to[0].type), type = bits_type(to[0].type);
    if (from.size() == to.size()) {
        own(instruction);
        for (unsigned i = 0; i < to.size(); i++) {
            add(TN__FLAT_COPY, to[i].type)->sub = from[i].type;
            put(value, i);
        }
        return;
    }
    SmallVector<uint32_t, 4> words = pack(*this, value, from);
    for (unsigned i = 0; i < to.size(); i++) {
        uint32_t bits = words[i * width / 64];
        if (i * width % 64)
            bits = combine(TN__FLAT_LSHR, TN__FLAT_I64, {bits, f.number(i * width % 64)});
        if (type != TN__FLAT_I64)
            bits = combine(TN__FLAT_TRUNC, type, {bits}, TN__FLAT_I64);
        values.push_back(reinterpret(*this, bits, type, to[i].type));
    }
    give(instruction, to, values);
}

/* ---- elements ---- */

/* The number of an element, of 64 bits. */
static uint32_t index_of(tn__walk &w, const Value *index)
{
    unsigned type = w.f.type_of(index->getType());
    uint32_t value = w.part_of(index, 0, type);
    return type == TN__FLAT_I64 ? value : w.combine(TN__FLAT_ZEXT, TN__FLAT_I64, {value}, type);
}

void tn__walk::flatten_extract_element(const ExtractElementInst &extract)
{
    tn__leaves all;
    const Value *vector = extract.getVectorOperand();
    auto *number = dyn_cast<ConstantInt>(extract.getIndexOperand());
    if (!f.leaves_of(vector->getType(), 0, all))
        return;
    unsigned type = all[0].type;
    if (number) {
        own(extract);
        copy(type, vector, unsigned(number->getValue().getLimitedValue(all.size() - 1)));
        return;
    }
    uint32_t index = index_of(*this, extract.getIndexOperand()), value = part_of(vector, 0, type);
    for (unsigned i = 1; i < all.size(); i++) {
        uint32_t is_it = combine(TN__FLAT_ICMP, TN__FLAT_I64, {index, f.number(i)}, TN__FLAT_EQ);
        value = combine(TN__FLAT_SELECT, type, {is_it, part_of(vector, i, type), value});
    }
    own(extract);
    combine(TN__FLAT_COPY, type, {value}, type);
}

void tn__walk::flatten_insert_element(const InsertElementInst &insert)
{
    tn__leaves all;
    SmallVector<uint32_t, 16> values;
    const Value *vector = insert.getOperand(0), *element = insert.getOperand(1);
    auto *number = dyn_cast<ConstantInt>(insert.getOperand(2));
    if (!f.leaves_of(vector->getType(), 0, all))
        return;
    if (number) {
        own(insert);
        for (unsigned i = 0; i < all.size(); i++)
            copy(all[i].type, number->getValue() == i ? element : vector, number->getValue() == i ? 0 : i);
        return;
    }
    uint32_t index = index_of(*this, insert.getOperand(2)), value = part_of(element, 0, all[0].type);
    for (unsigned i = 0; i < all.size(); i++) {
        uint32_t old = part_of(vector, i, all[i].type);
        uint32_t is_it = combine(TN__FLAT_ICMP, TN__FLAT_I64, {index, f.number(i)}, TN__FLAT_EQ);
        values.push_back(combine(TN__FLAT_SELECT, all[i].type, {is_it, value, old}));
    }
    give(insert, all, values);
}

void tn__walk::flatten_shuffle(const ShuffleVectorInst &shuffle)
{
    tn__leaves all, of_operand;
    if (!f.leaves_of(shuffle.getType(), 0, all) || !f.leaves_of(shuffle.getOperand(0)->getType(), 0, of_operand))
        return;
    own(shuffle);
    for (unsigned i = 0; i < all.size(); i++) {
        int from = shuffle.getMaskValue(i), count = int(of_operand.size());
        if (from < 0)
            combine(TN__FLAT_COPY, all[i].type, {f.number(0)}, all[i].type);
        else
            copy(all[i].type, shuffle.getOperand(from >= count), unsigned(from % count));
    }
}

/* ---- operations ---- */

void tn__walk::flatten_lanes(const Instruction &instruction, unsigned op, unsigned sub, unsigned operands)
{
    tn__leaves leaves, of_operand;
    if (!f.leaves_of(instruction.getType(), 0, leaves) ||
        !f.leaves_of(instruction.getOperand(0)->getType(), 0, of_operand))
        return;
    bool converts = op >= TN__FLAT_COPY && op <= TN__FLAT_UITOFP;
    bool compares = op == TN__FLAT_ICMP || op == TN__FLAT_FCMP;
    own(instruction);
    for (unsigned i = 0; i < leaves.size(); i++) {
        add(op, compares ? of_operand[i].type : leaves[i].type)->sub = uint8_t(converts ? of_operand[i].type : sub);
        for (unsigned k = 0; k < operands; k++)
            put(instruction.getOperand(k), i);
    }
}
