/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Passes over arithmetic of floating point, which LLVM does not have:
 *     simdloop        loops of which sums may be reordered, or of which accesses are independent
 *     muladd          products that may be fused with the sum that uses them
 *     demote-float16  arithmetic on half and bfloat in float, where the CPU has none */

#include "codegen/llvm/llvm_compat.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

#include "codegen/llvm/remarks.h"
#include "codegen/pipeline/floats.h"

using namespace llvm;

static PreservedAnalyses changed_values(bool changed)
{
    if (!changed)
        return PreservedAnalyses::all();
    PreservedAnalyses preserved;
    preserved.preserveSet<CFGAnalyses>();
    return preserved;
}

/* ---- simdloop ---- */

/* What a loop's metadata promises, in words of ours. */
struct promises {
    bool simd = false, ivdep = false;
    SmallVector<Metadata *, 8> others; /* the first one stands for the loop itself */
};

static promises read_promises(const MDNode &id)
{
    promises found;
    for (const MDOperand &operand : id.operands()) {
        auto *words = dyn_cast_or_null<MDString>(operand.get());
        auto *node = dyn_cast_or_null<MDNode>(operand.get());
        if (!words && node && node != &id && node->getNumOperands() > 0)
            words = dyn_cast<MDString>(node->getOperand(0));
        StringRef word = words ? words->getString() : "";
        bool is_ours = word.consume_front("julia.") || word.consume_front("tenon.");
        found.simd |= is_ours && word == "simdloop";
        found.ivdep |= is_ours && word == "ivdep";
        if (!is_ours)
            found.others.push_back(operand.get());
    }
    return found;
}

/* llvm.fmuladd, a product and a sum that may be fused: what clang makes of a * b + c. llvm.fma is one operation. */
static bool adds_product(const Instruction &instruction)
{
    auto *call = dyn_cast<IntrinsicInst>(&instruction);
    return call && call->getIntrinsicID() == Intrinsic::fmuladd;
}

/* FAdd or FMul if the instruction adds to, subtracts from, multiplies or divides `operand`; 0: it does not. */
static unsigned reduction(const Instruction &instruction, const Instruction &operand)
{
    bool is_left = instruction.getOperand(0) == &operand;
    switch (instruction.getOpcode()) {
    case Instruction::FAdd:
        return Instruction::FAdd;
    case Instruction::FSub:
        return is_left ? Instruction::FAdd : 0;
    case Instruction::FMul:
        return Instruction::FMul;
    case Instruction::FDiv:
        return is_left ? Instruction::FMul : 0;
    case Instruction::Call:
        return adds_product(instruction) && instruction.getOperand(2) == &operand ? Instruction::FAdd : 0;
    }
    return 0;
}

/* LLVM reorders sums, but not llvm.fmuladd: it becomes both, which may still be fused. */
static Instruction *split(Instruction &call)
{
    IRBuilder<> builder(&call);
    builder.setFastMathFlags(call.getFastMathFlags());
    Value *product = builder.CreateFMul(call.getOperand(0), call.getOperand(1));
    auto *sum = BinaryOperator::CreateFAdd(call.getOperand(2), product);
    sum->copyFastMathFlags(&call);
    sum->setDebugLoc(call.getDebugLoc());
    sum->takeName(&call);
    builder.Insert(sum, sum->getName());
    call.replaceAllUsesWith(sum);
    call.eraseFromParent();
    return sum;
}

static Instruction *only_user(const Instruction &value, const Loop &loop)
{
    Instruction *only = nullptr;
    for (const User *user : value.users()) {
        auto *instruction = cast<Instruction>(user);
        if (!loop.contains(instruction))
            continue;
        if (only)
            return nullptr;
        only = const_cast<Instruction *>(instruction);
    }
    return only;
}

static void allow_fusing(Instruction &sum, const Loop &loop)
{
    for (Value *operand : sum.operands())
        if (auto *product = dyn_cast<Instruction>(operand);
            product && product->getOpcode() == Instruction::FMul && product->hasOneUse() && loop.contains(product))
            product->setHasAllowContract(true);
}

/* A chain from the phi back to it, of one kind of operation, each used once in the loop, may be reordered. False: there
 * is none. */
static bool allow_reordering(PHINode &phi, const Loop &loop)
{
    SmallVector<Instruction *, 8> chain;
    unsigned kind = 0;
    for (Instruction *at = &phi, *next;; at = next) {
        next = only_user(*at, loop);
        if (next == &phi)
            break;
        unsigned this_kind = next && !isa<PHINode>(next) ? reduction(*next, *at) : 0;
        if (!this_kind || (kind && kind != this_kind)) {
            if (phi.getType()->isFPOrFPVectorTy())
                tn__llvm_remark(wrap(&phi), "simdloop", "NotReordered", false,
                                "the value is used elsewhere in the loop, or is no sum or product");
            return false;
        }
        kind = this_kind;
        chain.push_back(next);
    }
    if (!chain.empty())
        tn__llvm_remark(wrap(&phi), "simdloop", "Reordered", true, "the sum or product may be computed in any order");
    for (Instruction *link : chain) {
        link = adds_product(*link) ? split(*link) : link;
        link->setHasAllowReassoc(true);
        link->setHasAllowContract(true);
        allow_fusing(*link, loop);
    }
    return !chain.empty();
}

/* The number of reductions that may be computed in any order. */
static uint64_t keep_promises(Loop &loop, const promises &promised)
{
    uint64_t reordered = 0;
    MDNode *id = loop.getLoopID();
    if (promised.ivdep)
        for (BasicBlock *block : loop.blocks())
            for (Instruction &instruction : *block)
                if (instruction.mayReadOrWriteMemory()) {
                    const unsigned kind = LLVMContext::MD_mem_parallel_loop_access;
                    MDNode *outer = instruction.getMetadata(kind); /* of a loop around this one; both are named then */
                    instruction.setMetadata(kind, outer ? MDNode::concatenate(outer, id) : id);
                }
    if (promised.simd)
        for (PHINode &phi : loop.getHeader()->phis())
            reordered += allow_reordering(phi, loop);
    return reordered;
}

static bool lower_loop(Loop &loop, tn_compile_stats &stats)
{
    MDNode *old = loop.getLoopID();
    if (!old)
        return false;
    promises promised = read_promises(*old);
    if (promised.others.size() == old->getNumOperands())
        return false;
    MDNode *fresh = MDNode::getDistinct(old->getContext(), promised.others);
    fresh->replaceOperandWith(0, fresh);
    loop.setLoopID(fresh);
    stats.reordered_reductions += keep_promises(loop, promised);
    return true;
}

PreservedAnalyses SimdLoopPass::run(Function &function, FunctionAnalysisManager &analyses)
{
    bool changed = false;
    for (Loop *loop : analyses.getResult<LoopAnalysis>(function).getLoopsInPreorder())
        changed |= lower_loop(*loop, *gc->stats);
    return changed_values(changed);
}

/* ---- muladd ---- */

/* True if the value is a product that nothing else uses, and was not allowed to be fused. */
static bool allow_contraction(Value *value)
{
    auto *product = dyn_cast<Instruction>(value);
    if (!product || product->getOpcode() != Instruction::FMul || !product->hasOneUse() || product->hasAllowContract())
        return false;
    product->setHasAllowContract(true);
    tn__llvm_remark(wrap(product), "muladd", "Fused", true, "the product may be fused with the sum that it is part of");
    return true;
}

PreservedAnalyses MulAddPass::run(Function &function, FunctionAnalysisManager &)
{
    uint64_t fused = 0;
    for (Instruction &sum : instructions(function))
        if ((sum.getOpcode() == Instruction::FAdd || sum.getOpcode() == Instruction::FSub) && sum.hasAllowContract())
            fused += allow_contraction(sum.getOperand(0)) || allow_contraction(sum.getOperand(1));
    gc->stats->fused_products += fused;
    return changed_values(fused > 0);
}

/* ---- demote-float16 ---- */

/* What a CPU must have to compute in a type, by architecture; no row: no CPU does. An attribute of a function wins. */
static const struct {
    Type::TypeID type;
    const char *attribute;
    struct {
        Triple::ArchType arch;
        const char *feature;
    } native[3];
} formats[] = {
    {Type::HalfTyID,
     "julia.hasfp16",
     {{Triple::x86_64, "+avx512fp16"}, {Triple::aarch64, "+fullfp16"}, {Triple::riscv64, "+zfh"}}},
    {Type::BFloatTyID, "julia.hasbf16", {}},
};

static bool is_native(const Function &function, const TargetMachine &machine, Type::TypeID type)
{
    for (const auto &format : formats) {
        if (format.type != type)
            continue;
        if (Attribute asked = function.getFnAttribute(format.attribute); asked.isValid())
            return asked.getValueAsString() != "false";
        for (const auto &row : format.native)
            if (row.feature && row.arch == machine.getTargetTriple().getArch() &&
                machine.getSubtargetImpl(function)->checkFeatures(row.feature))
                return true;
    }
    return false;
}

/* The type that the instruction computes in, if that is a small one. fneg changes a bit, of a NaN too. */
static Type *small_type(const Instruction &instruction)
{
    bool computes = isa<BinaryOperator>(instruction) || isa<FCmpInst>(instruction);
    Type *type = computes ? instruction.getOperand(0)->getType() : nullptr;
    Type *scalar = type ? type->getScalarType() : nullptr;
    return scalar && (scalar->isHalfTy() || scalar->isBFloatTy()) ? type : nullptr;
}

static void demote(Instruction &instruction, Type &type)
{
    IRBuilder<> builder(&instruction);
    Type *wide = type.getWithNewType(builder.getFloatTy());
    Instruction *computed = instruction.clone();
    for (Use &operand : computed->operands())
        operand.set(builder.CreateFPExt(operand.get(), wide));
    if (!isa<FCmpInst>(computed))
        computed->mutateType(wide);
    builder.Insert(computed, instruction.getName());
    Value *result = isa<FCmpInst>(computed) ? computed : builder.CreateFPTrunc(computed, &type);
    instruction.replaceAllUsesWith(result);
    instruction.eraseFromParent();
}

PreservedAnalyses DemoteFloat16Pass::run(Function &function, FunctionAnalysisManager &)
{
    const auto &machine = *reinterpret_cast<TargetMachine *>(gc->machine);
    SmallVector<Instruction *, 16> found;
    for (Instruction &instruction : instructions(function))
        if (Type *type = small_type(instruction); type && !(isa<FPMathOperator>(instruction) && instruction.isFast()) &&
                                                  !is_native(function, machine, type->getScalarType()->getTypeID()))
            found.push_back(&instruction);
    for (Instruction *instruction : found) {
        tn__llvm_remark(wrap(instruction), "demote-float16", "Demoted", true, "the CPU computes in float instead");
        demote(*instruction, *small_type(*instruction));
    }
    gc->stats->demoted_operations += found.size();
    return changed_values(!found.empty());
}
