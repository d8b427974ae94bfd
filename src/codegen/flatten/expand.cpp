/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Barriers, allocations and polls of managed code, which the passes leave as one call each (codegen/managed/lower): the
 * tests of doc/GC.md, and the calls where the tests fail. Each ends the block that it is in, and begins others. */

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Constants.h"

#include "codegen/flatten/walk.h"
#include "codegen/managed/ir/gc.h"
#include "tenon_gc.h"

using namespace llvm;

enum { WORD = 8, MOST_WORDS = 64, LARGE_ALIGNMENT = 16 };

/* ---- blocks ---- */

/* Ends the block; another one begins. */
static void jump(tn__walk &w, uint32_t to, uint32_t next)
{
    w.add(TN__FLAT_JUMP, TN__FLAT_VOID);
    w.add_successor(to);
    w.end_block();
    w.begin_block(next);
}

static void branch(tn__walk &w, uint32_t condition, uint32_t yes, uint32_t no, uint32_t next)
{
    w.combine(TN__FLAT_BRANCH, TN__FLAT_VOID, {condition});
    w.add_successor(yes);
    w.add_successor(no);
    w.end_block();
    w.begin_block(next);
}

/* ---- pieces ---- */

static uint32_t field(tn__walk &w, uint32_t base, int64_t offset)
{
    if (!offset)
        return base;
    uint32_t value = w.combine(TN__FLAT_ADDRESS, TN__FLAT_PTR, {base});
    w.flat.insts[w.flat.inst_count - 1].aux = uint32_t(offset);
    return value;
}

static uint32_t load(tn__walk &w, unsigned type, uint32_t base, int64_t offset)
{
    return w.combine(TN__FLAT_LOAD, type, {field(w, base, offset)});
}

static uint32_t compare(tn__walk &w, unsigned type, unsigned condition, uint32_t a, uint32_t b)
{
    return w.combine(TN__FLAT_ICMP, type, {a, b}, condition);
}

static uint32_t lacks_bit(tn__walk &w, uint32_t header, unsigned bit)
{
    uint32_t found = w.combine(TN__FLAT_AND, TN__FLAT_I64, {header, w.f.number(bit)});
    return compare(w, TN__FLAT_I64, TN__FLAT_EQ, found, w.f.number(0));
}

namespace {

/* What the runtime is told. Constants become operands where they are used. */
struct pointer {
    const Value *of;
    uint32_t value = 0;

    pointer(tn__walk &w, const Value *of) : of(of)
    {
        if (isa<Constant>(of))
            return;
        value = w.next_number();
        if (of->getType()->getPointerAddressSpace())
            w.copy(TN__FLAT_PTR, of, 0);
        else
            value = w.copied(of, TN__FLAT_PTR);
    }
    uint32_t operand(tn__walk &w) const
    {
        auto *constant = dyn_cast<Constant>(of);
        return constant ? w.f.constant(constant) : value;
    }
};

} // namespace

static void call_with(tn__walk &w, const Function &callee, ArrayRef<pointer> pointers)
{
    w.combine(TN__FLAT_CALL, TN__FLAT_VOID, {w.f.address_of(&callee, 0)});
    for (const pointer &pointer : pointers) {
        w.put(pointer.operand(w));
        w.put(uint32_t(TN__FLAT_PTR));
        w.put(0u);
    }
}

/* ---- barriers ---- */

/* `header`: of the object. Goes on to `behind`, or to a new block, where the store is logged. */
static void test_value(tn__walk &w, uint32_t header, const pointer &stored, const GlobalVariable &block,
                       uint32_t behind)
{
    uint32_t ordinary = w.new_block(), young = w.new_block();
    branch(w, lacks_bit(w, header, TN_GC_PERMANENT), ordinary, young, ordinary);
    uint32_t thread = w.thread_local_address(block);
    uint32_t start = load(w, TN__FLAT_I64, thread, TN_GC_BLOCK_YOUNG);
    uint32_t size = load(w, TN__FLAT_I64, thread, TN_GC_BLOCK_YOUNG_SIZE);
    uint32_t value = stored.operand(w);
    if (tn__flat_is_value(value))
        value = w.combine(TN__FLAT_COPY, TN__FLAT_I64, {value}, TN__FLAT_PTR);
    uint32_t distance = w.combine(TN__FLAT_XOR, TN__FLAT_I64, {value, start});
    branch(w, compare(w, TN__FLAT_I64, TN__FLAT_UGE, distance, size), behind, young, young);
}

void tn__walk::expand_barrier(const CallBase &row)
{
    const Value *object = row.getArgOperand(0);
    auto *null = dyn_cast<ConstantInt>(row.getArgOperand(3));
    auto *log = dyn_cast<Function>(row.getArgOperand(4));
    auto *block = dyn_cast<GlobalVariable>(row.getArgOperand(5));
    bool is_pointer =
        all_of(ArrayRef<unsigned>{0, 1, 2}, [&](unsigned i) { return row.getArgOperand(i)->getType()->isPointerTy(); });
    if (!null || !log || !block || !is_pointer || isa<Constant>(object))
        return (void)refuse("a barrier of another kind");
    uint32_t behind = new_block(), slow = new_block();
    if (!null->isZero()) {
        uint32_t test = new_block(), condition = next_number();
        add(TN__FLAT_ICMP, TN__FLAT_PTR)->sub = TN__FLAT_EQ;
        put(object);
        put(f.number(0));
        branch(*this, condition, behind, test, test);
    }
    pointer derived(*this, object);
    uint32_t header = load(*this, TN__FLAT_I64, derived.value, -TN_GC_HEADER_SIZE);
    branch(*this, lacks_bit(*this, header, TN_GC_UNLOGGED), behind, slow, slow);
    pointer pointers[] = {{*this, object}, {*this, row.getArgOperand(1)}, {*this, row.getArgOperand(2)}};
    if (!isa<ConstantPointerNull>(row.getArgOperand(2)))
        test_value(*this, header, pointers[2], *block, behind);
    call_with(*this, *log, pointers);
    jump(*this, behind, behind);
}

/* ---- allocations and polls ---- */

/* The words to be null, or all of them. */
static void fill(tn__walk &w, uint32_t object, uint32_t size, const ConstantInt *bytes, uint64_t nulls)
{
    uint64_t words = bytes ? bytes->getZExtValue() / WORD : 0;
    auto clear = [&](uint32_t at, uint32_t length) {
        uint32_t callee = w.f.library_function("memset");
        w.combine(TN__FLAT_CALL, TN__FLAT_VOID,
                  {callee, at, uint32_t(TN__FLAT_PTR), 0u, w.f.number(0), uint32_t(TN__FLAT_I8 | TN__FLAT_ZERO_EXTEND),
                   0u, length, uint32_t(TN__FLAT_I64), 0u});
    };
    if (!words || words > MOST_WORDS)
        return clear(object, size);
    for (uint64_t word = 0, end; word < words; word = end + 1) {
        for (end = word; end < words && nulls >> end & 1;)
            end++;
        if (end > word) {
            uint32_t at = field(w, object, int64_t(word * WORD));
            clear(at, w.f.number((end - word) * WORD));
        }
    }
}

/* Where the header goes: at `bump`, or after a zero word. */
static uint32_t align_header(tn__walk &w, uint32_t bump, uint64_t alignment)
{
    if (alignment < LARGE_ALIGNMENT)
        return bump;
    auto op = [&](unsigned op, uint32_t a, uint64_t b) { return w.combine(op, TN__FLAT_I64, {a, w.f.number(b)}); };
    uint32_t at = w.combine(TN__FLAT_COPY, TN__FLAT_I64, {bump}, TN__FLAT_PTR);
    at = op(TN__FLAT_AND, op(TN__FLAT_ADD, at, WORD + LARGE_ALIGNMENT - 1), uint64_t(-LARGE_ALIGNMENT));
    return w.combine(TN__FLAT_COPY, TN__FLAT_PTR, {op(TN__FLAT_SUB, at, WORD)}, TN__FLAT_I64);
}

static uint32_t find_end(tn__walk &w, uint32_t header, uint32_t size, const ConstantInt *bytes)
{
    if (bytes)
        return field(w, header, int64_t(bytes->getZExtValue() + TN_GC_HEADER_SIZE));
    uint32_t total = w.combine(TN__FLAT_ADD, TN__FLAT_I64, {size, w.f.number(TN_GC_HEADER_SIZE)});
    return w.combine(TN__FLAT_ADDRESS, TN__FLAT_PTR, {header, total, 1u});
}

void tn__walk::expand_allocation(const CallBase &call, const OperandBundleUse &row)
{
    const Value *asked = call.getArgOperand(call.arg_size() - 2), *type = call.getArgOperand(call.arg_size() - 1);
    auto *bytes = dyn_cast<ConstantInt>(row.Inputs[1]), *nulls = dyn_cast<ConstantInt>(row.Inputs[2]);
    auto *alignment = dyn_cast<ConstantInt>(row.Inputs[3]);
    if (!nulls || !alignment || (bytes && bytes->getValue().ugt(TN_GC_LARGEST_INLINE)) ||
        !row.Inputs[1]->getType()->isIntegerTy(64) || !nulls->getType()->isIntegerTy(64) ||
        !alignment->getType()->isIntegerTy(64))
        return (void)refuse("an allocation of another kind");
    uint32_t slow = new_block(), space = new_block(), done = new_block();
    if (!bytes) {
        uint32_t small = new_block(), fits = next_number();
        add(TN__FLAT_ICMP, TN__FLAT_I64)->sub = TN__FLAT_ULE;
        put(asked);
        put(f.number(TN_GC_LARGEST_INLINE));
        branch(*this, fits, small, slow, small);
    }
    uint32_t block = copied(row.Inputs[0], TN__FLAT_PTR), size = copied(row.Inputs[1], TN__FLAT_I64);
    uint32_t old = load(*this, TN__FLAT_PTR, block, TN_GC_BLOCK_BUMP);
    uint32_t header = align_header(*this, old, alignment->getZExtValue()), end = find_end(*this, header, size, bytes);
    uint32_t limit = load(*this, TN__FLAT_PTR, block, TN_GC_BLOCK_LIMIT);
    branch(*this, compare(*this, TN__FLAT_PTR, TN__FLAT_ULE, end, limit), space, slow, space);
    combine(TN__FLAT_STORE, TN__FLAT_PTR, {end, field(*this, block, TN_GC_BLOCK_BUMP)});
    if (header != old)
        combine(TN__FLAT_STORE, TN__FLAT_I64, {f.number(0), old});
    add(TN__FLAT_STORE, TN__FLAT_PTR);
    put(type);
    put(header);
    uint32_t object = field(*this, header, TN_GC_HEADER_SIZE);
    fill(*this, object, size, bytes, nulls->getZExtValue());
    object = combine(TN__FLAT_COPY, TN__FLAT_PTR, {object}, TN__FLAT_PTR);
    jump(*this, done, slow);
    call_here(call);
    uint32_t other = operand_at(&call, 0, 0);
    jump(*this, done, done);
    own_at(call, combine(TN__FLAT_PHI, TN__FLAT_PTR, {object, space, other, slow}));
}

void tn__walk::expand_poll(const CallBase &call, const OperandBundleUse &row)
{
    uint32_t behind = new_block(), slow = new_block();
    uint32_t wanted = load(*this, TN__FLAT_I32, copied(row.Inputs[0], TN__FLAT_PTR), TN_GC_BLOCK_POLL);
    branch(*this, compare(*this, TN__FLAT_I32, TN__FLAT_EQ, wanted, f.number(0)), behind, slow, slow);
    call_here(call);
    jump(*this, behind, behind);
}

/* ---- which calls ---- */

static bool is_barrier(const CallBase &call)
{
    auto *callee = dyn_cast<Function>(call.getCalledOperand());
    return callee && call.arg_size() == 6 && callee->getName() == TN__BARRIER_ROW;
}

/* Perhaps with the function of the runtime's that is called through another one. */
static bool is_allocation(const CallBase &call)
{
    unsigned count = call.arg_size();
    return call.getType()->isPointerTy() && (count == 2 || count == 3) &&
           call.getArgOperand(count - 2)->getType()->isIntegerTy(64) &&
           call.getArgOperand(count - 1)->getType()->isPointerTy();
}

bool tn__walk::expand(const CallBase &call)
{
    enum { POLL = 1, ALLOCATION = 4 };
    if (!f.takes_managed || isa<InvokeInst>(call))
        return false;
    if (is_barrier(call))
        return expand_barrier(call), true;
    auto row = call.hasOperandBundles() ? call.getOperandBundle(TN__INLINE) : std::nullopt;
    if (!row || row->Inputs.empty() || !row->Inputs[0]->getType()->isPointerTy())
        return false;
    if (row->Inputs.size() == POLL && call.getType()->isVoidTy())
        return expand_poll(call, *row), true;
    if (row->Inputs.size() == ALLOCATION && is_allocation(call))
        return expand_allocation(call, *row), true;
    return false;
}
