/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* One function, in one walk over its instructions in the order in which they lie in memory. What is not known is
 * refused, with a reason. */

#include "llvm/IR/Constants.h"
#include "llvm/IR/GetElementPtrTypeIterator.h"

#include "codegen/flatten/walk.h"

using namespace llvm;

/* ---- arithmetic ---- */

static unsigned binary_op(unsigned opcode)
{
    switch (opcode) {
#define ROW(llvm, flat)                                                                                                \
    case Instruction::llvm:                                                                                            \
        return TN__FLAT_##flat;
        ROW(Add, ADD)
        ROW(Sub, SUB)
        ROW(Mul, MUL)
        ROW(UDiv, UDIV)
        ROW(SDiv, SDIV)
        ROW(URem, UREM)
        ROW(SRem, SREM)
        ROW(Shl, SHL)
        ROW(LShr, LSHR)
        ROW(AShr, ASHR)
        ROW(And, AND)
        ROW(Or, OR)
        ROW(Xor, XOR)
        ROW(FAdd, FADD)
        ROW(FSub, FSUB)
        ROW(FMul, FMUL)
        ROW(FDiv, FDIV)
#undef ROW
    default:
        return TN__FLAT_OPS;
    }
}

/* Those that an i1 can have. */
static bool is_bitwise(unsigned op)
{
    return op == TN__FLAT_ADD || op == TN__FLAT_SUB || op == TN__FLAT_MUL || op == TN__FLAT_AND || op == TN__FLAT_OR ||
           op == TN__FLAT_XOR;
}

/* An operation or a conversion of each scalar. */
void tn__walk::flatten_vector_operation(const Instruction &instruction, unsigned op, unsigned sub, unsigned operands)
{
    bool of_bits = instruction.getType()->getScalarType()->isIntegerTy(1);
    bool from_bits = instruction.getOperand(0)->getType()->getScalarType()->isIntegerTy(1);
    bool fits = op == TN__FLAT_TRUNC || is_bitwise(op) || !of_bits;
    if (op == TN__FLAT_OPS || !fits || (op == TN__FLAT_SITOFP && from_bits))
        refuse("a vector");
    else
        flatten_lanes(instruction, op, sub, operands);
}

void tn__walk::flatten_binary(const BinaryOperator &instruction)
{
    unsigned op = binary_op(instruction.getOpcode());
    if (instruction.getType()->isVectorTy())
        return flatten_vector_operation(instruction, op, 0, 2);
    unsigned type = f.type_of(instruction.getType());
    if (instruction.getOpcode() == Instruction::FRem)
        own_at(instruction,
               call_library(type == TN__FLAT_F32   ? "fmodf"
                            : type == TN__FLAT_F64 ? "fmod"
                                                   : "fmodl",
                            type, {copied(instruction.getOperand(0), type), copied(instruction.getOperand(1), type)}));
    else if (op == TN__FLAT_OPS || (type == TN__FLAT_I1 && !is_bitwise(op)))
        refuse("an operation on i1");
    else
        simple(instruction, op, type, 2);
}

static_assert(unsigned(CmpInst::FCMP_OEQ) == TN__FLAT_EQUAL && unsigned(CmpInst::FCMP_OGT) == TN__FLAT_GREATER &&
              unsigned(CmpInst::FCMP_OLT) == TN__FLAT_LESS && unsigned(CmpInst::FCMP_UNO) == TN__FLAT_UNORDERED);
static_assert(CmpInst::FIRST_ICMP_PREDICATE == CmpInst::ICMP_EQ && CmpInst::ICMP_SLE == CmpInst::ICMP_EQ + 9);

static uint8_t condition_of(const CmpInst &instruction)
{
    static const uint8_t conditions[] = {TN__FLAT_EQ,  TN__FLAT_NE,  TN__FLAT_UGT, TN__FLAT_UGE, TN__FLAT_ULT,
                                         TN__FLAT_ULE, TN__FLAT_SGT, TN__FLAT_SGE, TN__FLAT_SLT, TN__FLAT_SLE};
    unsigned predicate = instruction.getPredicate();
    if (instruction.isFPPredicate()) /* LLVM's numbers are the same sets */
        return uint8_t(predicate);
    return conditions[predicate - CmpInst::FIRST_ICMP_PREDICATE];
}

void tn__walk::flatten_compare(const CmpInst &instruction)
{
    if (instruction.getOperand(0)->getType()->isIntegerTy(128))
        return flatten_wide_compare(cast<ICmpInst>(instruction), condition_of(instruction));
    flatten_lanes(instruction, instruction.isFPPredicate() ? TN__FLAT_FCMP : TN__FLAT_ICMP, condition_of(instruction),
                  2);
}

/* ---- conversions ---- */

static unsigned cast_op(unsigned opcode)
{
    switch (opcode) {
#define ROW(llvm, flat)                                                                                                \
    case Instruction::llvm:                                                                                            \
        return TN__FLAT_##flat;
        ROW(Trunc, TRUNC)
        ROW(ZExt, ZEXT)
        ROW(SExt, SEXT)
        ROW(FPTrunc, FPTRUNC)
        ROW(FPExt, FPEXT)
        ROW(FPToSI, FPTOSI)
        ROW(FPToUI, FPTOUI)
        ROW(SIToFP, SITOFP)
        ROW(UIToFP, UITOFP)
        ROW(BitCast, COPY)
        ROW(AddrSpaceCast, COPY)
#undef ROW
    default:
        return TN__FLAT_OPS;
    }
}

/* Narrow integers by way of an i64. */
void tn__walk::cast_pointer(const CastInst &instruction, unsigned from, unsigned to)
{
    uint32_t value = copied(instruction.getOperand(0), from);
    bool to_pointer = to == TN__FLAT_PTR;
    if ((to_pointer ? from : to) == TN__FLAT_I64) {
        own(instruction);
        combine(TN__FLAT_COPY, to, {value}, from);
    } else if (to_pointer) {
        value = combine(TN__FLAT_ZEXT, TN__FLAT_I64, {value}, from);
        own(instruction);
        combine(TN__FLAT_COPY, TN__FLAT_PTR, {value}, TN__FLAT_I64);
    } else {
        value = combine(TN__FLAT_COPY, TN__FLAT_I64, {value}, TN__FLAT_PTR);
        own(instruction);
        combine(TN__FLAT_TRUNC, to, {value}, TN__FLAT_I64);
    }
}

void tn__walk::flatten_cast(const CastInst &instruction)
{
    unsigned op = cast_op(instruction.getOpcode());
    if (instruction.getType()->isVectorTy() || instruction.getSrcTy()->isVectorTy())
        return op == TN__FLAT_COPY ? flatten_bits(instruction) : flatten_vector_operation(instruction, op, 0, 1);
    unsigned from = f.type_of(instruction.getSrcTy()), to = f.type_of(instruction.getType());
    bool to_integer = op == TN__FLAT_FPTOSI || op == TN__FLAT_FPTOUI;
    if (f.why)
        return;
    if (instruction.getOpcode() == Instruction::PtrToInt || instruction.getOpcode() == Instruction::IntToPtr) {
        cast_pointer(instruction, from, to);
    } else if (op == TN__FLAT_OPS) {
        refuse("a conversion");
    } else if ((to_integer && to == TN__FLAT_I1) || (op == TN__FLAT_SITOFP && from == TN__FLAT_I1)) {
        refuse("an operation on i1");
    } else {
        own(instruction);
        add(op, to)->sub = uint8_t(from);
        put(instruction.getOperand(0));
    }
}

/* ---- memory ---- */

/* The address so many bytes behind another. */
static uint32_t add_bytes(tn__walk &w, const Value *pointer, uint64_t bytes)
{
    uint32_t value = w.next_number();
    w.add(TN__FLAT_ADDRESS, TN__FLAT_PTR)->aux = uint32_t(bytes);
    w.put(pointer);
    return value;
}

bool tn__walk::is_aligned(Type *type, Align align)
{
    return align.value() >= f.layout.getTypeStoreSize(type).getFixedValue();
}

/* The scalars of what is accessed; false: it is refused. */
bool tn__walk::find_access(const Value *pointer, Type *type, bool is_atomic, Align align, tn__leaves &leaves)
{
    if (f.type_of(pointer->getType()) == TN__FLAT_VOID || !f.leaves_of(type, 0, leaves))
        return false;
    for (const tn__leaf &leaf : leaves)
        if (leaf.offset == tn__leaf::NOWHERE)
            return refuse("a vector of bits in memory");
    if (is_atomic && (type->isAggregateType() || type->isVectorTy() || leaves.size() > 1 || !is_aligned(type, align)))
        return refuse("an atomic access of several values, or one that is not aligned");
    return true;
}

/* The integer that has the bits of an atomic value. */
static unsigned atomic_type(unsigned type)
{
    return type == TN__FLAT_F32 ? unsigned(TN__FLAT_I32) : type == TN__FLAT_F64 ? unsigned(TN__FLAT_I64) : type;
}

static uint32_t atomic_bits(tn__walk &w, const Value *value, unsigned type)
{
    uint32_t bits = w.copied(value, type);
    if (atomic_type(type) == type)
        return bits;
    return w.combine(TN__FLAT_COPY, atomic_type(type), {bits}, type);
}

void tn__walk::flatten_load(const LoadInst &load)
{
    tn__leaves leaves;
    SmallVector<uint32_t, 4> addresses;
    if (!find_access(load.getPointerOperand(), load.getType(), load.isAtomic(), load.getAlign(), leaves))
        return;
    if (!is_split(load.getType())) {
        simple(load, TN__FLAT_LOAD, leaves[0].type, 1);
        return;
    }
    for (const tn__leaf &leaf : leaves)
        addresses.push_back(add_bytes(*this, load.getPointerOperand(), leaf.offset));
    own(load);
    for (size_t i = 0; i < leaves.size(); i++)
        combine(TN__FLAT_LOAD, leaves[i].type, {addresses[i]});
}

void tn__walk::flatten_store(const StoreInst &store)
{
    tn__leaves leaves;
    const Value *value = store.getValueOperand();
    if (!find_access(store.getPointerOperand(), value->getType(), store.isAtomic(), store.getAlign(), leaves))
        return;
    if (leaves.empty())
        return;
    bool exchanges = store.getOrdering() == AtomicOrdering::SequentiallyConsistent;
    if (exchanges && atomic_type(leaves[0].type) != leaves[0].type) {
        uint32_t bits = atomic_bits(*this, value, leaves[0].type);
        uint32_t to = copied(store.getPointerOperand(), TN__FLAT_PTR);
        combine(TN__FLAT_EXCHANGE, atomic_type(leaves[0].type), {bits, to});
        return;
    }
    if (!is_split(value->getType())) {
        add(exchanges ? TN__FLAT_EXCHANGE : TN__FLAT_STORE, leaves[0].type);
        put(value);
        put(store.getPointerOperand());
        return;
    }
    for (unsigned i = 0; i < leaves.size(); i++) {
        uint32_t to = add_bytes(*this, store.getPointerOperand(), leaves[i].offset);
        add(TN__FLAT_STORE, leaves[i].type);
        put(value, i);
        put(to);
    }
}

/* Of any size, or with an alignment that the frame does not have: the next multiple of 16, and what aligning takes. */
void tn__walk::allocate(const AllocaInst &variable, uint64_t size)
{
    enum : uint64_t { STACK = 16, LARGEST_ALIGNMENT = 4096 };
    const Value *count = variable.getArraySize();
    unsigned type = f.type_of(count->getType());
    uint64_t align = variable.getAlign().value(), more = align > STACK ? align - STACK : 0;
    if (align > LARGEST_ALIGNMENT || type == TN__FLAT_VOID || type < TN__FLAT_I8)
        return (void)refuse("the size or the alignment of a variable");
    auto op = [&](unsigned op, uint32_t a, uint64_t b) { return combine(op, TN__FLAT_I64, {a, f.number(b)}); };
    uint32_t bytes = extended(count, type, false);
    if (type != TN__FLAT_I64)
        bytes = combine(TN__FLAT_ZEXT, TN__FLAT_I64, {bytes}, type);
    bytes = op(TN__FLAT_AND, op(TN__FLAT_ADD, op(TN__FLAT_MUL, bytes, size), STACK - 1 + more), -STACK);
    if (!more)
        own(variable);
    uint32_t value = combine(TN__FLAT_ALLOCATE, TN__FLAT_PTR, {bytes});
    if (!more)
        return;
    value = combine(TN__FLAT_COPY, TN__FLAT_I64, {value}, TN__FLAT_PTR);
    value = op(TN__FLAT_AND, op(TN__FLAT_ADD, value, align - 1), -align);
    own(variable);
    combine(TN__FLAT_COPY, TN__FLAT_PTR, {value}, TN__FLAT_I64);
}

void tn__walk::flatten_alloca(const AllocaInst &variable)
{
    enum { LARGEST = 1 << 24 };
    auto *count = dyn_cast<ConstantInt>(variable.getArraySize());
    Type *type = variable.getAllocatedType();
    if (type->isScalableTy() || variable.isSwiftError() || variable.isUsedWithInAlloca() ||
        f.type_of(variable.getType()) == TN__FLAT_VOID) {
        refuse("a variable of another kind");
        return;
    }
    uint64_t size = f.layout.getTypeAllocSize(type).getFixedValue();
    bool is_small = count && count->getValue().ule(LARGEST) && size <= LARGEST;
    if (size > INT32_MAX || (count && (!is_small || size * count->getZExtValue() > LARGEST)))
        return (void)refuse("the size or the alignment of a variable");
    bool is_static = variable.isStaticAlloca();
    bool is_in_frame = is_static && variable.getAlign().value() <= 16 && !open.number; /* before what is expanded */
    if (is_static && !is_in_frame && saves_stack) /* restoring the stack would free it */
        return (void)refuse("an aligned variable after the stack is saved");
    if (!is_in_frame)
        return allocate(variable, size);
    own(variable);
    tn__flat_inst *inst = add(TN__FLAT_ALLOCA, TN__FLAT_PTR);
    inst->sub = uint8_t(Log2(variable.getAlign()));
    inst->aux = uint32_t(size * count->getZExtValue());
}

/* The element of an index that is a vector, if it is known, or the index itself. */
static const ConstantInt *known_index(const Value *index, unsigned part)
{
    auto *constant = dyn_cast<Constant>(index);
    return dyn_cast_or_null<ConstantInt>(
        constant && index->getType()->isVectorTy() ? constant->getAggregateElement(part) : constant);
}

/* One scalar of what is a vector, or all of what is none. */
uint32_t tn__walk::lane_of(const Value *value, unsigned part, unsigned type)
{
    return part_of(value, value->getType()->isVectorTy() ? part : 0, type);
}

/* Constant indexes are summed up; each of the others is a term, with the size by which it is multiplied. */
uint32_t tn__walk::address_of_lane(const GetElementPtrInst &address, unsigned part)
{
    SmallVector<std::pair<uint32_t, uint32_t>, 4> terms;
    uint64_t sum = 0;
    for (auto step = gep_type_begin(address), end = gep_type_end(address); step != end; ++step) {
        auto *number = known_index(step.getOperand(), part);
        if (StructType *record = step.getStructTypeOrNull()) {
            sum += f.layout.getStructLayout(record)->getElementOffset(unsigned(number->getZExtValue())).getFixedValue();
            continue;
        }
        TypeSize stride = step.getSequentialElementStride(f.layout);
        if (stride.isScalable() || stride.getFixedValue() > INT32_MAX)
            return refuse("the size of an element");
        if (number && number->getBitWidth() <= 64) {
            sum += uint64_t(number->getSExtValue()) * stride.getFixedValue();
            continue;
        }
        unsigned type = f.type_of(step.getOperand()->getType()->getScalarType());
        uint32_t value = lane_of(step.getOperand(), part, type);
        if (type != TN__FLAT_I64)
            value = combine(TN__FLAT_SEXT, TN__FLAT_I64, {value}, type);
        terms.push_back({value, uint32_t(stride.getFixedValue())});
    }
    if (int64_t(sum) != int32_t(sum)) {
        terms.push_back({f.number(sum), 1});
        sum = 0;
    }
    uint32_t base = lane_of(address.getPointerOperand(), part, TN__FLAT_PTR), result = next_number();
    add(TN__FLAT_ADDRESS, TN__FLAT_PTR)->aux = uint32_t(sum);
    put(base);
    for (auto [value, size] : terms) {
        put(value);
        put(size);
    }
    return result;
}

void tn__walk::flatten_address(const GetElementPtrInst &address)
{
    SmallVector<uint32_t, 16> values;
    tn__leaves leaves;
    if (!address.getType()->isVectorTy()) {
        uint32_t value = f.type_of(address.getType()) == TN__FLAT_VOID ? 0 : address_of_lane(address, 0);
        if (!f.why)
            own_at(address, value);
        return;
    }
    if (!f.leaves_of(address.getType(), 0, leaves))
        return;
    for (unsigned i = 0; i < leaves.size() && !f.why; i++)
        values.push_back(address_of_lane(address, i));
    give(address, leaves, values);
}

/* ---- atomic operations ---- */

/* The flat operation, and which one it is among those of `fetch`; others are computed as one of these. */
static unsigned fetch_op(AtomicRMWInst::BinOp operation, unsigned &sub)
{
    sub = 0;
    switch (operation) {
#define ROW(llvm, flat)                                                                                                \
    case AtomicRMWInst::llvm:                                                                                          \
        sub = TN__FLAT_FETCH_##flat;                                                                                   \
        return TN__FLAT_FETCH;
        ROW(And, AND)
        ROW(Or, OR)
        ROW(Xor, XOR)
        ROW(Nand, NAND)
        ROW(Max, SMAX)
        ROW(Min, SMIN)
        ROW(UMax, UMAX)
        ROW(UMin, UMIN)
#undef ROW
    case AtomicRMWInst::Xchg:
        return TN__FLAT_EXCHANGE;
    case AtomicRMWInst::Add:
    case AtomicRMWInst::Sub:
        return TN__FLAT_FETCH_ADD;
    default:
        return TN__FLAT_OPS;
    }
}

void tn__walk::flatten_exchange(const AtomicRMWInst &exchange)
{
    unsigned type = f.type_of(exchange.getType()), sub, op = fetch_op(exchange.getOperation(), sub);
    unsigned bits = atomic_type(type);
    if (op == TN__FLAT_OPS || type <= TN__FLAT_I1 || (op != TN__FLAT_EXCHANGE && type > TN__FLAT_I64) ||
        !is_aligned(exchange.getType(), exchange.getAlign()) ||
        f.type_of(exchange.getPointerOperand()->getType()) == TN__FLAT_VOID) {
        refuse("an atomic operation");
        return;
    }
    uint32_t value = atomic_bits(*this, exchange.getValOperand(), type);
    if (exchange.getOperation() == AtomicRMWInst::Sub)
        value = combine(TN__FLAT_SUB, type, {f.number(0), value});
    uint32_t to = copied(exchange.getPointerOperand(), TN__FLAT_PTR);
    if (bits == type)
        own(exchange);
    value = combine(op, bits, {value, to}, sub);
    if (bits == type)
        return;
    own(exchange);
    combine(TN__FLAT_COPY, type, {value}, bits);
}

void tn__walk::flatten_compare_exchange(const AtomicCmpXchgInst &exchange)
{
    unsigned type = f.type_of(exchange.getCompareOperand()->getType());
    if (tn__flat_is_float(type) || type <= TN__FLAT_I1 ||
        !is_aligned(exchange.getCompareOperand()->getType(), exchange.getAlign()) ||
        f.type_of(exchange.getPointerOperand()->getType()) == TN__FLAT_VOID) {
        refuse("an atomic operation");
        return;
    }
    own(exchange);
    add(TN__FLAT_COMPARE_EXCHANGE, type);
    put(exchange.getCompareOperand());
    put(exchange.getNewValOperand());
    put(exchange.getPointerOperand());
    add(TN__FLAT_RESULT, TN__FLAT_I1)->sub = 1;
}

/* ---- aggregates: each scalar is a value, and they follow each other ---- */

/* The number of the scalar at which a member begins, and its scalars. */
bool tn__walk::find_member(Type *type, ArrayRef<unsigned> indices, unsigned &first, tn__leaves &member)
{
    first = 0;
    for (unsigned index : indices) {
        bool is_record = type->isStructTy();
        for (unsigned i = 0; i < index; i++) {
            tn__leaves before;
            if (!f.leaves_of(is_record ? type->getStructElementType(i) : type->getArrayElementType(), 0, before))
                return false;
            first += unsigned(before.size());
        }
        type = is_record ? type->getStructElementType(index) : type->getArrayElementType();
    }
    return f.leaves_of(type, 0, member);
}

void tn__walk::flatten_extract(const ExtractValueInst &extract)
{
    unsigned first;
    tn__leaves all, member;
    const Value *aggregate = extract.getAggregateOperand();
    if (!f.leaves_of(aggregate->getType(), 0, all) ||
        !find_member(aggregate->getType(), extract.getIndices(), first, member))
        return;
    own(extract);
    for (unsigned i = 0; i < member.size(); i++)
        copy(member[i].type, aggregate, first + i);
}

void tn__walk::flatten_insert(const InsertValueInst &insert)
{
    unsigned first;
    tn__leaves all, member;
    const Value *aggregate = insert.getAggregateOperand();
    if (!f.leaves_of(aggregate->getType(), 0, all) ||
        !find_member(aggregate->getType(), insert.getIndices(), first, member))
        return;
    own(insert);
    for (unsigned i = 0; i < all.size(); i++)
        if (i - first < member.size())
            copy(all[i].type, insert.getInsertedValueOperand(), i - first);
        else
            copy(all[i].type, aggregate, i);
}

/* ---- values of any number of scalars ---- */

void tn__walk::flatten_freeze(const FreezeInst &freeze)
{
    tn__leaves leaves;
    if (!f.leaves_of(freeze.getType(), 0, leaves))
        return;
    own(freeze);
    for (unsigned i = 0; i < leaves.size(); i++)
        copy(leaves[i].type, freeze.getOperand(0), i);
}

void tn__walk::flatten_select(const SelectInst &select)
{
    tn__leaves leaves;
    bool by_lane = select.getCondition()->getType()->isVectorTy();
    if (!f.leaves_of(select.getType(), 0, leaves))
        return;
    own(select);
    for (unsigned i = 0; i < leaves.size(); i++) {
        add(TN__FLAT_SELECT, leaves[i].type);
        put(select.getCondition(), by_lane ? i : 0);
        put(select.getTrueValue(), i);
        put(select.getFalseValue(), i);
    }
}

/* ---- control ---- */

void tn__walk::flatten_phi(const PHINode &phi)
{
    tn__leaves leaves;
    if (!f.leaves_of(phi.getType(), 0, leaves))
        return;
    own(phi);
    for (unsigned part = 0; part < leaves.size(); part++) {
        uint32_t number = next_number();
        add(TN__FLAT_PHI, leaves[part].type);
        for (unsigned i = 0; i < phi.getNumIncomingValues(); i++) {
            uint32_t from = block_number(phi.getIncomingBlock(i));
            if (f.seen[from] == number) /* several edges from one block have one value */
                continue;
            f.seen[from] = number;
            put(phi.getIncomingValue(i), part);
            put(from);
        }
    }
}

void tn__walk::flatten_branch(const BranchInst &branch)
{
    add(branch.isConditional() ? TN__FLAT_BRANCH : TN__FLAT_JUMP, TN__FLAT_VOID);
    if (branch.isConditional())
        put(branch.getCondition());
    for (unsigned i = 0; i < branch.getNumSuccessors(); i++)
        add_successor(branch.getSuccessor(i));
}

void tn__walk::flatten_switch(const SwitchInst &choice)
{
    unsigned type = f.type_of(choice.getCondition()->getType());
    if (type == TN__FLAT_I1)
        refuse("an operation on i1");
    add(TN__FLAT_SWITCH, type);
    put(choice.getCondition());
    add_successor(choice.getDefaultDest());
    for (auto &one : choice.cases()) {
        put(one.getCaseValue());
        add_successor(one.getCaseSuccessor());
    }
}

/* ---- the walk ---- */

void tn__walk::flatten_one(const Instruction &instruction)
{
    switch (instruction.getOpcode()) {
#define ROW(llvm, type, function)                                                                                      \
    case Instruction::llvm:                                                                                            \
        function(cast<type>(instruction));                                                                             \
        break;
        ROW(Br, BranchInst, flatten_branch)
        ROW(Switch, SwitchInst, flatten_switch)
        ROW(Ret, ReturnInst, flatten_return)
        ROW(PHI, PHINode, flatten_phi)
        ROW(Freeze, FreezeInst, flatten_freeze)
        ROW(Select, SelectInst, flatten_select)
        ROW(Call, CallInst, flatten_any_call)
        ROW(Invoke, InvokeInst, flatten_invoke)
        ROW(LandingPad, LandingPadInst, flatten_landing)
        ROW(Resume, ResumeInst, flatten_resume)
        ROW(Load, LoadInst, flatten_load)
        ROW(Store, StoreInst, flatten_store)
        ROW(Alloca, AllocaInst, flatten_alloca)
        ROW(GetElementPtr, GetElementPtrInst, flatten_address)
        ROW(ExtractElement, ExtractElementInst, flatten_extract_element)
        ROW(InsertElement, InsertElementInst, flatten_insert_element)
        ROW(ShuffleVector, ShuffleVectorInst, flatten_shuffle)
        ROW(ICmp, CmpInst, flatten_compare)
        ROW(FCmp, CmpInst, flatten_compare)
        ROW(AtomicRMW, AtomicRMWInst, flatten_exchange)
        ROW(AtomicCmpXchg, AtomicCmpXchgInst, flatten_compare_exchange)
        ROW(ExtractValue, ExtractValueInst, flatten_extract)
        ROW(InsertValue, InsertValueInst, flatten_insert)
#undef ROW
    case Instruction::Unreachable:
        add(TN__FLAT_UNREACHABLE, TN__FLAT_VOID);
        break;
    case Instruction::FNeg:
        flatten_lanes(instruction, TN__FLAT_FNEG, 0, 1);
        break;
    case Instruction::Fence: /* of the others, only the compiler has to know */
        if (cast<FenceInst>(instruction).getOrdering() == AtomicOrdering::SequentiallyConsistent &&
            cast<FenceInst>(instruction).getSyncScopeID() == SyncScope::System)
            add(TN__FLAT_FENCE, TN__FLAT_VOID);
        break;
    default:
        if (instruction.isBinaryOp())
            flatten_binary(cast<BinaryOperator>(instruction));
        else if (instruction.isCast())
            flatten_cast(cast<CastInst>(instruction));
        else
            refuse(instruction.getOpcodeName());
    }
}

/* Whether an integer of another width is passed extended to 32 or 64 bits. */
static bool extends_odd(const AttributeSet &attributes, const Type *type)
{
    bool extends = attributes.hasAttribute(Attribute::ZExt) || attributes.hasAttribute(Attribute::SExt);
    unsigned width = extends && type->isIntegerTy() ? type->getIntegerBitWidth() : 64;
    return width < 64 && width != 1 && width != 8 && width != 16 && width != 32;
}

static bool passes_extended(const CallBase &call)
{
    for (unsigned i = 0; i < call.arg_size(); i++)
        if (extends_odd(call.getAttributes().getParamAttrs(i), call.getArgOperand(i)->getType()))
            return true;
    return isa<IntrinsicInst>(call) || extends_odd(call.getAttributes().getRetAttrs(), call.getType());
}

/* An instruction that has such an integer, and was not written because of it. */
void tn__walk::flatten_odd(const Instruction &instruction)
{
    if (isa<BitCastInst>(instruction) && instruction.getOperand(0)->getType()->isVectorTy())
        return flatten_mask(cast<CastInst>(instruction));
    bool of_integers = all_of(instruction.operands(), [](const Value *operand) {
        return operand->getType()->isIntegerTy() || operand->getType()->isPointerTy() ||
               operand->getType()->isFloatingPointTy() || isa<BasicBlock>(operand);
    });
    if (!of_integers || instruction.getType()->isVectorTy() || instruction.getType()->isAggregateType())
        return (void)refuse("an integer of another width");
    if (auto *binary = dyn_cast<BinaryOperator>(&instruction))
        flatten_odd_binary(*binary, binary_op(binary->getOpcode()));
    else if (auto *cast = dyn_cast<CastInst>(&instruction))
        flatten_odd_cast(*cast, cast_op(cast->getOpcode()));
    else if (auto *compare = dyn_cast<ICmpInst>(&instruction))
        flatten_odd_compare(*compare, condition_of(*compare));
    else if (auto *load = dyn_cast<LoadInst>(&instruction))
        flatten_odd_load(*load);
    else if (auto *store = dyn_cast<StoreInst>(&instruction))
        flatten_odd_store(*store);
    else if (auto *choice = dyn_cast<SwitchInst>(&instruction))
        flatten_odd_switch(*choice);
    else
        refuse("an integer of another width");
}

/* What was written for an instruction with an i128 or an integer of another width is taken back, unless the
 * instruction only moves such values. */
void tn__walk::flatten_any(const Instruction &instruction)
{
    size_t insts = flat.inst_count, operands = flat.operand_count, successors = flat.successor_count;
    size_t later = f.later.size();
    auto take_back = [&] {
        flat.inst_count = insts;
        flat.operand_count = operands;
        flat.successor_count = successors;
        f.later.resize(later);
    };
    f.is_odd = f.is_wide = false;
    flatten_one(instruction);
    if (f.is_wide) {
        take_back();
        f.why = nullptr;
        flatten_wide(instruction);
        return;
    }
    if (!f.is_odd || f.why)
        return;
    if (isa<PHINode, SelectInst, FreezeInst, ExtractValueInst, InsertValueInst>(instruction))
        return;
    if (auto *call = dyn_cast<CallBase>(&instruction)) {
        if (passes_extended(*call))
            refuse("an integer of another width");
        return;
    }
    if (auto *end = dyn_cast<ReturnInst>(&instruction)) {
        if (extends_odd(function.getAttributes().getRetAttrs(), end->getReturnValue()->getType()))
            refuse("an integer of another width");
        return;
    }
    take_back();
    flatten_odd(instruction);
}

/* One for all functions of an object. */
bool tn__walk::flatten_personality()
{
    flat.personality = 0;
    if (!function.hasPersonalityFn())
        return true;
    auto *personality = cast<GlobalValue>(function.getPersonalityFn());
    if (f.personality && f.personality != personality)
        return refuse("another personality than others have");
    f.personality = personality;
    flat.personality = f.address_of(personality, 0);
    return !f.why;
}

static bool is_managed(const Type *pointer)
{
    return pointer->getPointerAddressSpace() != 0;
}

bool tn__walk::flatten_arguments()
{
    bool is_split = any_of(function.args(), [](const Argument &a) { return tn__walk::is_split(a.getType()); });
    f.arguments.clear();
    for (const Argument &argument : function.args()) {
        AttributeSet attributes = function.getAttributes().getParamAttrs(argument.getArgNo());
        tn__leaves leaves;
        uint32_t bytes;
        if (argument.hasNestAttr() || (attributes.hasAttribute(Attribute::StructRet) && is_managed(argument.getType())))
            return refuse("how an argument is passed");
        if (!find_bytes(attributes, bytes) || !find_passed(argument.getType(), leaves) ||
            !f.grow(flat.arguments, flat.argument_room, flat.argument_count + leaves.size()))
            return false;
        if (is_split)
            f.arguments.push_back(uint32_t(flat.argument_count));
        for (const tn__leaf &leaf : leaves) {
            unsigned kind = kind_of(attributes, leaf, true);
            if (!tn__flat_is_whole(kind))
                kind &= ~unsigned(TN__FLAT_ZERO_EXTEND | TN__FLAT_SIGN_EXTEND);
            kind |= argument.hasStructRetAttr() ? unsigned(TN__FLAT_STRUCT) : 0;
            flat.arguments[flat.argument_count++] = {uint8_t(kind), bytes};
        }
    }
    flat.is_variadic = function.isVarArg();
    return !f.why;
}

void tn__walk::note_end(uint32_t block)
{
    if (open.number == block)
        return;
    for (uint32_t b = uint32_t(ends.size()); b < function.size(); b++)
        ends.push_back(b);
    ends[block] = open.number;
}

bool tn__walk::flatten_blocks()
{
    bool has_lines = function.getSubprogram();
    for (BasicBlock &block : function) {
        begin_block(block_number(&block));
        for (const Instruction &instruction : block) {
            if (const DILocation *location = has_lines ? instruction.getDebugLoc().get() : nullptr)
                f.located.push_back({uint32_t(flat.inst_count), location});
            flatten_any(instruction);
            if (f.why)
                return false;
        }
        end_block();
        note_end(block_number(&block));
    }
    if (!ends.empty())
        number_blocks();
    return true;
}

bool tn__flattener::flatten(Function &function)
{
    why = nullptr;
    flat.inst_count = flat.operand_count = flat.successor_count = flat.constant_count = flat.address_count = 0;
    flat.argument_count = 0;
    owners.clear();
    located.clear();
    later.clear();
    flat.block_count = function.size();
#if TN_HAS_BLOCK_NUMBERS
    function.renumberBlocks();
#else
    numbers.clear();
    for (const BasicBlock &block : function)
        numbers[&block] = uint32_t(numbers.size());
#endif
    seen.assign(function.size(), UINT32_MAX);
    tn__walk walk{*this, flat, function, {}, false};
    /* With space for one instruction, there is a last one, whatever fails. */
    bool done = grow(flat.blocks, flat.block_room, function.size()) && grow(flat.insts, flat.inst_room, 1) &&
                walk.flatten_personality() && walk.flatten_arguments() && walk.flatten_blocks() && walk.resolve();
    flat.symbols = uint32_t(object.symbol_count);
    return done && !why;
}
