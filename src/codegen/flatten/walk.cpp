/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Values and operands. The number of a value is kept in the instruction itself, in the member by which LLVM knows the
 * order within a block: that takes a third of the time of any map. Blocks that LLVM sees afterwards are numbered
 * again. */

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"

#include "codegen/flatten/walk.h"

using namespace llvm;

/* ---- numbers in instructions ---- */

/* Explicit instantiations may name private members. */
template <auto member> struct order_access {
    friend constexpr auto order_member()
    {
        return member;
    }
};
constexpr auto order_member();
template struct order_access<&Instruction::Order>;

static unsigned &order_of(const Instruction &instruction)
{
    return const_cast<Instruction &>(instruction).*order_member();
}

void tn__walk::own(const Instruction &instruction)
{
    order_of(instruction) = next_number();
    f.owners.resize(flat.inst_count + 1);
    f.owners[flat.inst_count] = &instruction;
}

void tn__walk::own_at(const Instruction &instruction, uint32_t number)
{
    size_t index = number - flat.argument_count;
    order_of(instruction) = number;
    if (f.owners.size() <= index)
        f.owners.resize(index + 1);
    f.owners[index] = &instruction;
}

bool tn__walk::is_numbered(const Instruction &instruction) const
{
    uint32_t index = order_of(instruction) - uint32_t(flat.argument_count);
    return index < f.owners.size() && f.owners[index] == &instruction;
}

/* ---- writing ---- */

tn__flat_inst *tn__walk::add(unsigned op, unsigned type)
{
    if (!f.grow(flat.insts, flat.inst_room, flat.inst_count + 1))
        return &nowhere;
    tn__flat_inst *inst = &flat.insts[flat.inst_count++];
    *inst = {uint8_t(op), uint8_t(type), 0, 0, uint32_t(flat.operand_count), 0, 0};
    return inst;
}

void tn__walk::put(uint32_t operand)
{
    if (!f.grow(flat.operands, flat.operand_room, flat.operand_count + 1) || !flat.inst_count)
        return;
    flat.operands[flat.operand_count++] = operand;
    flat.insts[flat.inst_count - 1].count++;
}

uint32_t tn__walk::combine(unsigned op, unsigned type, std::initializer_list<uint32_t> operands, unsigned sub)
{
    uint32_t value = next_number();
    add(op, type)->sub = uint8_t(sub);
    for (uint32_t operand : operands)
        put(operand);
    return value;
}

void tn__walk::simple(const Instruction &instruction, unsigned op, unsigned type, unsigned count)
{
    own(instruction);
    add(op, type);
    for (unsigned i = 0; i < count; i++)
        put(instruction.getOperand(i));
}

void tn__walk::add_successor(const BasicBlock *to)
{
    add_successor(block_number(to));
}

/* ---- operands ---- */

uint32_t tn__walk::operand_at(const Value *value, uint32_t at, unsigned part)
{
    if (auto *instruction = dyn_cast<Instruction>(value)) {
        if (is_numbered(*instruction))
            return order_of(*instruction) + part;
        f.later.push_back({at, instruction, part});
        return 0;
    }
    if (auto *argument = dyn_cast<Argument>(value))
        return f.arguments.empty() ? argument->getArgNo() : f.arguments[argument->getArgNo()] + part;
    if (auto *constant = dyn_cast<Constant>(value))
        return value->getType()->isSingleValueType() && !is_split(value->getType()) ? f.constant(constant)
                                                                                    : f.constant_part(constant, part);
    refuse("an operand of another kind");
    return 0;
}

uint32_t tn__walk::part_of(const Value *value, unsigned part, unsigned type)
{
    auto *instruction = dyn_cast<Instruction>(value);
    if (!instruction || is_numbered(*instruction))
        return operand_at(value, 0, part);
    uint32_t number = next_number();
    copy(type, value, part);
    return number;
}

uint32_t tn__walk::copied(const Value *value, unsigned type)
{
    return part_of(value, 0, type);
}

uint32_t tn__walk::block_number(const BasicBlock *of) const
{
#if TN_HAS_BLOCK_NUMBERS
    return of->getNumber();
#else
    return f.numbers.lookup(of);
#endif
}

void tn__walk::copy(unsigned type, const Value *value, unsigned part)
{
    add(TN__FLAT_COPY, type)->sub = uint8_t(type);
    put(value, part);
}

/* Operands that come after their use in memory. */
bool tn__walk::resolve()
{
    for (const tn__flattener::reference &reference : f.later) {
        if (!is_numbered(*reference.to))
            return refuse("an operand without a value");
        flat.operands[reference.at] = order_of(*reference.to) + reference.part;
    }
    return true;
}

/* ---- blocks ---- */

void tn__walk::begin_block(uint32_t number)
{
    open = {number, uint32_t(flat.inst_count), uint32_t(flat.successor_count)};
}

void tn__walk::end_block()
{
    flat.blocks[open.number] = {open.first, uint32_t(flat.inst_count), open.first_successor,
                                uint32_t(flat.successor_count) - open.first_successor};
}

uint32_t tn__walk::new_block()
{
    if (!f.grow(flat.blocks, flat.block_room, flat.block_count + 1))
        return 0;
    return uint32_t(flat.block_count++);
}

void tn__walk::add_successor(uint32_t to)
{
    if (f.grow(flat.successors, flat.successor_room, flat.successor_count + 1))
        flat.successors[flat.successor_count++] = to;
}

/* Blocks are numbered as they lie in memory. Phis name the last part of a block that was divided. */
void tn__walk::number_blocks()
{
    SmallVector<tn__flat_block, 32> blocks(flat.blocks, flat.blocks + flat.block_count);
    SmallVector<uint32_t, 32> order, numbers(blocks.size());
    for (uint32_t b = 0; b < blocks.size(); b++)
        order.push_back(b);
    sort(order, [&](uint32_t a, uint32_t b) { return blocks[a].first < blocks[b].first; });
    for (uint32_t i = 0; i < order.size(); i++) {
        numbers[order[i]] = i;
        flat.blocks[i] = blocks[order[i]];
    }
    for (size_t s = 0; s < flat.successor_count; s++)
        flat.successors[s] = numbers[flat.successors[s]];
    for (const tn__flat_block &block : blocks)
        for (uint32_t i = block.first; i < block.end && flat.insts[i].op == TN__FLAT_PHI; i++)
            for (uint32_t k = 1; k < flat.insts[i].count; k += 2) {
                uint32_t &from = flat.operands[flat.insts[i].first + k];
                from = numbers[from < ends.size() ? ends[from] : from];
            }
}
