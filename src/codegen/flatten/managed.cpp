/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Managed code as the passes leave it (codegen/managed/roots): calls with what lives behind them in a bundle, or
 * statepoints with "gc-live", results and relocates. */

#include "codegen/flatten/walk.h"
#include "codegen/managed/roots/roots.h"

using namespace llvm;

namespace {

/* The operands of a safepoint: pointers with the number of their reference, and variables. */
struct live {
    tn__walk &w;
    SmallDenseMap<const Value *, uint32_t, 16> numbers;
    SmallVector<std::pair<const Value *, uint32_t>, 16> pairs;

    explicit live(tn__walk &w) : w(w)
    {
    }
    uint32_t add(const Value *value, uint32_t base)
    {
        auto [found, is_new] = numbers.try_emplace(value, uint32_t(pairs.size()));
        if (is_new)
            pairs.push_back({value, base});
        return found->second;
    }
};

} // namespace

static const GCStatepointInst *statepoint_of(const GCProjectionInst &of)
{
    return dyn_cast<GCStatepointInst>(of.getStatepoint());
}

/* Constants are null or permanent objects: nothing moves. References come first: one that is derived, too, is found as
 * the former. */
static void add_pointers(live &live, const GCStatepointInst &call)
{
    for (bool is_derived : {false, true})
        for (const User *user : call.users()) {
            auto *relocate = dyn_cast<GCRelocateInst>(user);
            if (!relocate || isa<Constant>(relocate->getBasePtr()))
                continue;
            uint32_t base = live.add(relocate->getBasePtr(), uint32_t(live.pairs.size()));
            if (is_derived && !isa<Constant>(relocate->getDerivedPtr()))
                live.add(relocate->getDerivedPtr(), base);
        }
}

/* Without relocates: each value, after its base. */
static void add_pairs(live &live, const OperandBundleUse &bundle)
{
    auto may_move = [](const Value *value) { return value->getType()->isPointerTy() && !isa<Constant>(value); };
    for (bool is_derived : {false, true})
        for (unsigned i = 0; i + 1 < bundle.Inputs.size() && !isa<AllocaInst>(bundle.Inputs[i]); i += 2) {
            if (!may_move(bundle.Inputs[i]) || !may_move(bundle.Inputs[i + 1]))
                return (void)live.w.refuse("a safepoint of another kind");
            uint32_t base = live.add(bundle.Inputs[i], uint32_t(live.pairs.size()));
            if (is_derived)
                live.add(bundle.Inputs[i + 1], base);
        }
}

struct words {
    live &to;
    const AllocaInst &variable;
    uint32_t kind;
};

static void add_word(void *context, uint64_t offset)
{
    auto &words = *static_cast<struct words *>(context);
    if (offset % 8)
        words.to.w.refuse("a reference that is not aligned");
    words.to.pairs.push_back({&words.variable, words.kind | uint32_t(offset / 8)});
}

static void add_variables(live &live, const OperandBundleUse &bundle)
{
    for (const Use &use : bundle.Inputs) {
        auto *variable = dyn_cast<AllocaInst>(use.get());
        if (!variable)
            continue;
        words words = {live, *variable,
                       variable->hasMetadata(TN__PINNED) ? unsigned(TN__FLAT_OF_PINNED) : unsigned(TN__FLAT_OF_MEMORY)};
        tn__each_reference(wrap(&live.w.f.layout), wrap(variable->getAllocatedType()), 0, add_word, &words);
    }
}

static void add_safepoint(live &live, bool is_entry)
{
    live.w.add(TN__FLAT_SAFEPOINT, TN__FLAT_VOID)->sub = is_entry;
    for (auto [value, what] : live.pairs) {
        live.w.put(value);
        live.w.put(what);
    }
}

/* The bundle is the last one; before it there may be that of a call which is expanded. */
bool tn__walk::has_live(const CallBase &call) const
{
    unsigned count = call.getNumOperandBundles();
    return f.takes_managed && count && call.getOperandBundleAt(count - 1).getTagName() == TN__LIVE &&
           (count == 1 || (count == 2 && call.getOperandBundleAt(0).getTagName() == TN__INLINE));
}

void tn__walk::flatten_safepoint(const CallBase &call)
{
    OperandBundleUse bundle = call.getOperandBundleAt(call.getNumOperandBundles() - 1);
    live live(*this);
    add_pairs(live, bundle);
    add_variables(live, bundle);
    add_safepoint(live, call.getAttributes().hasFnAttr(TN__ENTRY_CALL));
}

void tn__walk::flatten_statepoint(const GCStatepointInst &call)
{
    auto *callee = call.getActualCalledOperand();
    auto bundle = call.getOperandBundle(LLVMContext::OB_gc_live);
    bool is_plain = call.getNumOperandBundles() == call.countOperandBundlesOfType(LLVMContext::OB_gc_live) &&
                    !call.getNumPatchBytes() && call.gc_transition_args().empty();
    if (!is_plain || !isa<Function>(callee) || call.getFlags() != uint64_t(StatepointFlags::None))
        return (void)refuse("a statepoint of another kind");
    live live(*this);
    add_pointers(live, call);
    if (bundle)
        add_variables(live, *bundle);
    add_safepoint(live, call.getID() == TN__GC_ENTRY);
    flatten_callee(call, callee, call.getActualReturnType(), GCStatepointInst::CallArgsBeginPos,
                   unsigned(call.actual_arg_size()));
}

/* It becomes the owner of the call's value: nothing else names that. */
void tn__walk::flatten_result(const GCResultInst &result)
{
    const GCStatepointInst *call = statepoint_of(result);
    tn__leaves leaves;
    if (!call || !f.leaves_of(result.getType(), 0, leaves))
        return (void)refuse("a result of another kind");
    if (is_numbered(*call))
        return own_at(result, operand_at(call, 0, 0));
    own(result);
    for (unsigned i = 0; i < leaves.size(); i++)
        copy(leaves[i].type, call, i);
}

/* The value has changed where it is. */
void tn__walk::flatten_relocate(const GCRelocateInst &relocate)
{
    if (!statepoint_of(relocate) || f.type_of(relocate.getType()) != TN__FLAT_PTR)
        return (void)refuse("a relocate of another kind");
    own(relocate);
    copy(TN__FLAT_PTR, relocate.getDerivedPtr(), 0);
}

/* Of the function itself. */
void tn__walk::flatten_frame(const IntrinsicInst &intrinsic)
{
    if (!cast<Constant>(intrinsic.getOperand(0))->isNullValue())
        return (void)refuse("the frame of a caller");
    simple(intrinsic, TN__FLAT_FRAME, TN__FLAT_PTR, 0);
}
