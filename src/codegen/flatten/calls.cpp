/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Calls, results and exceptions. */

#include "llvm/IR/Constants.h"
#include "llvm/IR/Intrinsics.h"

#include "codegen/flatten/walk.h"

using namespace llvm;

/* ---- how values are passed ---- */

/* A copied argument that is aligned to 16 bytes. */
static bool is_aligned_copy(const AttributeSet &attributes)
{
    MaybeAlign align = attributes.getStackAlignment() ? attributes.getStackAlignment() : attributes.getAlignment();
    return attributes.hasAttribute(Attribute::ByVal) && align && align->value() == 16;
}

unsigned tn__walk::kind_of(const AttributeSet &attributes, const tn__leaf &leaf, bool is_argument)
{
    static const Attribute::AttrKind others[] = {Attribute::InReg,      Attribute::InAlloca,   Attribute::SwiftSelf,
                                                 Attribute::SwiftError, Attribute::SwiftAsync, Attribute::Preallocated};
    for (Attribute::AttrKind other : others)
        if (attributes.hasAttribute(other))
            refuse("how an argument is passed");
    if (!is_argument && attributes.hasAttribute(Attribute::ByVal))
        refuse("how an argument is passed");
    if (is_argument && is_aligned_copy(attributes))
        return leaf.type | TN__FLAT_WHOLE | TN__FLAT_BY_VALUE;
    if (leaf.type == TN__FLAT_I64)
        return leaf.type | (is_argument && leaf.is_half ? unsigned(TN__FLAT_WHOLE) : 0);
    if (attributes.hasAttribute(Attribute::Nest))
        return leaf.type | TN__FLAT_NEST;
    return leaf.type | (attributes.hasAttribute(Attribute::ZExt) ? unsigned(TN__FLAT_ZERO_EXTEND) : 0) |
           (attributes.hasAttribute(Attribute::SExt) ? unsigned(TN__FLAT_SIGN_EXTEND) : 0) |
           (attributes.hasAttribute(Attribute::ByVal) ? unsigned(TN__FLAT_BY_VALUE) : 0);
}

bool tn__walk::find_bytes(const AttributeSet &attributes, uint32_t &bytes)
{
    enum { LARGEST = 1 << 20 };
    Type *type = attributes.getByValType();
    bytes = 0;
    if (!type)
        return true;
    uint64_t size = f.layout.getTypeAllocSize(type).getFixedValue();
    MaybeAlign align = attributes.getStackAlignment() ? attributes.getStackAlignment() : attributes.getAlignment();
    if (size > LARGEST || !align || align->value() > 16)
        return refuse("how an argument is passed");
    bytes = uint32_t(size);
    return true;
}

/* Whether a vector is in it, which is passed as a whole. */
static bool has_vector(const Type *type)
{
    return type->isVectorTy() || any_of(type->subtypes(), [](const Type *member) { return has_vector(member); });
}

/* Whether scalars are returned in registers. */
static bool fits_registers(ArrayRef<tn__leaf> leaves)
{
    unsigned counts[TN__FLAT_BANKS] = {};
    return none_of(leaves,
                   [&](const tn__leaf &leaf) { return counts[tn__flat_bank(leaf.type)]++ == TN__FLAT_RETURNED; });
}

/* The halves of an i128 are passed alike only if it is the argument, and no part of one. */
bool tn__walk::find_passed(Type *type, tn__leaves &leaves)
{
    if (has_vector(type))
        return refuse("a vector that is passed");
    if (!f.leaves_of(type, 0, leaves))
        return false;
    if (!type->isIntegerTy(128))
        for (tn__leaf &leaf : leaves)
            leaf.is_half = false;
    return true;
}

void tn__walk::flatten_return(const ReturnInst &end)
{
    tn__leaves leaves;
    const Value *value = end.getReturnValue();
    if (value && !f.leaves_of(value->getType(), 0, leaves))
        return;
    if (!fits_registers(leaves) || (value && has_vector(value->getType()))) {
        refuse("how a value is returned");
        return;
    }
    add(TN__FLAT_RETURN, TN__FLAT_VOID);
    for (unsigned i = 0; i < leaves.size(); i++) {
        put(value, i);
        put(kind_of(function.getAttributes().getRetAttrs(), leaves[i], false));
    }
}

/* ---- calls ---- */

/* Callees of the last two preserve more. */
static bool is_called_as_c(CallingConv::ID convention)
{
    return convention == CallingConv::C || convention == CallingConv::Fast || convention == CallingConv::PreserveMost ||
           convention == CallingConv::PreserveAll;
}

static const char *refuses_call(const CallBase &call, bool has_live)
{
    bool is_safepoint = has_live || isa<GCStatepointInst>(call);
    if (call.isInlineAsm())
        return "inline assembly";
    if (call.isMustTailCall())
        return "musttail";
    if ((call.hasOperandBundles() && !is_safepoint) || call.hasFnAttr(Attribute::ReturnsTwice) ||
        call.hasFnAttr(Attribute::StrictFP))
        return "how a function is called";
    return is_called_as_c(call.getCallingConv()) ? nullptr : "a calling convention";
}

void tn__walk::flatten_any_call(const CallInst &call)
{
    if (auto *intrinsic = dyn_cast<IntrinsicInst>(&call))
        flatten_intrinsic(*intrinsic);
    else
        flatten_call(call);
}

void tn__walk::flatten_call(const CallBase &call)
{
    if (!expand(call))
        call_here(call);
}

void tn__walk::call_here(const CallBase &call)
{
    if (has_live(call))
        flatten_safepoint(call);
    flatten_callee(call, call.getCalledOperand(), call.getType(), 0, call.arg_size());
}

void tn__walk::flatten_callee(const CallBase &call, const Value *callee, Type *result, unsigned first, unsigned count)
{
    tn__leaves leaves;
    const AttributeList &attributes = call.getAttributes();
    if (const char *why = refuses_call(call, has_live(call))) {
        refuse(why);
        return;
    }
    if (!result->isVoidTy() && !f.leaves_of(result, 0, leaves))
        return;
    if (!fits_registers(leaves) || has_vector(result)) {
        refuse("how a value is returned");
        return;
    }
    kind_of(attributes.getRetAttrs(), {}, false);
    own(call);
    add(TN__FLAT_CALL, leaves.empty() ? unsigned(TN__FLAT_VOID) : leaves[0].type)->flags =
        !first && call.getFunctionType()->isVarArg() ? TN__FLAT_VARIADIC : 0;
    put(callee);
    for (unsigned i = first; i < first + count; i++) {
        uint32_t bytes;
        tn__leaves passed;
        AttributeSet how = attributes.getParamAttrs(i);
        if (!find_bytes(how, bytes) || !find_passed(call.getArgOperand(i)->getType(), passed))
            return;
        if (how.hasAttribute(Attribute::Nest) && !isa<Function>(callee))
            return (void)refuse("how an argument is passed");
        for (unsigned part = 0; part < passed.size(); part++) {
            put(call.getArgOperand(i), part);
            put(kind_of(how, passed[part], true));
            put(bytes);
        }
    }
    for (unsigned i = 1; i < leaves.size(); i++)
        add(TN__FLAT_RESULT, leaves[i].type)->sub = uint8_t(i);
}

/* ---- exceptions ---- */

void tn__walk::flatten_invoke(const InvokeInst &invoke)
{
    if (auto *statepoint = dyn_cast<GCStatepointInst>(&invoke))
        flatten_statepoint(*statepoint);
    else if (invoke.getIntrinsicID() != Intrinsic::not_intrinsic)
        return (void)refuse("an intrinsic function that is invoked");
    else
        flatten_call(invoke);
    add(TN__FLAT_INVOKED, TN__FLAT_VOID);
    add_successor(invoke.getNormalDest());
    add_successor(invoke.getUnwindDest());
}

void tn__walk::flatten_landing(const LandingPadInst &landing)
{
    tn__leaves leaves;
    if (!f.leaves_of(landing.getType(), 0, leaves))
        return;
    if (leaves.size() != 2 || leaves[0].type != TN__FLAT_PTR || leaves[1].type != TN__FLAT_I32)
        return (void)refuse("exceptions of another kind");
    own(landing);
    add(TN__FLAT_LANDING, TN__FLAT_PTR);
    auto clause = [&](uint32_t type, uint32_t kind) {
        put(type);
        put(kind);
    };
    for (unsigned i = 0; i < landing.getNumClauses(); i++) {
        const Constant *type = landing.getClause(i);
        if (landing.isCatch(i)) {
            clause(f.constant(type), TN__FLAT_CATCH);
            continue;
        }
        uint64_t count = cast<ArrayType>(type->getType())->getNumElements();
        if (!count)
            clause(f.number(0), TN__FLAT_FILTER);
        for (unsigned k = 0; k < count; k++)
            clause(f.constant(type->getAggregateElement(k)), k ? TN__FLAT_FILTER_MORE : TN__FLAT_FILTER);
    }
    if (landing.isCleanup())
        clause(f.number(0), TN__FLAT_CLEANUP);
    add(TN__FLAT_RESULT, TN__FLAT_I32)->sub = 1;
}

void tn__walk::flatten_resume(const ResumeInst &resume)
{
    uint32_t callee = f.library_function("_Unwind_Resume");
    add(TN__FLAT_CALL, TN__FLAT_VOID);
    put(callee);
    put(resume.getValue(), 0);
    put(uint32_t(TN__FLAT_PTR));
    put(0u);
    add(TN__FLAT_UNREACHABLE, TN__FLAT_VOID);
}

uint32_t tn__walk::call_library(const char *name, unsigned type, ArrayRef<uint32_t> operands)
{
    uint32_t callee = f.library_function(name), value = combine(TN__FLAT_CALL, type, {callee});
    for (uint32_t operand : operands) {
        put(operand);
        put(uint32_t(type));
        put(0u);
    }
    return value;
}

/* memcpy, memmove and memset. */
void tn__walk::call_memory(const MemIntrinsic &intrinsic, const char *name)
{
    unsigned length_type = f.type_of(intrinsic.getLength()->getType());
    bool is_set = isa<MemSetInst>(intrinsic);
    uint32_t length = copied(intrinsic.getLength(), length_type), callee = f.library_function(name);
    if (f.type_of(intrinsic.getRawDest()->getType()) == TN__FLAT_VOID ||
        f.type_of(intrinsic.getOperand(1)->getType()) == TN__FLAT_VOID)
        return;
    if (length_type != TN__FLAT_I64)
        length = combine(TN__FLAT_ZEXT, TN__FLAT_I64, {length}, length_type);
    add(TN__FLAT_CALL, TN__FLAT_VOID);
    put(callee);
    put(intrinsic.getRawDest());
    put(uint32_t(TN__FLAT_PTR));
    put(0u);
    put(intrinsic.getOperand(1));
    put(is_set ? uint32_t(TN__FLAT_I8 | TN__FLAT_ZERO_EXTEND) : uint32_t(TN__FLAT_PTR));
    put(0u);
    put(length);
    put(uint32_t(TN__FLAT_I64));
    put(0u);
}

/* A va_list has three words. */
void tn__walk::copy_list(const IntrinsicInst &intrinsic)
{
    enum { WORDS = 3, WORD = 8 };
    uint32_t to = part_of(intrinsic.getOperand(0), 0, TN__FLAT_PTR);
    uint32_t from = part_of(intrinsic.getOperand(1), 0, TN__FLAT_PTR);
    for (unsigned i = 0; i < WORDS; i++) {
        uint32_t source = combine(TN__FLAT_ADDRESS, TN__FLAT_PTR, {from});
        flat.insts[flat.inst_count - 1].aux = WORD * i;
        uint32_t word = combine(TN__FLAT_LOAD, TN__FLAT_I64, {source});
        uint32_t target = combine(TN__FLAT_ADDRESS, TN__FLAT_PTR, {to});
        flat.insts[flat.inst_count - 1].aux = WORD * i;
        combine(TN__FLAT_STORE, TN__FLAT_I64, {word, target});
    }
}
