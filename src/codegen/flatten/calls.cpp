/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Calls, results, and LLVM's intrinsic functions. */

#include "llvm/IR/Constants.h"
#include "llvm/IR/Intrinsics.h"

#include "codegen/flatten/walk.h"

using namespace llvm;

/* ---- how values are passed ---- */

unsigned tn__walk::kind_of(const AttributeSet &attributes, unsigned type, bool is_argument)
{
    static const Attribute::AttrKind others[] = {Attribute::InReg,       Attribute::Nest,       Attribute::InAlloca,
                                                 Attribute::SwiftSelf,   Attribute::SwiftError, Attribute::SwiftAsync,
                                                 Attribute::Preallocated};
    for (Attribute::AttrKind other : others)
        if (attributes.hasAttribute(other))
            refuse("how an argument is passed");
    if (!is_argument && attributes.hasAttribute(Attribute::ByVal))
        refuse("how an argument is passed");
    return type | (attributes.hasAttribute(Attribute::ZExt) ? unsigned(TN__FLAT_ZERO_EXTEND) : 0) |
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
    if (size > LARGEST || !align || align->value() > 8)
        return refuse("how an argument is passed");
    bytes = uint32_t(size);
    return true;
}

/* Whether scalars are returned in registers, of which there are two of each kind. */
static bool fits_registers(ArrayRef<tn__leaf> leaves)
{
    auto floats = count_if(leaves, [](const tn__leaf &leaf) { return tn__flat_is_float(leaf.type); });
    return floats <= 2 && int64_t(leaves.size()) - floats <= 2;
}

void tn__walk::flatten_return(const ReturnInst &end)
{
    tn__leaves leaves;
    const Value *value = end.getReturnValue();
    if (value && !f.leaves_of(value->getType(), 0, leaves))
        return;
    if (!fits_registers(leaves)) {
        refuse("a large aggregate");
        return;
    }
    add(TN__FLAT_RETURN, TN__FLAT_VOID);
    for (unsigned i = 0; i < leaves.size(); i++) {
        put(value, i);
        put(kind_of(function.getAttributes().getRetAttrs(), leaves[i].type, false));
    }
}

/* ---- calls ---- */

static const char *refuses_call(const CallBase &call)
{
    if (call.isInlineAsm())
        return "inline assembly";
    if (call.isMustTailCall())
        return "musttail";
    if (call.hasOperandBundles() || call.hasFnAttr(Attribute::ReturnsTwice) || call.hasFnAttr(Attribute::StrictFP))
        return "how a function is called";
    if (call.getCallingConv() != CallingConv::C && call.getCallingConv() != CallingConv::Fast)
        return "a calling convention";
    return nullptr;
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
    tn__leaves leaves;
    const AttributeList &attributes = call.getAttributes();
    if (const char *why = refuses_call(call)) {
        refuse(why);
        return;
    }
    if (!call.getType()->isVoidTy() && !f.leaves_of(call.getType(), 0, leaves))
        return;
    if (!fits_registers(leaves)) {
        refuse("a large aggregate");
        return;
    }
    kind_of(attributes.getRetAttrs(), TN__FLAT_VOID, false);
    own(call);
    add(TN__FLAT_CALL, leaves.empty() ? unsigned(TN__FLAT_VOID) : leaves[0].type)->flags =
        call.getFunctionType()->isVarArg() ? TN__FLAT_VARIADIC : 0;
    put(call.getCalledOperand());
    for (unsigned i = 0; i < call.arg_size(); i++) {
        uint32_t bytes;
        unsigned type = f.type_of(call.getArgOperand(i)->getType());
        if (!find_bytes(attributes.getParamAttrs(i), bytes))
            return;
        put(call.getArgOperand(i));
        put(kind_of(attributes.getParamAttrs(i), type, true));
        put(bytes);
    }
    for (unsigned i = 1; i < leaves.size(); i++)
        add(TN__FLAT_RESULT, leaves[i].type)->sub = uint8_t(i);
}

/* ---- exceptions ---- */

void tn__walk::flatten_invoke(const InvokeInst &invoke)
{
    if (invoke.getIntrinsicID() != Intrinsic::not_intrinsic)
        return (void)refuse("an intrinsic function that is invoked");
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

void tn__walk::call_library(const Instruction &instruction, const char *name, unsigned arguments)
{
    unsigned type = f.type_of(instruction.getType());
    uint32_t callee = f.library_function(name);
    own(instruction);
    add(TN__FLAT_CALL, type);
    put(callee);
    for (unsigned i = 0; i < arguments; i++) {
        put(instruction.getOperand(i));
        put(f.type_of(instruction.getOperand(i)->getType()));
        put(0u);
    }
}

/* memcpy, memmove and memset. */
void tn__walk::call_memory(const MemIntrinsic &intrinsic, const char *name)
{
    unsigned length_type = f.type_of(intrinsic.getLength()->getType());
    bool is_set = isa<MemSetInst>(intrinsic);
    const Function *own = f.module.getFunction(name);
    if (own && !own->isDeclaration()) /* it may copy itself, or call what does: LLVM copies little without a call */
        return (void)refuse("a copy in a module that defines such functions");
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

/* ---- intrinsic functions that become several instructions ---- */

void tn__walk::choose(const IntrinsicInst &intrinsic, unsigned condition)
{
    unsigned type = f.type_of(intrinsic.getType());
    if (type == TN__FLAT_I1)
        return (void)refuse("an operation on i1");
    uint32_t a = copied(intrinsic.getOperand(0), type), b = copied(intrinsic.getOperand(1), type);
    uint32_t first = combine(TN__FLAT_ICMP, type, {a, b}, condition);
    own(intrinsic);
    combine(TN__FLAT_SELECT, type, {first, a, b});
}

void tn__walk::flatten_absolute(const IntrinsicInst &intrinsic)
{
    unsigned type = f.type_of(intrinsic.getType());
    if (type == TN__FLAT_I1)
        return (void)refuse("an operation on i1");
    uint32_t a = copied(intrinsic.getOperand(0), type), zero = f.number(0);
    uint32_t negative = combine(TN__FLAT_SUB, type, {zero, a});
    uint32_t is_negative = combine(TN__FLAT_ICMP, type, {a, zero}, TN__FLAT_SLT);
    own(intrinsic);
    combine(TN__FLAT_SELECT, type, {is_negative, negative, a});
}

/* A funnel shift of a value and itself. To the right is to the left by the negative amount. */
void tn__walk::flatten_rotation(const IntrinsicInst &intrinsic)
{
    unsigned type = f.type_of(intrinsic.getType());
    if (type == TN__FLAT_I1 || intrinsic.getOperand(0) != intrinsic.getOperand(1))
        return (void)refuse("a funnel shift");
    uint32_t a = copied(intrinsic.getOperand(0), type), amount = copied(intrinsic.getOperand(2), type);
    if (intrinsic.getIntrinsicID() == Intrinsic::fshr)
        amount = combine(TN__FLAT_SUB, type, {f.number(0), amount});
    own(intrinsic);
    combine(TN__FLAT_ROTL, type, {a, amount});
}

void tn__walk::flatten_overflow(const IntrinsicInst &intrinsic, unsigned kind)
{
    unsigned type = f.type_of(intrinsic.getOperand(0)->getType());
    if (type == TN__FLAT_I1 || (kind == TN__FLAT_SMUL && type == TN__FLAT_I8))
        return (void)refuse("an operation on small integers");
    simple(intrinsic, TN__FLAT_OVERFLOW, type, 2);
    flat.insts[flat.inst_count - 1].sub = uint8_t(kind);
    add(TN__FLAT_RESULT, TN__FLAT_I1)->sub = 1;
}

/* ---- the others are rows ---- */

enum how {
    NOTHING = 0, /* it says something to optimisers */
    FIRST,       /* its first operand */
    ONE,         /* an operation on its first operand; `what`: which */
    INTEGER,     /* the same, on integers but i1 */
    CALL,        /* of a C function for float and one for double */
};

struct row {
    Intrinsic::ID id;
    enum how how;
    unsigned what; /* or how many arguments */
    const char *names[2];
};

static const row rows[] = {
    {Intrinsic::lifetime_start, NOTHING},
    {Intrinsic::lifetime_end, NOTHING},
    {Intrinsic::dbg_declare, NOTHING},
    {Intrinsic::dbg_value, NOTHING},
    {Intrinsic::dbg_label, NOTHING},
    {Intrinsic::dbg_assign, NOTHING},
    {Intrinsic::assume, NOTHING},
    {Intrinsic::donothing, NOTHING},
    {Intrinsic::sideeffect, NOTHING},
    {Intrinsic::prefetch, NOTHING},
    {Intrinsic::var_annotation, NOTHING},
    {Intrinsic::experimental_noalias_scope_decl, NOTHING},
    {Intrinsic::expect, FIRST},
    {Intrinsic::expect_with_probability, FIRST},
    {Intrinsic::fabs, ONE, TN__FLAT_FABS},
    {Intrinsic::sqrt, ONE, TN__FLAT_SQRT},
    {Intrinsic::cttz, INTEGER, TN__FLAT_CTTZ},
    {Intrinsic::ctlz, INTEGER, TN__FLAT_CTLZ},
    {Intrinsic::bswap, INTEGER, TN__FLAT_BSWAP},
    {Intrinsic::floor, CALL, 1, {"floorf", "floor"}},
    {Intrinsic::ceil, CALL, 1, {"ceilf", "ceil"}},
    {Intrinsic::trunc, CALL, 1, {"truncf", "trunc"}},
    {Intrinsic::rint, CALL, 1, {"rintf", "rint"}},
    {Intrinsic::nearbyint, CALL, 1, {"nearbyintf", "nearbyint"}},
    {Intrinsic::round, CALL, 1, {"roundf", "round"}},
    {Intrinsic::sin, CALL, 1, {"sinf", "sin"}},
    {Intrinsic::cos, CALL, 1, {"cosf", "cos"}},
    {Intrinsic::exp, CALL, 1, {"expf", "exp"}},
    {Intrinsic::exp2, CALL, 1, {"exp2f", "exp2"}},
    {Intrinsic::log, CALL, 1, {"logf", "log"}},
    {Intrinsic::log2, CALL, 1, {"log2f", "log2"}},
    {Intrinsic::log10, CALL, 1, {"log10f", "log10"}},
    {Intrinsic::pow, CALL, 2, {"powf", "pow"}},
    {Intrinsic::fma, CALL, 3, {"fmaf", "fma"}},
};

static void flatten_row(tn__walk &w, const row &row, const IntrinsicInst &intrinsic)
{
    if (row.how == NOTHING)
        return;
    unsigned type = w.f.type_of(intrinsic.getType());
    switch (row.how) {
    case FIRST:
        w.own(intrinsic);
        w.add(TN__FLAT_COPY, type)->sub = uint8_t(type);
        w.put(intrinsic.getOperand(0));
        break;
    case CALL:
        w.call_library(intrinsic, row.names[type == TN__FLAT_F64], row.what);
        break;
    default:
        if (row.how == INTEGER && (type == TN__FLAT_I1 || (type == TN__FLAT_I8 && row.what == TN__FLAT_BSWAP)))
            w.refuse("an operation on i1");
        w.simple(intrinsic, row.what, type, 1);
    }
}

void tn__walk::flatten_intrinsic(const IntrinsicInst &intrinsic)
{
    unsigned type;
    switch (intrinsic.getIntrinsicID()) {
#define ROW(name, call)                                                                                                \
    case Intrinsic::name:                                                                                              \
        return call;
        ROW(memcpy, call_memory(cast<MemIntrinsic>(intrinsic), "memcpy"))
        ROW(memmove, call_memory(cast<MemIntrinsic>(intrinsic), "memmove"))
        ROW(memset, call_memory(cast<MemIntrinsic>(intrinsic), "memset"))
        ROW(smin, choose(intrinsic, TN__FLAT_SLT))
        ROW(smax, choose(intrinsic, TN__FLAT_SGT))
        ROW(umin, choose(intrinsic, TN__FLAT_ULT))
        ROW(umax, choose(intrinsic, TN__FLAT_UGT))
        ROW(abs, flatten_absolute(intrinsic))
        ROW(fshl, flatten_rotation(intrinsic))
        ROW(fshr, flatten_rotation(intrinsic))
        ROW(sadd_with_overflow, flatten_overflow(intrinsic, TN__FLAT_SADD))
        ROW(uadd_with_overflow, flatten_overflow(intrinsic, TN__FLAT_UADD))
        ROW(ssub_with_overflow, flatten_overflow(intrinsic, TN__FLAT_SSUB))
        ROW(usub_with_overflow, flatten_overflow(intrinsic, TN__FLAT_USUB))
        ROW(smul_with_overflow, flatten_overflow(intrinsic, TN__FLAT_SMUL))
        ROW(umul_with_overflow, flatten_overflow(intrinsic, TN__FLAT_UMUL))
        ROW(trap, (void)add(TN__FLAT_TRAP, TN__FLAT_VOID))
#undef ROW
    case Intrinsic::eh_typeid_for:
        simple(intrinsic, TN__FLAT_TYPE_ID, TN__FLAT_I32, 1);
        return;
    case Intrinsic::fmuladd: { /* rounded twice, as where there is no such instruction */
        type = f.type_of(intrinsic.getType());
        uint32_t a = copied(intrinsic.getOperand(0), type), b = copied(intrinsic.getOperand(1), type);
        uint32_t c = copied(intrinsic.getOperand(2), type), product = combine(TN__FLAT_FMUL, type, {a, b});
        own(intrinsic);
        combine(TN__FLAT_FADD, type, {product, c});
        return;
    }
    default:
        for (const row &row : rows)
            if (row.id == intrinsic.getIntrinsicID()) {
                flatten_row(*this, row, intrinsic);
                return;
            }
        refuse(Intrinsic::getBaseName(intrinsic.getIntrinsicID()).data());
    }
}
