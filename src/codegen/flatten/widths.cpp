/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Integers of other widths than registers have: values of the next larger type, with any bits above their width. Where
 * these matter, an operand is extended first. In memory, such an integer has as many bytes as it needs, and zeros
 * above its width. */

#include "llvm/IR/Constants.h"

#include "codegen/flatten/walk.h"

using namespace llvm;

/* ---- operands ---- */

/* The operand with defined bits above its width. */
uint32_t tn__walk::extended(const Value *value, unsigned type, bool is_signed)
{
    uint32_t operand = part_of(value, 0, type);
    unsigned width = value->getType()->getIntegerBitWidth(), more = tn__flat_width(type) - width;
    if (!more)
        return operand;
    if (!is_signed)
        return combine(TN__FLAT_AND, type, {operand, f.number((UINT64_C(1) << width) - 1)});
    operand = combine(TN__FLAT_SHL, type, {operand, f.number(more)});
    return combine(TN__FLAT_ASHR, type, {operand, f.number(more)});
}

/* ---- instructions ---- */

void tn__walk::flatten_odd_binary(const BinaryOperator &instruction, unsigned op)
{
    unsigned type = f.type_of(instruction.getType());
    bool divides = op >= TN__FLAT_UDIV && op <= TN__FLAT_SREM, shifts = op >= TN__FLAT_SHL && op <= TN__FLAT_ASHR;
    bool is_signed = op == TN__FLAT_SDIV || op == TN__FLAT_SREM || op == TN__FLAT_ASHR;
    const Value *left = instruction.getOperand(0), *right = instruction.getOperand(1);
    uint32_t a = divides || (shifts && op != TN__FLAT_SHL) ? extended(left, type, is_signed) : part_of(left, 0, type);
    uint32_t b = divides || shifts ? extended(right, type, is_signed && divides) : part_of(right, 0, type);
    own(instruction);
    combine(op, type, {a, b});
}

void tn__walk::flatten_odd_compare(const ICmpInst &instruction, unsigned condition)
{
    unsigned type = f.type_of(instruction.getOperand(0)->getType());
    uint32_t a = extended(instruction.getOperand(0), type, instruction.isSigned());
    uint32_t b = extended(instruction.getOperand(1), type, instruction.isSigned());
    own(instruction);
    combine(TN__FLAT_ICMP, type, {a, b}, condition);
}

void tn__walk::flatten_odd_cast(const CastInst &instruction, unsigned op)
{
    unsigned from = f.type_of(instruction.getSrcTy()), to = f.type_of(instruction.getType());
    bool is_signed = op == TN__FLAT_SEXT || op == TN__FLAT_SITOFP;
    bool extends = is_signed || op == TN__FLAT_ZEXT || op == TN__FLAT_UITOFP;
    if (op < TN__FLAT_TRUNC || op > TN__FLAT_UITOFP || f.why)
        return (void)refuse("an integer of another width");
    uint32_t value =
        extends ? extended(instruction.getOperand(0), from, is_signed) : part_of(instruction.getOperand(0), 0, from);
    own(instruction);
    combine(from == to ? unsigned(TN__FLAT_COPY) : op, to, {value}, from);
}

/* ---- memory: a piece for each bit of the number of bytes, the largest first ---- */

static unsigned piece_type(unsigned bytes)
{
    return bytes >= 8 ? TN__FLAT_I64 : bytes >= 4 ? TN__FLAT_I32 : bytes >= 2 ? TN__FLAT_I16 : TN__FLAT_I8;
}

static uint32_t address_of_piece(tn__walk &w, uint32_t base, unsigned at)
{
    uint32_t address = w.combine(TN__FLAT_ADDRESS, TN__FLAT_PTR, {base});
    w.flat.insts[w.flat.inst_count - 1].aux = at;
    return address;
}

void tn__walk::flatten_odd_load(const LoadInst &load)
{
    unsigned type = f.type_of(load.getType()), bytes = (load.getType()->getIntegerBitWidth() + 7) / 8;
    if (load.isAtomic() || f.type_of(load.getPointerOperand()->getType()) == TN__FLAT_VOID)
        return (void)refuse("an integer of another width");
    uint32_t base = part_of(load.getPointerOperand(), 0, TN__FLAT_PTR), value = 0;
    for (unsigned at = 0; at < bytes; at += tn__flat_size(piece_type(bytes - at))) {
        unsigned piece = piece_type(bytes - at);
        uint32_t bits = combine(TN__FLAT_LOAD, piece, {address_of_piece(*this, base, at)});
        if (piece != type)
            bits = combine(TN__FLAT_ZEXT, type, {bits}, piece);
        if (at)
            bits = combine(TN__FLAT_SHL, type, {bits, f.number(8 * at)});
        value = at ? combine(TN__FLAT_OR, type, {value, bits}) : bits;
    }
    own_at(load, value);
}

void tn__walk::flatten_odd_store(const StoreInst &store)
{
    const Value *value = store.getValueOperand();
    unsigned type = f.type_of(value->getType()), bytes = (value->getType()->getIntegerBitWidth() + 7) / 8;
    if (store.isAtomic() || f.type_of(store.getPointerOperand()->getType()) == TN__FLAT_VOID)
        return (void)refuse("an integer of another width");
    uint32_t all = extended(value, type, false), base = part_of(store.getPointerOperand(), 0, TN__FLAT_PTR);
    for (unsigned at = 0; at < bytes; at += tn__flat_size(piece_type(bytes - at))) {
        unsigned piece = piece_type(bytes - at);
        uint32_t bits = at ? combine(TN__FLAT_LSHR, type, {all, f.number(8 * at)}) : all;
        if (piece != type)
            bits = combine(TN__FLAT_TRUNC, piece, {bits}, type);
        combine(TN__FLAT_STORE, piece, {bits, address_of_piece(*this, base, at)});
    }
}

/* ---- control ---- */

void tn__walk::flatten_odd_switch(const SwitchInst &choice)
{
    unsigned type = f.type_of(choice.getCondition()->getType());
    uint32_t value = extended(choice.getCondition(), type, false);
    add(TN__FLAT_SWITCH, type);
    put(value);
    add_successor(choice.getDefaultDest());
    for (auto &one : choice.cases()) {
        put(f.number(one.getCaseValue()->getZExtValue()));
        add_successor(one.getCaseSuccessor());
    }
}
