/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Behind a safepoint a value is its gc.relocate: uses change to the definition that reaches them. Where different ones
 * meet, and the value is still used, they meet in a phi, which LLVM's SSAUpdater inserts. */

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Statepoint.h"
#include "llvm/Transforms/Utils/SSAUpdater.h"

#include "codegen/managed/roots/roots.h"

using namespace llvm;

namespace {

/* One variable. */
class repair {
    Value *original;
    DenseMap<BasicBlock *, SmallVector<Instruction *, 2>> relocations; /* those in a block, in order */
    DenseMap<BasicBlock *, Value *> at_beginning;
    SSAUpdater updater;

    /* What the variable is in front of an instruction. */
    Value *reaching(Instruction *user)
    {
        BasicBlock *block = user->getParent();
        auto here = relocations.find(block);
        if (here != relocations.end()) {
            auto next = partition_point(here->second, [user](Instruction *each) { return each->comesBefore(user); });
            if (next != here->second.begin())
                return *std::prev(next);
        }
        if (block == defining_block())
            return original;
        Value *&value = at_beginning[block];
        return value ? value : value = updater.GetValueInMiddleOfBlock(block);
    }

    BasicBlock *defining_block() const
    {
        auto *instruction = dyn_cast<Instruction>(original);
        return instruction ? instruction->getParent() : &cast<Argument>(original)->getParent()->getEntryBlock();
    }

  public:
    repair(Value *original, ArrayRef<Instruction *> relocated, SmallVectorImpl<PHINode *> *phis)
        : original(original), updater(phis)
    {
        updater.Initialize(original->getType(), "");
        updater.AddAvailableValue(defining_block(), original);
        for (Instruction *each : relocated) {
            relocations[each->getParent()].push_back(each);
            updater.AddAvailableValue(each->getParent(), each); /* the last one of a block stays */
        }
    }

    void run()
    {
        SmallVector<Use *, 16> uses; /* before there are phis */
        for (Use &use : original->uses())
            uses.push_back(&use);
        for (Use *use : uses) {
            auto *user = cast<Instruction>(use->getUser());
            if (auto *phi = dyn_cast<PHINode>(user))
                use->set(updater.GetValueAtEndOfBlock(phi->getIncomingBlock(*use)));
            else if (user->getParent()) /* or it is a call that has become a statepoint */
                use->set(reaching(user));
        }
    }
};

} // namespace

/* In the order of the blocks, whatever the order in which edges were made. */
static void order_inputs(PHINode *phi, function_ref<uint32_t(BasicBlock *)> number_of)
{
    SmallVector<std::tuple<uint32_t, BasicBlock *, Value *>, 4> inputs;
    for (auto [block, value] : zip(phi->blocks(), phi->incoming_values()))
        inputs.push_back({number_of(block), block, value});
    stable_sort(inputs, less_first());
    for (auto [i, input] : enumerate(inputs)) {
        phi->setIncomingBlock(i, std::get<1>(input));
        phi->setIncomingValue(i, std::get<2>(input));
    }
}

/* A phi that chooses one value only, which removing another one may make of it. */
static void remove_needless(SmallVectorImpl<PHINode *> &phis)
{
    auto is_needless = [](PHINode *phi) {
        Value *only = phi->hasConstantValue();
        if (!only && !phi->use_empty())
            return false;
        if (only)
            phi->replaceAllUsesWith(only);
        phi->eraseFromParent();
        return true;
    };
    for (size_t before = 0; before != phis.size();) {
        before = phis.size();
        erase_if(phis, is_needless);
    }
}

void tn__repair(tn__roots *roots)
{
    SmallVector<PHINode *, 16> phis;
    std::vector<SmallVector<Instruction *, 4>> relocated(roots->variable_count);
    for (const tn__safepoint &safepoint : ArrayRef(roots->safepoints, roots->safepoint_count))
        for (uint32_t i = 0; i < safepoint.live_count; i++)
            relocated[safepoint.live[i]].push_back(cast<Instruction>(unwrap(safepoint.relocated[i])));
    for (uint32_t variable = 0; variable < roots->variable_count; variable++)
        if (!relocated[variable].empty())
            repair(unwrap(roots->variables[variable].value), relocated[variable], &phis).run();
    remove_needless(phis);
    for (PHINode *phi : phis)
        order_inputs(phi, [roots](BasicBlock *block) { return tn__cfg_number(roots->cfg, wrap(block)); });
}

/* ---- values that change in place ---- */

/* The callee becomes the first argument. Of the call's attributes, those of arguments stay. */
static CallBase *call_through(CallBase &old, Value *through, ArrayRef<OperandBundleDef> bundles)
{
    LLVMContext &context = old.getContext();
    SmallVector<Value *, 8> arguments = {old.getCalledOperand()};
    SmallVector<Type *, 8> types = {PointerType::get(context, 0)};
    SmallVector<AttributeSet, 8> attributes = {AttributeSet().addAttribute(context, Attribute::Nest)};
    append_range(arguments, old.args());
    append_range(types, old.getFunctionType()->params());
    for (unsigned i = 0; i < old.arg_size(); i++)
        attributes.push_back(old.getAttributes().getParamAttrs(i));
    auto *type = FunctionType::get(old.getType(), types, old.getFunctionType()->isVarArg());
    auto *invoke = dyn_cast<InvokeInst>(&old);
    CallBase *made;
    if (invoke)
        made = InvokeInst::Create(type, through, invoke->getNormalDest(), invoke->getUnwindDest(), arguments, bundles,
                                  "", old.getIterator());
    else
        made = CallInst::Create(type, through, arguments, bundles, "", old.getIterator());
    made->setAttributes(AttributeList::get(context, {}, {}, attributes));
    made->setDebugLoc(old.getDebugLoc());
    return made;
}

LLVMValueRef tn__call_in_place(LLVMValueRef call, LLVMValueRef through, unsigned convention, LLVMValueRef *live,
                               uint32_t count)
{
    auto &old = *unwrap<CallBase>(call);
    SmallVector<OperandBundleDef, 2> bundles;
    for (unsigned i = 0; i < old.getNumOperandBundles(); i++)
        if (old.getOperandBundleAt(i).getTagName() == TN__INLINE || old.getOperandBundleAt(i).isDeoptOperandBundle())
            bundles.emplace_back(old.getOperandBundleAt(i));
    bundles.emplace_back(TN__LIVE, ArrayRef(unwrap(live), count));
    CallBase *made =
        through ? call_through(old, unwrap(through), bundles) : CallBase::Create(&old, bundles, old.getIterator());
    made->setCallingConv(convention);
    if (tn__returns_twice(call))
        made->addFnAttr(Attribute::ReturnsTwice);
    made->takeName(&old);
    old.replaceAllUsesWith(made);
    return wrap(made);
}

/* ---- afterwards ---- */

/* IR that was read may have the bundle at what no statepoint can call. */
static bool is_in_place(const Instruction *instruction)
{
    auto *call = dyn_cast_or_null<CallBase>(instruction);
    return call && call->hasOperandBundles() && call->getOperandBundle(TN__LIVE) && !call->isInlineAsm() &&
           call->getIntrinsicID() == Intrinsic::not_intrinsic;
}

namespace {

/* A function whose safepoints are such calls. */
struct relocation {
    Function &function;
    IRBuilder<> builder;
    MapVector<Value *, SmallVector<Instruction *, 4>> relocated;

    explicit relocation(Function &function) : function(function), builder(function.getContext())
    {
    }

    /* Those that placed roots did so; IR that was read may be another one. */
    void split_edges()
    {
        for (BasicBlock &block : function) {
            auto *invoke = dyn_cast_or_null<InvokeInst>(block.getTerminator());
            if (is_in_place(invoke) &&
                (!invoke->getNormalDest()->getSinglePredecessor() || isa<PHINode>(invoke->getNormalDest()->front())))
                tn__llvm_split_edge(wrap(invoke), 0);
        }
    }

    /* Where a safepoint's relocates are: the edge of an invoke has been split. */
    static Instruction *place_behind(CallBase &call)
    {
        auto *invoke = dyn_cast<InvokeInst>(&call);
        return invoke ? &*invoke->getNormalDest()->getFirstInsertionPt() : call.getNextNode();
    }

    static SmallVector<Value *, 16> values_of(const CallBase &call, StringRef bundle)
    {
        SmallVector<Value *, 16> values;
        if (auto found = call.getOperandBundle(bundle))
            append_range(values, found->Inputs);
        return values;
    }

    CallBase *make_statepoint(CallBase &call)
    {
        SmallVector<Value *, 16> live = values_of(call, TN__LIVE), deopt = values_of(call, "deopt");
        SmallVector<Value *, 8> arguments(call.args());
        FunctionCallee callee(call.getFunctionType(), call.getCalledOperand());
        uint64_t identifier = call.getAttributes().hasFnAttr(TN__ENTRY_CALL) ? TN__GC_ENTRY : TN__GC_ORDINARY;
        std::optional<ArrayRef<Value *>> state;
        auto *invoke = dyn_cast<InvokeInst>(&call);
        CallBase *made;
        if (!deopt.empty())
            state = deopt;
        builder.SetInsertPoint(&call);
        if (invoke)
            made = builder.CreateGCStatepointInvoke(identifier, 0, callee, invoke->getNormalDest(),
                                                    invoke->getUnwindDest(), arguments, state, live);
        else
            made = builder.CreateGCStatepointCall(identifier, 0, callee, arguments, state, live);
        made->setCallingConv(call.getCallingConv());
        tn__copy_abi_attributes(wrap(&call), call.arg_size(), wrap(made), GCStatepointInst::CallArgsBeginPos);
        if (call.hasFnAttr(Attribute::ReturnsTwice))
            made->addFnAttr(Attribute::ReturnsTwice);
        return made;
    }

    CallBase *replace(CallBase &call)
    {
        CallBase *made = make_statepoint(call);
        if (!call.getType()->isVoidTy()) {
            builder.SetInsertPoint(place_behind(*made));
            Value *result = builder.CreateGCResult(made, call.getType());
            result->takeName(&call);
            call.replaceAllUsesWith(result);
        }
        call.eraseFromParent();
        return made;
    }

    void add_relocates(CallBase &call)
    {
        auto bundle = call.getOperandBundle(LLVMContext::OB_gc_live);
        DenseSet<Value *> known;
        builder.SetInsertPoint(place_behind(call));
        for (unsigned i = 0; bundle && i + 1 < bundle->Inputs.size(); i += 2) {
            Value *value = bundle->Inputs[i + 1];
            if (isa<AllocaInst>(bundle->Inputs[i]))
                break;
            if (!isa<Constant>(value) && value->getType()->isPointerTy() && known.insert(value).second)
                relocated[value].push_back(builder.CreateGCRelocate(&call, int(i), int(i + 1), value->getType()));
        }
    }

    void run()
    {
        SmallVector<PHINode *, 16> phis;
        SmallVector<CallBase *, 16> calls;
        DenseMap<BasicBlock *, uint32_t> numbers;
        split_edges();
        for (BasicBlock &block : function) {
            numbers.try_emplace(&block, uint32_t(numbers.size()));
            for (Instruction &instruction : block)
                if (is_in_place(&instruction))
                    calls.push_back(cast<CallBase>(&instruction));
        }
        for (CallBase *&call : calls)
            call = replace(*call);
        for (CallBase *call : calls) /* which name results of one another */
            add_relocates(*call);
        for (auto &[value, list] : relocated) {
            stable_sort(list, [&](Instruction *a, Instruction *b) {
                return a->getParent() == b->getParent() ? a->comesBefore(b)
                                                        : numbers.at(a->getParent()) < numbers.at(b->getParent());
            });
            repair(value, list, &phis).run();
        }
        remove_needless(phis);
        for (PHINode *phi : phis)
            order_inputs(phi, [&](BasicBlock *block) { return numbers.at(block); });
    }
};

} // namespace

void tn__relocate(LLVMValueRef function)
{
    relocation(*unwrap<Function>(function)).run();
}
