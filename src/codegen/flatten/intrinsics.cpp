/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM's intrinsic functions. Those that compute values are rows of a table; of vectors, they compute each scalar. */

#include "llvm/IR/Constants.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"

#include "codegen/flatten/walk.h"

using namespace llvm;

/* ---- one scalar ---- */

namespace {

/* Where a scalar is computed: the function, the scalar's number, its type, and what the row says. */
struct place {
    tn__walk &w;
    const IntrinsicInst &intrinsic;
    unsigned part, type, what;
    const char *const *names;

    uint32_t operand(unsigned number) const
    {
        return w.part_of(intrinsic.getOperand(number), part, type);
    }
    uint32_t number(uint64_t value) const
    {
        return w.f.number(value);
    }
    unsigned width() const
    {
        return 8 * tn__flat_size(type);
    }
    uint32_t op(unsigned operation, std::initializer_list<uint32_t> operands, unsigned sub = 0) const
    {
        return w.combine(operation, type, operands, sub);
    }
};

} // namespace

static uint32_t first(const place &p)
{
    uint32_t a = p.operand(0);
    return p.op(TN__FLAT_COPY, {a}, p.type);
}

static uint32_t one(const place &p)
{
    uint32_t a = p.operand(0);
    return p.op(p.what, {a});
}

static uint32_t choose(const place &p)
{
    uint32_t a = p.operand(0), b = p.operand(1);
    uint32_t is_first = p.op(TN__FLAT_ICMP, {a, b}, p.what);
    return p.op(TN__FLAT_SELECT, {is_first, a, b});
}

static uint32_t absolute(const place &p)
{
    uint32_t a = p.operand(0), zero = p.number(0), negative = p.op(TN__FLAT_SUB, {zero, a});
    uint32_t is_negative = p.op(TN__FLAT_ICMP, {a, zero}, TN__FLAT_SLT);
    return p.op(TN__FLAT_SELECT, {is_negative, negative, a});
}

/* The upper half of two values shifted to the left, or the lower one to the right. Of a value and itself it is a
 * rotation, and to the right one to the left by the negative amount. */
static uint32_t funnel(const place &p)
{
    bool to_right = p.intrinsic.getIntrinsicID() == Intrinsic::fshr;
    uint32_t a = p.operand(0), b = p.operand(1), amount = p.operand(2);
    if (p.intrinsic.getOperand(0) == p.intrinsic.getOperand(1)) {
        if (to_right)
            amount = p.op(TN__FLAT_SUB, {p.number(0), amount});
        return p.op(TN__FLAT_ROTL, {a, amount});
    }
    uint32_t last = p.number(p.width() - 1);
    amount = p.op(TN__FLAT_AND, {amount, last});
    uint32_t rest = p.op(TN__FLAT_XOR, {amount, last}), one = p.number(1), upper, lower;
    if (to_right) {
        lower = p.op(TN__FLAT_LSHR, {b, amount});
        upper = p.op(TN__FLAT_SHL, {a, one});
        upper = p.op(TN__FLAT_SHL, {upper, rest});
    } else {
        upper = p.op(TN__FLAT_SHL, {a, amount});
        lower = p.op(TN__FLAT_LSHR, {b, one});
        lower = p.op(TN__FLAT_LSHR, {lower, rest});
    }
    return p.op(TN__FLAT_OR, {upper, lower});
}

/* Rounded twice, as where there is no such instruction. */
static uint32_t product_and_sum(const place &p)
{
    uint32_t a = p.operand(0), b = p.operand(1), c = p.operand(2), product = p.op(TN__FLAT_FMUL, {a, b});
    return p.op(TN__FLAT_FADD, {product, c});
}

static uint32_t saturated_sum(const place &p)
{
    uint32_t a = p.operand(0), b = p.operand(1), sum = p.op(TN__FLAT_ADD, {a, b});
    uint32_t is_over = p.op(TN__FLAT_ICMP, {sum, a}, TN__FLAT_ULT);
    return p.op(TN__FLAT_SELECT, {is_over, p.number(UINT64_MAX), sum});
}

static uint32_t saturated_difference(const place &p)
{
    uint32_t a = p.operand(0), b = p.operand(1), difference = p.op(TN__FLAT_SUB, {a, b});
    uint32_t is_under = p.op(TN__FLAT_ICMP, {a, b}, TN__FLAT_ULT);
    return p.op(TN__FLAT_SELECT, {is_under, p.number(0), difference});
}

/* After an overflow, the bound is the one of the other sign than the result. */
static uint32_t saturated_signed(const place &p)
{
    uint32_t a = p.operand(0), b = p.operand(1), result = p.op(TN__FLAT_OVERFLOW, {a, b}, p.what);
    uint32_t is_over = p.w.combine(TN__FLAT_RESULT, TN__FLAT_I1, {}, 1);
    uint32_t sign = p.op(TN__FLAT_ASHR, {result, p.number(p.width() - 1)});
    uint32_t bound = p.op(TN__FLAT_XOR, {sign, p.number(UINT64_MAX << (p.width() - 1))});
    return p.op(TN__FLAT_SELECT, {is_over, bound, result});
}

/* Sums of pairs, of fours and of bytes, all in one number. */
static uint32_t count_ones(const place &p)
{
    auto wide = [&](unsigned op, uint32_t a, uint64_t b) { return p.w.combine(op, TN__FLAT_I64, {a, p.number(b)}); };
    auto sum = [&](uint32_t a, uint32_t b) { return p.w.combine(TN__FLAT_ADD, TN__FLAT_I64, {a, b}); };
    uint32_t a = p.operand(0);
    if (p.type != TN__FLAT_I64)
        a = p.w.combine(TN__FLAT_ZEXT, TN__FLAT_I64, {a}, p.type);
    for (auto [shift, mask] : {std::pair<unsigned, uint64_t>(1, 0x5555555555555555), {2, 0x3333333333333333}}) {
        uint32_t even = wide(TN__FLAT_AND, a, mask), odd = wide(TN__FLAT_AND, wide(TN__FLAT_LSHR, a, shift), mask);
        a = sum(even, odd);
    }
    a = wide(TN__FLAT_AND, sum(a, wide(TN__FLAT_LSHR, a, 4)), 0x0f0f0f0f0f0f0f0f);
    a = wide(TN__FLAT_LSHR, wide(TN__FLAT_MUL, a, 0x0101010101010101), 56);
    return p.type == TN__FLAT_I64 ? a : p.op(TN__FLAT_TRUNC, {a}, TN__FLAT_I64);
}

static uint32_t copy_sign(const place &p)
{
    if (p.type == TN__FLAT_F80)
        return p.w.refuse("copysign of x86_fp80"), 0;
    unsigned bits = p.type == TN__FLAT_F64 ? TN__FLAT_I64 : TN__FLAT_I32;
    uint64_t sign = UINT64_C(1) << (p.width() - 1);
    uint32_t a = p.operand(0), b = p.operand(1);
    a = p.w.combine(TN__FLAT_COPY, bits, {a}, p.type);
    b = p.w.combine(TN__FLAT_COPY, bits, {b}, p.type);
    a = p.w.combine(TN__FLAT_AND, bits, {a, p.number(sign - 1)});
    b = p.w.combine(TN__FLAT_AND, bits, {b, p.number(sign)});
    a = p.w.combine(TN__FLAT_OR, bits, {a, b});
    return p.op(TN__FLAT_COPY, {a}, bits);
}

/* A C function, of so many arguments. */
static uint32_t library(const place &p)
{
    SmallVector<uint32_t, 3> operands;
    for (unsigned i = 0; i < p.what; i++)
        operands.push_back(p.operand(i));
    return p.w.call_library(p.names[p.type - TN__FLAT_F32], p.type, operands);
}

/* One whose result is another type than its argument. */
static uint32_t library_to_integer(const place &p)
{
    unsigned from = p.w.f.type_of(p.intrinsic.getOperand(0)->getType()->getScalarType());
    uint32_t a = p.w.part_of(p.intrinsic.getOperand(0), p.part, from);
    if (p.type != TN__FLAT_I64 || from < TN__FLAT_F32)
        return p.w.refuse("a rounded number that is not an i64"), 0;
    return p.op(TN__FLAT_CALL, {p.w.f.library_function(p.names[from - TN__FLAT_F32]), a, from, 0});
}

static uint32_t masked(const place &p)
{
    uint32_t a = p.operand(0), mask = p.w.part_of(p.intrinsic.getOperand(1), p.part, TN__FLAT_I64);
    uint32_t bits = p.w.combine(TN__FLAT_COPY, TN__FLAT_I64, {a}, TN__FLAT_PTR);
    return p.op(TN__FLAT_COPY, {p.w.combine(TN__FLAT_AND, TN__FLAT_I64, {bits, mask})}, TN__FLAT_I64);
}

static uint32_t is_constant(const place &p)
{
    return p.op(TN__FLAT_COPY, {p.number(isa<Constant>(p.intrinsic.getOperand(0)))}, p.type);
}

/* The address at a distance of 32 bits that memory has. */
static uint32_t load_relative(const place &p)
{
    unsigned type = p.w.f.type_of(p.intrinsic.getOperand(1)->getType());
    uint32_t base = p.operand(0), offset = p.w.part_of(p.intrinsic.getOperand(1), 0, type);
    if (type != TN__FLAT_I64)
        offset = p.w.combine(TN__FLAT_SEXT, TN__FLAT_I64, {offset}, type);
    uint32_t from = p.op(TN__FLAT_ADDRESS, {base, offset, 1});
    uint32_t distance = p.w.combine(TN__FLAT_LOAD, TN__FLAT_I32, {from});
    distance = p.w.combine(TN__FLAT_SEXT, TN__FLAT_I64, {distance}, TN__FLAT_I32);
    return p.op(TN__FLAT_ADDRESS, {base, distance, 1});
}

/* ---- the table ---- */

namespace {

struct row {
    Intrinsic::ID id;
    uint32_t (*compute)(const place &); /* NULL: it says something to optimisers */
    unsigned what;                      /* an operation, a condition, or a number of arguments */
    const char *names[3];               /* for float, double and x86_fp80 */
    bool has_bits;                      /* also of i1 */
};

} // namespace

static const row rows[] = {
    {Intrinsic::lifetime_start, nullptr},
    {Intrinsic::lifetime_end, nullptr},
    {Intrinsic::dbg_declare, nullptr},
    {Intrinsic::dbg_value, nullptr},
    {Intrinsic::dbg_label, nullptr},
    {Intrinsic::dbg_assign, nullptr},
    {Intrinsic::assume, nullptr},
    {Intrinsic::donothing, nullptr},
    {Intrinsic::sideeffect, nullptr},
    {Intrinsic::prefetch, nullptr},
    {Intrinsic::vaend, nullptr},
    {Intrinsic::var_annotation, nullptr},
    {Intrinsic::experimental_noalias_scope_decl, nullptr},
    {Intrinsic::invariant_end, nullptr},
    {Intrinsic::expect, first, 0, {}, true},
    {Intrinsic::expect_with_probability, first, 0, {}, true},
    {Intrinsic::launder_invariant_group, first},
    {Intrinsic::strip_invariant_group, first},
    {Intrinsic::ssa_copy, first, 0, {}, true},
    {Intrinsic::is_constant, is_constant, 0, {}, true},
    {Intrinsic::load_relative, load_relative},
    {Intrinsic::ptrmask, masked},
    {Intrinsic::fabs, one, TN__FLAT_FABS},
    {Intrinsic::sqrt, one, TN__FLAT_SQRT},
    {Intrinsic::copysign, copy_sign},
    {Intrinsic::fmuladd, product_and_sum},
    {Intrinsic::cttz, one, TN__FLAT_CTTZ},
    {Intrinsic::ctlz, one, TN__FLAT_CTLZ},
    {Intrinsic::ctpop, count_ones},
    {Intrinsic::bswap, one, TN__FLAT_BSWAP},
    {Intrinsic::smin, choose, TN__FLAT_SLT, {}, true},
    {Intrinsic::smax, choose, TN__FLAT_SGT, {}, true},
    {Intrinsic::umin, choose, TN__FLAT_ULT, {}, true},
    {Intrinsic::umax, choose, TN__FLAT_UGT, {}, true},
    {Intrinsic::abs, absolute},
    {Intrinsic::fshl, funnel},
    {Intrinsic::fshr, funnel},
    {Intrinsic::uadd_sat, saturated_sum},
    {Intrinsic::usub_sat, saturated_difference},
    {Intrinsic::sadd_sat, saturated_signed, TN__FLAT_SADD},
    {Intrinsic::ssub_sat, saturated_signed, TN__FLAT_SSUB},
    {Intrinsic::floor, library, 1, {"floorf", "floor", "floorl"}},
    {Intrinsic::ceil, library, 1, {"ceilf", "ceil", "ceill"}},
    {Intrinsic::trunc, library, 1, {"truncf", "trunc", "truncl"}},
    {Intrinsic::rint, library, 1, {"rintf", "rint", "rintl"}},
    {Intrinsic::nearbyint, library, 1, {"nearbyintf", "nearbyint", "nearbyintl"}},
    {Intrinsic::round, library, 1, {"roundf", "round", "roundl"}},
    {Intrinsic::roundeven, library, 1, {"roundevenf", "roundeven", "roundevenl"}},
    {Intrinsic::sin, library, 1, {"sinf", "sin", "sinl"}},
    {Intrinsic::cos, library, 1, {"cosf", "cos", "cosl"}},
    {Intrinsic::tan, library, 1, {"tanf", "tan", "tanl"}},
    {Intrinsic::exp, library, 1, {"expf", "exp", "expl"}},
    {Intrinsic::exp2, library, 1, {"exp2f", "exp2", "exp2l"}},
    {Intrinsic::log, library, 1, {"logf", "log", "logl"}},
    {Intrinsic::log2, library, 1, {"log2f", "log2", "log2l"}},
    {Intrinsic::log10, library, 1, {"log10f", "log10", "log10l"}},
    {Intrinsic::pow, library, 2, {"powf", "pow", "powl"}},
    {Intrinsic::minnum, library, 2, {"fminf", "fmin", "fminl"}},
    {Intrinsic::maxnum, library, 2, {"fmaxf", "fmax", "fmaxl"}},
    {Intrinsic::fma, library, 3, {"fmaf", "fma", "fmal"}},
    {Intrinsic::lround, library_to_integer, 1, {"lroundf", "lround", "lroundl"}},
    {Intrinsic::llround, library_to_integer, 1, {"llroundf", "llround", "llroundl"}},
    {Intrinsic::lrint, library_to_integer, 1, {"lrintf", "lrint", "lrintl"}},
    {Intrinsic::llrint, library_to_integer, 1, {"llrintf", "llrint", "llrintl"}},
};

void tn__walk::flatten_row(const IntrinsicInst &intrinsic, const void *found)
{
    const row &row = *static_cast<const struct row *>(found);
    tn__leaves leaves;
    SmallVector<uint32_t, 16> values;
    f.is_wide |= intrinsic.getType()->isIntegerTy(128);
    if (f.is_wide)
        return (void)refuse("i128");
    if (!row.compute || !f.leaves_of(intrinsic.getType(), 0, leaves))
        return;
    for (unsigned i = 0; i < leaves.size() && !f.why; i++) {
        if (leaves[i].type == TN__FLAT_I1 && !row.has_bits)
            return (void)refuse("an operation on i1");
        values.push_back(row.compute({*this, intrinsic, i, leaves[i].type, row.what, row.names}));
    }
    give(intrinsic, leaves, values);
}

/* ---- reductions of vectors to one scalar, from the first on ---- */

static bool is_condition(Intrinsic::ID id)
{
    return id == Intrinsic::vector_reduce_smin || id == Intrinsic::vector_reduce_smax ||
           id == Intrinsic::vector_reduce_umin || id == Intrinsic::vector_reduce_umax;
}

void tn__walk::flatten_reduction(const IntrinsicInst &intrinsic, unsigned operation)
{
    unsigned type = f.type_of(intrinsic.getType());
    bool has_start = operation == TN__FLAT_FADD || operation == TN__FLAT_FMUL;
    const Value *vector = intrinsic.getOperand(has_start ? 1 : 0);
    tn__leaves leaves;
    if (!f.leaves_of(vector->getType(), 0, leaves))
        return;
    uint32_t value = part_of(has_start ? intrinsic.getOperand(0) : vector, 0, type);
    for (unsigned i = has_start ? 0 : 1; i < leaves.size(); i++) {
        uint32_t next = part_of(vector, i, type);
        if (is_condition(intrinsic.getIntrinsicID())) {
            uint32_t is_old = combine(TN__FLAT_ICMP, type, {value, next}, operation);
            value = combine(TN__FLAT_SELECT, type, {is_old, value, next});
        } else {
            value = combine(operation, type, {value, next});
        }
    }
    own(intrinsic);
    combine(TN__FLAT_COPY, type, {value}, type);
}

/* ---- those that are no rows ---- */

/* The sign of each scalar as a bit of a number. */
void tn__walk::flatten_signs(const IntrinsicInst &intrinsic)
{
    tn__leaves leaves;
    const Value *vector = intrinsic.getOperand(0);
    if (!f.leaves_of(vector->getType(), 0, leaves))
        return;
    uint32_t value = f.number(0);
    for (unsigned i = 0; i < leaves.size(); i++) {
        uint32_t bit = part_of(vector, i, leaves[i].type);
        unsigned type = leaves[i].type, width = 8 * tn__flat_size(type);
        if (tn__flat_is_float(type)) {
            unsigned bits = type == TN__FLAT_F64 ? TN__FLAT_I64 : TN__FLAT_I32;
            bit = combine(TN__FLAT_COPY, bits, {bit}, type);
            type = bits;
        }
        bit = combine(TN__FLAT_LSHR, type, {bit, f.number(width - 1)});
        if (type == TN__FLAT_I64)
            bit = combine(TN__FLAT_TRUNC, TN__FLAT_I32, {bit}, type);
        else if (type != TN__FLAT_I32)
            bit = combine(TN__FLAT_ZEXT, TN__FLAT_I32, {bit}, type);
        bit = combine(TN__FLAT_SHL, TN__FLAT_I32, {bit, f.number(i)});
        value = combine(TN__FLAT_OR, TN__FLAT_I32, {value, bit});
    }
    own_at(intrinsic, value);
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

/* The model of local variables of a file by a call is that of all variables by one. */
uint32_t tn__walk::thread_local_address(const GlobalVariable &variable)
{
    if (!variable.isThreadLocal() || f.machine.useEmulatedTLS() || f.machine.useTLSDESC())
        return refuse("a thread-local variable"), 0;
    TLSModel::Model model = f.machine.getTLSModel(&variable);
    bool calls = model == TLSModel::GeneralDynamic || model == TLSModel::LocalDynamic;
    unsigned sub = calls ? TN__FLAT_DYNAMIC : model == TLSModel::InitialExec ? TN__FLAT_INITIAL : TN__FLAT_LOCAL_EXEC;
    uint32_t symbol = f.thread_local_of(&variable), getter = calls ? f.library_function("__tls_get_addr") : f.number(0);
    return combine(TN__FLAT_THREAD, TN__FLAT_PTR, {symbol, getter}, sub);
}

void tn__walk::flatten_thread_local(const IntrinsicInst &intrinsic)
{
    auto *variable = dyn_cast<GlobalVariable>(intrinsic.getOperand(0));
    if (!variable)
        return (void)refuse("a thread-local variable");
    own_at(intrinsic, thread_local_address(*variable));
}

void tn__walk::save_stack(const IntrinsicInst &intrinsic)
{
    saves_stack = true;
    simple(intrinsic, TN__FLAT_STACK, TN__FLAT_PTR, 0);
}

void tn__walk::flatten_intrinsic(const IntrinsicInst &intrinsic)
{
    switch (intrinsic.getIntrinsicID()) {
#define ROW(name, call)                                                                                                \
    case Intrinsic::name:                                                                                              \
        return call;
        ROW(memcpy, call_memory(cast<MemIntrinsic>(intrinsic), "memcpy"))
        ROW(memmove, call_memory(cast<MemIntrinsic>(intrinsic), "memmove"))
        ROW(memset, call_memory(cast<MemIntrinsic>(intrinsic), "memset"))
        ROW(vacopy, copy_list(intrinsic))
        ROW(threadlocal_address, flatten_thread_local(intrinsic))
        ROW(stacksave, save_stack(intrinsic))
        ROW(stackrestore, simple(intrinsic, TN__FLAT_SET_STACK, TN__FLAT_VOID, 1))
        ROW(vastart, simple(intrinsic, TN__FLAT_VA_START, TN__FLAT_VOID, 1))
        ROW(eh_typeid_for, simple(intrinsic, TN__FLAT_TYPE_ID, TN__FLAT_I32, 1))
        ROW(sadd_with_overflow, flatten_overflow(intrinsic, TN__FLAT_SADD))
        ROW(uadd_with_overflow, flatten_overflow(intrinsic, TN__FLAT_UADD))
        ROW(ssub_with_overflow, flatten_overflow(intrinsic, TN__FLAT_SSUB))
        ROW(usub_with_overflow, flatten_overflow(intrinsic, TN__FLAT_USUB))
        ROW(smul_with_overflow, flatten_overflow(intrinsic, TN__FLAT_SMUL))
        ROW(umul_with_overflow, flatten_overflow(intrinsic, TN__FLAT_UMUL))
        ROW(vector_reduce_add, flatten_reduction(intrinsic, TN__FLAT_ADD))
        ROW(vector_reduce_mul, flatten_reduction(intrinsic, TN__FLAT_MUL))
        ROW(vector_reduce_and, flatten_reduction(intrinsic, TN__FLAT_AND))
        ROW(vector_reduce_or, flatten_reduction(intrinsic, TN__FLAT_OR))
        ROW(vector_reduce_xor, flatten_reduction(intrinsic, TN__FLAT_XOR))
        ROW(vector_reduce_smin, flatten_reduction(intrinsic, TN__FLAT_SLT))
        ROW(vector_reduce_smax, flatten_reduction(intrinsic, TN__FLAT_SGT))
        ROW(vector_reduce_umin, flatten_reduction(intrinsic, TN__FLAT_ULT))
        ROW(vector_reduce_umax, flatten_reduction(intrinsic, TN__FLAT_UGT))
        ROW(vector_reduce_fadd, flatten_reduction(intrinsic, TN__FLAT_FADD))
        ROW(vector_reduce_fmul, flatten_reduction(intrinsic, TN__FLAT_FMUL))
        ROW(x86_sse2_pmovmskb_128, flatten_signs(intrinsic))
        ROW(x86_sse_movmsk_ps, flatten_signs(intrinsic))
        ROW(x86_sse2_movmsk_pd, flatten_signs(intrinsic))
        ROW(frameaddress, flatten_frame(intrinsic))
        ROW(experimental_gc_statepoint, flatten_statepoint(cast<GCStatepointInst>(intrinsic)))
        ROW(experimental_gc_result, flatten_result(cast<GCResultInst>(intrinsic)))
        ROW(experimental_gc_relocate, flatten_relocate(cast<GCRelocateInst>(intrinsic)))
        ROW(trap, (void)add(TN__FLAT_TRAP, TN__FLAT_VOID))
#undef ROW
    default:
        for (const row &row : rows)
            if (row.id == intrinsic.getIntrinsicID())
                return flatten_row(intrinsic, &row);
        refuse(Intrinsic::getBaseName(intrinsic.getIntrinsicID()).data());
    }
}
