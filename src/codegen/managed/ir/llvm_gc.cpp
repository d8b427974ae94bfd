/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <numeric>
#include <optional>
#include <string>

#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/TargetLowering.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/BasicBlock.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/KnownBits.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

#include "codegen/llvm/llvm_compat.h"

#include "codegen/managed/ir/gc.h"

using namespace llvm;

bool tn__llvm_is_elf(LLVMModuleRef module)
{
    return unwrap(module)->getTargetTriple().isOSBinFormatELF();
}

bool tn__llvm_any_part(LLVMTypeRef type, bool (*is)(LLVMTypeRef part, unsigned argument), unsigned argument)
{
    SmallVector<Type *, 8> open = {unwrap(type)};
    SmallPtrSet<Type *, 8> seen;
    while (!open.empty()) {
        Type *part = open.pop_back_val();
        if (!isa<StructType, ArrayType>(part) && is(wrap(part), argument))
            return true;
        if (isa<StructType>(part) || (isa<ArrayType>(part) && part->getArrayNumElements()))
            for (Type *inner : part->subtypes())
                if (seen.insert(inner).second)
                    open.push_back(inner);
    }
    return false;
}

static uint64_t count_references(Type *type, SmallDenseMap<Type *, uint64_t> &known)
{
    auto *vector = dyn_cast<FixedVectorType>(type);
    if (!isa<StructType, ArrayType>(type))
        return tn__space_of_type(wrap(type)) != TRACKED ? 0 : vector ? vector->getNumElements() : 1;
    if (auto found = known.find(type); found != known.end())
        return found->second;
    uint64_t count = 0;
    for (Type *part : type->subtypes())
        count = SaturatingAdd(count, count_references(part, known));
    if (auto *array = dyn_cast<ArrayType>(type))
        count = SaturatingMultiply(count, array->getNumElements());
    return known[type] = count;
}

uint64_t tn__llvm_count_references(LLVMTypeRef type)
{
    SmallDenseMap<Type *, uint64_t> known;
    return count_references(unwrap(type), known);
}

bool tn__constant_distance(LLVMValueRef address, LLVMValueRef base, int64_t *distance)
{
    *distance = 0;
    for (; address != base; address = LLVMGetOperand(address, 0)) {
        auto *gep = dyn_cast<GetElementPtrInst>(unwrap(address));
        if (!gep && !isa<AddrSpaceCastInst>(unwrap(address)))
            return false;
        if (!gep)
            continue;
        const DataLayout &layout = gep->getModule()->getDataLayout();
        APInt bytes(layout.getIndexTypeSizeInBits(gep->getType()), 0);
        if (gep->getType()->isVectorTy() || !gep->accumulateConstantOffset(layout, bytes))
            return false;
        *distance += bytes.getSExtValue();
    }
    return true;
}

void tn__llvm_gep_steps(LLVMTargetDataRef layout_ref, LLVMValueRef gep, int64_t *bytes, uint64_t *stride)
{
    auto *operation = cast<GEPOperator>(unwrap(gep));
    const DataLayout &layout = *unwrap(layout_ref);
    unsigned bits = layout.getIndexTypeSizeInBits(operation->getType());
    SmallMapVector<Value *, APInt, 4> variable;
    APInt fixed(bits, 0);
    *bytes = 0;
    *stride = 1;
    if (!operation->collectOffset(layout, bits, variable, fixed))
        return;
    *bytes = fixed.getSExtValue();
    *stride = 0;
    for (auto &[index, scale] : variable) {
        unsigned zeros = std::min(computeKnownBits(index, layout).countMinTrailingZeros(), 12u); /* of any value */
        *stride = std::gcd(*stride, scale.abs().getZExtValue() << zeros);
    }
}

void tn__llvm_set_allocated_type(LLVMValueRef alloca, LLVMTypeRef type, unsigned alignment)
{
    auto *instruction = cast<AllocaInst>(unwrap(alloca));
    instruction->setAllocatedType(unwrap(type));
    instruction->setOperand(0, ConstantInt::get(instruction->getArraySize()->getType(), 1));
    instruction->setAlignment(std::max(instruction->getAlign(), Align(alignment)));
}

/* ---- results ---- */

namespace {

/* What SelectionDAGBuilder decides of results in a function; its features say how wide registers are. */
class results {
  public:
    results(LLVMTargetMachineRef machine, LLVMValueRef function)
        : info(&TN_CODEGEN_MACHINE(*reinterpret_cast<TargetMachine *>(machine))),
          caller(info.getOrCreateMachineFunction(*cast<Function>(unwrap(function)))),
          lowering(*caller.getSubtarget().getTargetLowering())
    {
    }

    /* Whether there are registers for the type, and for so many more x87 values. */
    bool fit(CallingConv::ID convention, Type *type, const AttributeList &attributes, unsigned extended = 0)
    {
        SmallVector<ISD::OutputArg, 8> parts;
        GetReturnInfo(convention, type, attributes, parts, lowering, caller.getDataLayout());
        for (unsigned i = 0; i < extended; i++) {
            SmallVector<ISD::OutputArg, 1> one;
            GetReturnInfo(convention, Type::getX86_FP80Ty(type->getContext()), attributes, one, lowering,
                          caller.getDataLayout());
            parts.append(one.begin(), one.end());
        }
        return TN_CAN_LOWER_RETURN(lowering, convention, caller, parts, type);
    }

  private:
    MachineModuleInfo info;
    MachineFunction &caller;
    const TargetLowering &lowering;
};

} // namespace

size_t tn__llvm_select_returned_in_memory(LLVMTargetMachineRef machine, LLVMValueRef function, LLVMValueRef *calls,
                                          size_t count)
{
    if (!count)
        return 0;
    results results(machine, function);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        auto &call = *cast<CallBase>(unwrap(calls[i]));
        if (!results.fit(call.getCallingConv(), call.getType(), call.getAttributes()))
            calls[kept++] = calls[i];
    }
    return kept;
}

/* There are two such registers: the type takes one if it fits, but not together with two others. */
bool tn__llvm_is_returned_in_x87(LLVMTargetMachineRef machine, LLVMValueRef function_ref, LLVMTypeRef type)
{
    const Function &function = *cast<Function>(unwrap(function_ref));
    if (!TN_MODULE_TRIPLE(*function.getParent()).isX86())
        return false;
    results results(machine, function_ref);
    return results.fit(CallingConv::C, unwrap(type), {}) && !results.fit(CallingConv::C, unwrap(type), {}, 2);
}

static bool passes_unusually(const AttributeList &attributes)
{
    static const Attribute::AttrKind ways[] = {Attribute::InAlloca, Attribute::Preallocated, Attribute::SwiftError,
                                               Attribute::SwiftAsync};
    return any_of(ways, [&](Attribute::AttrKind way) { return attributes.hasAttrSomewhere(way); });
}

bool tn__llvm_passes_unusually(LLVMValueRef of)
{
    auto *call = dyn_cast<CallBase>(unwrap(of));
    auto *function = dyn_cast<Function>(call ? call->getCalledOperand() : unwrap(of));
    return (call && passes_unusually(call->getAttributes())) ||
           (function && passes_unusually(function->getAttributes()));
}

unsigned tn__llvm_alignment(LLVMValueRef argument)
{
    return cast<Argument>(unwrap(argument))->getParamAlign().valueOrOne().value();
}

/* ---- names of members ---- */

static const DIType *strip(const DIType *type)
{
    while (auto *derived = dyn_cast_or_null<DIDerivedType>(type)) {
        if (derived->getTag() == dwarf::DW_TAG_pointer_type)
            break;
        type = derived->getBaseType();
    }
    return type;
}

/* Appends the way to the bit: ".inner.list[2]". */
static void append_members(const DIType *type, uint64_t bit, std::string &path)
{
    enum { LONGEST = 64 };
    auto *whole = dyn_cast_or_null<DICompositeType>(strip(type));
    if (!whole || path.size() > LONGEST)
        return;
    if (whole->getTag() == dwarf::DW_TAG_array_type) {
        const DIType *element = strip(whole->getBaseType());
        uint64_t size = element ? element->getSizeInBits() : 0;
        if (size) {
            path += "[" + std::to_string(bit / size) + "]";
            append_members(element, bit % size, path);
        }
        return;
    }
    const DIDerivedType *found = nullptr;
    for (const Metadata *node : whole->getElements())
        if (auto *member = dyn_cast_or_null<DIDerivedType>(node))
            if (member->getTag() == dwarf::DW_TAG_member && member->getOffsetInBits() <= bit)
                found = member;
    if (!found)
        return;
    path += "." + found->getName().str();
    append_members(found->getBaseType(), bit - found->getOffsetInBits(), path);
}

/* The struct with this tag, or that a typedef with this name names. */
static const DIType *find_struct(Module &module, StringRef name)
{
    DebugInfoFinder finder;
    finder.processModule(module);
    for (const DIType *type : finder.types())
        if (type->getName() == name && isa_and_nonnull<DICompositeType>(strip(type)))
            return type;
    return nullptr;
}

bool tn__llvm_member_name(LLVMModuleRef module, const char *name, uint64_t offset, char *out, size_t size)
{
    std::string path;
    append_members(find_struct(*unwrap(module), name), offset * 8, path);
    if (path.empty())
        return false;
    snprintf(out, size, "'%s'", path.c_str() + 1);
    return true;
}

LLVMBasicBlockRef tn__llvm_split(LLVMValueRef before)
{
    auto *instruction = cast<Instruction>(unwrap(before));
    auto place = instruction->getIterator();
    place.setHeadBit(true); /* what debug information says in front of it goes along */
    return wrap(instruction->getParent()->splitBasicBlock(place));
}

void tn__llvm_hoist(LLVMValueRef alloca)
{
    auto *instruction = cast<AllocaInst>(unwrap(alloca));
    BasicBlock &entry = instruction->getFunction()->getEntryBlock();
    auto place = entry.begin();
    uint64_t count = cast<ConstantInt>(instruction->getArraySize())->getZExtValue();
    if (count != 1)
        tn__llvm_set_allocated_type(alloca, wrap(ArrayType::get(instruction->getAllocatedType(), count)), 1);
    while (isa<AllocaInst>(*place) && &*place != instruction)
        ++place;
    if (&*place != instruction)
        instruction->moveBefore(entry, place);
}

LLVMValueRef tn__llvm_select(LLVMValueRef like, LLVMValueRef placeholder)
{
    auto *select = cast<SelectInst>(unwrap(like));
    Value *choice = unwrap(placeholder);
    return wrap(SelectInst::Create(select->getCondition(), choice, choice, "base", select->getIterator()));
}

LLVMBasicBlockRef tn__llvm_split_edge(LLVMValueRef terminator_ref, unsigned successor)
{
    auto *terminator = cast<Instruction>(unwrap(terminator_ref));
    BasicBlock *from = terminator->getParent(), *to = terminator->getSuccessor(successor);
    BasicBlock *between = BasicBlock::Create(to->getContext(), "", to->getParent(), to);
    BranchInst::Create(to, between)->setDebugLoc(terminator->getDebugLoc());
    to->replacePhiUsesWith(from, between);
    terminator->setSuccessor(successor, between);
    return wrap(between);
}

void tn__llvm_replace_function(LLVMValueRef old, LLVMValueRef by)
{
    unwrap(old)->replaceUsesWithIf(unwrap(by), [](Use &use) { return !isa<BlockAddress>(use.getUser()); });
}

/* ---- calls and operands ---- */

bool tn__is_safepoint(LLVMValueRef instruction)
{
    auto *call = dyn_cast<CallBase>(unwrap(instruction));
    auto *callee = call ? dyn_cast<Function>(call->getCalledOperand()) : nullptr;
    if (!call)
        return false;
    if (call->getAttributes().hasFnAttr(Attribute::ReturnsTwice) ||
        (callee && callee->hasFnAttribute(Attribute::ReturnsTwice)))
        return !tn__call_has_text(instruction, TN__RETURNS_APART);
    if (call->isInlineAsm() || call->getAttributes().hasFnAttr(TN__LEAF))
        return false;
    if (!callee || callee->getIntrinsicID())
        return !callee;
    tn__intrinsic intrinsic = tn__intrinsic_of(wrap(callee));
    if (intrinsic >= 0)
        return tn__collects(intrinsic);
    return !callee->hasFnAttribute(TN__LEAF) || tn__is_entry_call(instruction);
}

void tn__llvm_each_call(LLVMModuleRef module, void (*visit)(void *context, LLVMValueRef call), void *context)
{
    for (Function &function : *unwrap(module))
        for (BasicBlock &block : function)
            for (Instruction &instruction : block)
                if (isa<CallBase>(instruction))
                    visit(context, wrap(&instruction));
}

bool tn__llvm_is_lifetime(LLVMValueRef instruction)
{
    return isa<LifetimeIntrinsic>(unwrap(instruction));
}

bool tn__llvm_has_notable_operand(LLVMValueRef instruction_ref)
{
    auto *instruction = cast<Instruction>(unwrap(instruction_ref));
    auto *call = dyn_cast<CallBase>(instruction);
    return any_of(instruction->operands(), [=](const Use &use) {
        bool is_named = isa<Function>(use) && !(call && call->isCallee(&use));
        return is_named || isa<ConstantExpr>(use) || isa<ConstantAggregate>(use) ||
               tn__space_of_type(wrap(use->getType())) == CALLEE_ROOTED;
    });
}

void tn__llvm_define_operands(LLVMValueRef function)
{
    for (BasicBlock &block : *unwrap<Function>(function))
        for (Instruction &instruction : block)
            for (Use &use : instruction.operands())
                if (isa<UndefValue>(use) && tn__type_holds(wrap(use->getType()), IN_MANAGED))
                    use.set(Constant::getNullValue(use->getType()));
}

bool tn__has_bundle(LLVMValueRef call, const char *tag)
{
    return cast<CallBase>(unwrap(call))->countOperandBundlesOfType(tag);
}

static void drop_bundles(LLVMValueRef call, ArrayRef<StringRef> tags)
{
    auto *old = cast<CallBase>(unwrap(call));
    SmallVector<OperandBundleDef, 2> bundles;
    old->getOperandBundlesAsDefs(bundles);
    erase_if(bundles, [=](const OperandBundleDef &bundle) { return is_contained(tags, bundle.getTag()); });
    CallBase *made = CallBase::Create(old, bundles, old->getIterator());
    made->takeName(old);
    old->replaceAllUsesWith(made);
    old->eraseFromParent();
}

void tn__llvm_drop_bundles(LLVMValueRef call)
{
    drop_bundles(call, {"jl_roots", "gc-transition"});
}

void tn__llvm_drop_bundle(LLVMValueRef call, const char *tag)
{
    drop_bundles(call, {tag});
}

void tn__llvm_call_instead(LLVMValueRef invoke)
{
    changeToCall(cast<InvokeInst>(unwrap(invoke)));
}

void tn__llvm_set_type(LLVMValueRef instruction, LLVMTypeRef type)
{
    unwrap(instruction)->mutateType(unwrap(type));
}

void tn__llvm_redeclare(LLVMValueRef call_ref)
{
    auto *call = cast<AnyMemIntrinsic>(unwrap(call_ref));
    SmallVector<Type *, 3> types = {call->getRawDest()->getType()};
    if (auto *transfer = dyn_cast<AnyMemTransferInst>(call))
        types.push_back(transfer->getRawSource()->getType());
    types.push_back(call->getLength()->getType());
    call->setCalledFunction(TN_DECLARE_INTRINSIC(call->getModule(), call->getIntrinsicID(), types));
}

int tn__llvm_is_promotable(LLVMValueRef variable)
{
    return isAllocaPromotable(unwrap<AllocaInst>(variable));
}

void tn__llvm_promote(LLVMValueRef function_ref)
{
    auto *function = cast<Function>(unwrap(function_ref));
    SmallVector<AllocaInst *, 16> variables;
    for (Instruction &instruction : function->getEntryBlock())
        if (auto *variable = dyn_cast<AllocaInst>(&instruction))
            if (variable->getAllocatedType()->isPointerTy() &&
                tn__space_of_type(wrap(variable->getAllocatedType())) >= TRACKED && isAllocaPromotable(variable))
                variables.push_back(variable);
    if (variables.empty())
        return;
    DominatorTree dominators(*function);
    PromoteMemToReg(variables, dominators);
}

void tn__llvm_each_library_function(LLVMModuleRef module_ref, bool (*wanted)(const char *name),
                                    void (*visit)(LLVMValueRef function))
{
    Module &module = *unwrap(module_ref);
    std::optional<TargetLibraryInfoImpl> known; /* takes time to make */
    for (Function &function : module) {
        LibFunc which;
        if (!function.isDeclaration() || function.isIntrinsic() || !wanted(function.getName().str().c_str()))
            continue;
        if (!known)
            known.emplace(TN_MODULE_TRIPLE(module));
        if (TargetLibraryInfo(*known).getLibFunc(function, which))
            visit(wrap(&function));
    }
}

void tn__llvm_remove_unreachable(LLVMValueRef function)
{
    removeUnreachableBlocks(*cast<Function>(unwrap(function)));
}
