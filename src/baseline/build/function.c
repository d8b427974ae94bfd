/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Types are checked here, where the mistake is made. What only the whole function shows, such as a value that is used
 * where it is not defined, the verifier finds at the end. */

#include "baseline/build/build.h"

_Static_assert((int)TN_BUILD_I1 == TN__FLAT_I1 && (int)TN_BUILD_PTR == TN__FLAT_PTR &&
                   (int)TN_BUILD_F64 == TN__FLAT_F64 && (int)TN_BUILD_UNSIGNED == TN__FLAT_ZERO_EXTEND &&
                   (int)TN_BUILD_SIGNED == TN__FLAT_SIGN_EXTEND && (int)TN_BUILD_SLE == TN__FLAT_SLE &&
                   (int)TN_BUILD_UMUL == TN__FLAT_UMUL,
               "the numbers are those of the flat form");

#define MISTAKE(f, why) tn__build_fail((f)->build, __func__, why)

/* Of a function, and so many instructions and blocks: operands have no larger numbers. */
enum { MOST_VALUES = TN__FLAT_IMMEDIATE };

/* Whether a call does anything. */
static bool is_on(const struct tn_build_function *f)
{
    return f && !f->build->err.code;
}

static unsigned type_of(const struct tn_build_function *f, uint32_t value)
{
    return value - 1 < f->value_count ? f->values[value - 1].type : (unsigned)TN_BUILD_VOID;
}

static bool is_in(const char *types, unsigned type)
{
    return type <= TN_BUILD_F64 && tn__flat_is_in(types, type);
}

/* ---- values ---- */

static uint32_t add_value(struct tn_build_function *f, struct tn__build_value value)
{
    if (f->value_count >= MOST_VALUES)
        return tn__build_too_large(f->build);
    if (!tn__grow(NULL, &f->values, &f->value_room, f->value_count + 1, sizeof *f->values))
        return tn__build_no_memory(f->build);
    f->values[f->value_count++] = value;
    return (uint32_t)f->value_count;
}

unsigned tn_build_type_of(const struct tn_build_function *f, uint32_t value)
{
    return f ? type_of(f, value) : (unsigned)TN_BUILD_VOID;
}

uint32_t tn_build_symbol(const struct tn_build_function *f)
{
    return f ? f->symbol : 0;
}

uint32_t tn_build_argument(struct tn_build_function *f, size_t number)
{
    if (!is_on(f))
        return 0;
    if (number < f->argument_count)
        return (uint32_t)number + 1;
    return MISTAKE(f, "there is no such argument");
}

uint32_t tn_build_integer(struct tn_build_function *f, unsigned type, int64_t number)
{
    if (!is_on(f))
        return 0;
    if (!is_in("BIP", type))
        return MISTAKE(f, "the type is no integer or pointer");
    return add_value(f, (struct tn__build_value){TN__BUILD_NUMBER, (uint8_t)type, 0, (uint64_t)number});
}

uint32_t tn_build_real(struct tn_build_function *f, unsigned type, double number)
{
    if (!is_on(f))
        return 0;
    if (!is_in("F", type))
        return MISTAKE(f, "the type is no floating-point number");
    uint64_t bits = 0;
    float narrow = (float)number;
    if (type == TN_BUILD_F32)
        memcpy(&bits, &narrow, sizeof narrow);
    else
        memcpy(&bits, &number, sizeof number);
    return add_value(f, (struct tn__build_value){TN__BUILD_NUMBER, (uint8_t)type, 0, bits});
}

uint32_t tn_build_address(struct tn_build_function *f, uint32_t symbol, int32_t addend)
{
    if (!is_on(f))
        return 0;
    if (symbol - 1 >= f->build->symbol_count)
        return MISTAKE(f, "there is no such symbol");
    return add_value(f, (struct tn__build_value){TN__BUILD_ADDRESS, TN_BUILD_PTR, addend, symbol - 1});
}

/* ---- blocks ---- */

uint32_t tn_build_block(struct tn_build_function *f)
{
    if (!is_on(f))
        return 0;
    if (f->block_count >= MOST_VALUES)
        return tn__build_too_large(f->build);
    if (!tn__grow(NULL, &f->blocks, &f->block_room, f->block_count + 1, sizeof *f->blocks))
        return tn__build_no_memory(f->build);
    f->blocks[f->block_count++] = (struct tn__build_block){0};
    return (uint32_t)f->block_count;
}

void tn_build_begin(struct tn_build_function *f, uint32_t block)
{
    if (is_on(f) && block - 1 < f->block_count)
        f->block = block;
    else if (is_on(f))
        MISTAKE(f, "there is no such block");
}

int tn_build_is_ended(const struct tn_build_function *f)
{
    return !f || !f->block || f->blocks[f->block - 1].is_ended;
}

/* ---- instructions ---- */

static bool put(struct tn_build_function *f, uint32_t operand)
{
    if (!tn__grow(NULL, &f->operands, &f->operand_room, f->operand_count + 1, sizeof *f->operands))
        return tn__build_no_memory(f->build);
    f->operands[f->operand_count++] = operand;
    f->insts[f->inst_count - 1].inst.count++;
    return true;
}

/* Adds an instruction to the block at hand, and its operands. Returns its value, of the type `result`, or 0. */
static uint32_t add(struct tn_build_function *f, const char *function, struct tn__flat_inst inst, unsigned result,
                    const uint32_t *operands, size_t count)
{
    if (!f->block || f->blocks[f->block - 1].is_ended)
        return tn__build_fail(f->build, function, "there is no block, or it has its last instruction");
    if (f->argument_count + f->inst_count >= MOST_VALUES)
        return tn__build_too_large(f->build);
    if (!tn__grow(NULL, &f->insts, &f->inst_room, f->inst_count + 1, sizeof *f->insts))
        return tn__build_no_memory(f->build);
    inst.first = (uint32_t)f->operand_count;
    f->insts[f->inst_count++] = (struct tn__build_inst){inst, f->block - 1};
    for (size_t i = 0; i < count; i++)
        if (!put(f, operands[i]))
            return 0;
    struct tn__build_block *block = &f->blocks[f->block - 1];
    block->is_ended = tn__flat_is_terminator(inst.op);
    block->has_others |= inst.op != TN__FLAT_PHI && inst.op != TN__FLAT_ALLOCA;
    return result ? add_value(f, (struct tn__build_value){TN__BUILD_INST, (uint8_t)result, 0, f->inst_count - 1}) : 0;
}

#define LIST(...) (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)

/* The second value of the instruction before. */
static uint32_t add_flag(struct tn_build_function *f, const char *function)
{
    if (f->build->err.code)
        return 0;
    return add(f, function, (struct tn__flat_inst){.op = TN__FLAT_RESULT, .type = TN_BUILD_I1, .sub = 1}, TN_BUILD_I1,
               NULL, 0);
}

/* ---- computing ---- */

static const uint8_t ops[TN_BUILD_OPS] = {
#define ROW(name) [TN_BUILD_##name] = TN__FLAT_##name
    ROW(ADD),   ROW(SUB),   ROW(MUL),    ROW(UDIV),   ROW(SDIV),    ROW(UREM),   ROW(SREM),   ROW(SHL),   ROW(LSHR),
    ROW(ASHR),  ROW(AND),   ROW(OR),     ROW(XOR),    ROW(ROTL),    ROW(FADD),   ROW(FSUB),   ROW(FMUL),  ROW(FDIV),
    ROW(BSWAP), ROW(CTTZ),  ROW(CTLZ),   ROW(FNEG),   ROW(FABS),    ROW(SQRT),   ROW(COPY),   ROW(TRUNC), ROW(ZEXT),
    ROW(SEXT),  ROW(FPEXT), ROW(FPTOSI), ROW(FPTOUI), ROW(FPTRUNC), ROW(SITOFP), ROW(UITOFP),
#undef ROW
};

/* Whether an operation of this range can have the type. */
static bool takes(enum tn_build_op op, enum tn_build_op first, enum tn_build_op last, unsigned type)
{
    return op >= first && op <= last && is_in(tn__flat_rows[ops[op]].types, type);
}

uint32_t tn_build_binary(struct tn_build_function *f, enum tn_build_op op, uint32_t a, uint32_t b)
{
    if (!is_on(f))
        return 0;
    unsigned type = type_of(f, a);
    if (type != type_of(f, b) || !takes(op, TN_BUILD_ADD, TN_BUILD_FDIV, type))
        return MISTAKE(f, "the operation has no such operands");
    return add(f, __func__, (struct tn__flat_inst){.op = ops[op], .type = (uint8_t)type}, type, LIST(a, b));
}

uint32_t tn_build_unary(struct tn_build_function *f, enum tn_build_op op, uint32_t a)
{
    if (!is_on(f))
        return 0;
    unsigned type = type_of(f, a);
    if (!takes(op, TN_BUILD_BSWAP, TN_BUILD_SQRT, type) || (op == TN_BUILD_BSWAP && type == TN_BUILD_I8))
        return MISTAKE(f, "the operation has no such operand");
    return add(f, __func__, (struct tn__flat_inst){.op = ops[op], .type = (uint8_t)type}, type, LIST(a));
}

uint32_t tn_build_convert(struct tn_build_function *f, enum tn_build_op op, unsigned type, uint32_t a)
{
    if (!is_on(f))
        return 0;
    unsigned from = type_of(f, a);
    if (!takes(op, TN_BUILD_COPY, TN_BUILD_UITOFP, type) || !tn__flat_converts(ops[op], from, type))
        return MISTAKE(f, "there is no such conversion between these types");
    return add(f, __func__, (struct tn__flat_inst){.op = ops[op], .type = (uint8_t)type, .sub = (uint8_t)from}, type,
               LIST(a));
}

uint32_t tn_build_compare(struct tn_build_function *f, enum tn_build_condition condition, uint32_t a, uint32_t b)
{
    static const uint8_t relations[] = {[TN_BUILD_FEQ - TN_BUILD_FEQ] = TN__FLAT_EQUAL,
                                        [TN_BUILD_FGT - TN_BUILD_FEQ] = TN__FLAT_GREATER,
                                        [TN_BUILD_FGE - TN_BUILD_FEQ] = TN__FLAT_GREATER | TN__FLAT_EQUAL,
                                        [TN_BUILD_FLT - TN_BUILD_FEQ] = TN__FLAT_LESS,
                                        [TN_BUILD_FLE - TN_BUILD_FEQ] = TN__FLAT_LESS | TN__FLAT_EQUAL,
                                        [TN_BUILD_FNE - TN_BUILD_FEQ] =
                                            TN__FLAT_LESS | TN__FLAT_GREATER | TN__FLAT_UNORDERED};
    if (!is_on(f))
        return 0;
    unsigned type = type_of(f, a);
    bool is_real = condition >= TN_BUILD_FEQ && condition < TN_BUILD_CONDITIONS;
    if (condition >= TN_BUILD_CONDITIONS || type != type_of(f, b) || !is_in(is_real ? "F" : "BIP", type))
        return MISTAKE(f, "these cannot be compared so");
    struct tn__flat_inst inst = {.op = is_real ? TN__FLAT_FCMP : TN__FLAT_ICMP,
                                 .type = (uint8_t)type,
                                 .sub = is_real ? relations[condition - TN_BUILD_FEQ] : (uint8_t)condition};
    return add(f, __func__, inst, TN_BUILD_I1, LIST(a, b));
}

uint32_t tn_build_select(struct tn_build_function *f, uint32_t condition, uint32_t yes, uint32_t no)
{
    if (!is_on(f))
        return 0;
    unsigned type = type_of(f, yes);
    if (type_of(f, condition) != TN_BUILD_I1 || !type || type != type_of(f, no))
        return MISTAKE(f, "the condition is no i1, or the values have no common type");
    return add(f, __func__, (struct tn__flat_inst){.op = TN__FLAT_SELECT, .type = (uint8_t)type}, type,
               LIST(condition, yes, no));
}

uint32_t tn_build_overflow(struct tn_build_function *f, enum tn_build_overflow kind, uint32_t a, uint32_t b,
                           uint32_t *flag)
{
    if (flag)
        *flag = 0;
    if (!is_on(f))
        return 0;
    unsigned type = type_of(f, a);
    if (kind > TN_BUILD_UMUL || !is_in("I", type) || type != type_of(f, b) ||
        (kind == TN_BUILD_SMUL && type == TN_BUILD_I8) || !flag)
        return MISTAKE(f, "the operation has no such operands, or no place for the flag");
    struct tn__flat_inst inst = {.op = TN__FLAT_OVERFLOW, .type = (uint8_t)type, .sub = (uint8_t)kind};
    uint32_t value = add(f, __func__, inst, type, LIST(a, b));
    *flag = add_flag(f, __func__);
    return value;
}

/* ---- memory ---- */

uint32_t tn_build_variable(struct tn_build_function *f, uint32_t bytes, uint32_t alignment)
{
    enum { LARGEST = 1 << 28, MOST_ALIGNMENT = 16 };
    if (!is_on(f))
        return 0;
    if (!alignment || (alignment & (alignment - 1)) || alignment > MOST_ALIGNMENT || bytes > LARGEST)
        return MISTAKE(f, "there is no such size or alignment");
    struct tn__flat_inst inst = {
        .op = TN__FLAT_ALLOCA, .type = TN_BUILD_PTR, .sub = (uint8_t)__builtin_ctz(alignment), .aux = bytes};
    return add(f, __func__, inst, TN_BUILD_PTR, NULL, 0);
}

uint32_t tn_build_load(struct tn_build_function *f, unsigned type, uint32_t address)
{
    if (!is_on(f))
        return 0;
    if (!is_in("BIPF", type) || type_of(f, address) != TN_BUILD_PTR)
        return MISTAKE(f, "the type is none, or the address is no pointer");
    return add(f, __func__, (struct tn__flat_inst){.op = TN__FLAT_LOAD, .type = (uint8_t)type}, type, LIST(address));
}

void tn_build_store(struct tn_build_function *f, uint32_t value, uint32_t address)
{
    if (!is_on(f))
        return;
    unsigned type = type_of(f, value);
    if (!type || type_of(f, address) != TN_BUILD_PTR)
        MISTAKE(f, "the value is none, or the address is no pointer");
    else
        add(f, __func__, (struct tn__flat_inst){.op = TN__FLAT_STORE, .type = (uint8_t)type}, 0, LIST(value, address));
}

uint32_t tn_build_element(struct tn_build_function *f, uint32_t address, uint32_t index, uint32_t step, int32_t offset)
{
    if (!is_on(f))
        return 0;
    if (type_of(f, address) != TN_BUILD_PTR || (index && type_of(f, index) != TN_BUILD_I64) || step > INT32_MAX)
        return MISTAKE(f, "the address is no pointer, the index no i64, or the step too large");
    const uint32_t operands[] = {address, index, step};
    struct tn__flat_inst inst = {.op = TN__FLAT_ADDRESS, .type = TN_BUILD_PTR, .aux = (uint32_t)offset};
    return add(f, __func__, inst, TN_BUILD_PTR, operands, index ? 3 : 1);
}

/* An atomic operation of a value with what is at an address. */
static uint32_t add_atomic(struct tn_build_function *f, const char *function, unsigned op, uint32_t value,
                           uint32_t address)
{
    unsigned type = type_of(f, value);
    if (!is_in(tn__flat_rows[op].types, type) || type_of(f, address) != TN_BUILD_PTR)
        return tn__build_fail(f->build, function, "the operation has no such value, or the address is no pointer");
    return add(f, function, (struct tn__flat_inst){.op = (uint8_t)op, .type = (uint8_t)type}, type,
               LIST(value, address));
}

uint32_t tn_build_exchange(struct tn_build_function *f, uint32_t value, uint32_t address)
{
    return is_on(f) ? add_atomic(f, __func__, TN__FLAT_EXCHANGE, value, address) : 0;
}

uint32_t tn_build_fetch_add(struct tn_build_function *f, uint32_t value, uint32_t address)
{
    return is_on(f) ? add_atomic(f, __func__, TN__FLAT_FETCH_ADD, value, address) : 0;
}

uint32_t tn_build_compare_exchange(struct tn_build_function *f, uint32_t expected, uint32_t value, uint32_t address,
                                   uint32_t *flag)
{
    if (flag)
        *flag = 0;
    if (!is_on(f))
        return 0;
    unsigned type = type_of(f, value);
    if (!is_in("IP", type) || type_of(f, expected) != type || type_of(f, address) != TN_BUILD_PTR || !flag)
        return MISTAKE(f,
                       "the values have no common type, the address is no pointer, or there is no place for the flag");
    struct tn__flat_inst inst = {.op = TN__FLAT_COMPARE_EXCHANGE, .type = (uint8_t)type};
    uint32_t before = add(f, __func__, inst, type, LIST(expected, value, address));
    *flag = add_flag(f, __func__);
    return before;
}

void tn_build_fence(struct tn_build_function *f)
{
    if (is_on(f))
        add(f, __func__, (struct tn__flat_inst){.op = TN__FLAT_FENCE}, 0, NULL, 0);
}

/* ---- phis ---- */

uint32_t tn_build_phi(struct tn_build_function *f, unsigned type)
{
    if (!is_on(f))
        return 0;
    if (!is_in("BIPF", type) || !f->block || f->blocks[f->block - 1].has_others)
        return MISTAKE(f, "the type is none, or the block has other instructions already");
    return add(f, __func__, (struct tn__flat_inst){.op = TN__FLAT_PHI, .type = (uint8_t)type}, type, NULL, 0);
}

void tn_build_incoming(struct tn_build_function *f, uint32_t phi, uint32_t value, uint32_t block)
{
    if (!is_on(f))
        return;
    const struct tn__build_value *v = phi - 1 < f->value_count ? &f->values[phi - 1] : NULL;
    if (!v || v->kind != TN__BUILD_INST || f->insts[v->number].inst.op != TN__FLAT_PHI ||
        type_of(f, value) != v->type || block - 1 >= f->block_count)
        MISTAKE(f, "there is no such phi or block, or the value is of another type");
    else if (!tn__grow(NULL, &f->incoming, &f->incoming_room, f->incoming_count + 1, sizeof *f->incoming))
        tn__build_no_memory(f->build);
    else
        f->incoming[f->incoming_count++] = (struct tn__build_incoming){(uint32_t)v->number, value, block - 1};
}

/* ---- calls ---- */

static bool fits(const struct tn_build_function *f, uint32_t value, unsigned kind)
{
    return tn__build_is_kind(kind) && type_of(f, value) == (kind & TN__FLAT_KIND_TYPE);
}

uint32_t tn_build_call(struct tn_build_function *f, uint32_t callee, unsigned result, const uint32_t *values,
                       const uint8_t *types, size_t count, int variadic)
{
    enum { MOST_ARGUMENTS = 1 << 16 };
    if (!is_on(f))
        return 0;
    unsigned type = result & TN__FLAT_KIND_TYPE;
    bool good =
        type_of(f, callee) == TN_BUILD_PTR && type <= TN_BUILD_F64 && count <= MOST_ARGUMENTS && (values || !count);
    for (size_t i = 0; good && i < count; i++)
        good = fits(f, values[i], types ? types[i] : type_of(f, values[i]));
    if (!good)
        return MISTAKE(f, "the callee is no pointer, or an argument is not of its type");
    struct tn__flat_inst inst = {.op = TN__FLAT_CALL, .type = (uint8_t)type, .flags = variadic ? TN__FLAT_VARIADIC : 0};
    size_t before = f->inst_count;
    uint32_t value = add(f, __func__, inst, type, LIST(callee));
    for (size_t i = 0; f->inst_count > before && i < count; i++)
        if (!put(f, values[i]) || !put(f, types ? types[i] : type_of(f, values[i])) || !put(f, 0))
            return 0;
    return value;
}

/* ---- ends of blocks ---- */

/* Blocks are counted from 1. */
static bool add_successor(struct tn_build_function *f, const char *function, uint32_t block)
{
    struct tn__build_block *from = &f->blocks[f->block - 1];
    if (block - 1 >= f->block_count || block == 1)
        return tn__build_fail(f->build, function, "there is no such block, or it is the first one");
    if (!tn__grow(NULL, &f->successors, &f->successor_room, f->successor_count + 1, sizeof *f->successors))
        return tn__build_no_memory(f->build);
    if (!from->successors)
        from->first_successor = (uint32_t)f->successor_count;
    from->successors++;
    f->successors[f->successor_count++] = block - 1;
    return true;
}

static bool end(struct tn_build_function *f, const char *function, struct tn__flat_inst inst, const uint32_t *operands,
                size_t count)
{
    add(f, function, inst, 0, operands, count);
    return !f->build->err.code;
}

void tn_build_jump(struct tn_build_function *f, uint32_t to)
{
    if (is_on(f) && end(f, __func__, (struct tn__flat_inst){.op = TN__FLAT_JUMP}, NULL, 0))
        add_successor(f, __func__, to);
}

void tn_build_branch(struct tn_build_function *f, uint32_t condition, uint32_t yes, uint32_t no)
{
    if (!is_on(f))
        return;
    if (type_of(f, condition) != TN_BUILD_I1)
        MISTAKE(f, "the condition is no i1");
    else if (end(f, __func__, (struct tn__flat_inst){.op = TN__FLAT_BRANCH}, LIST(condition)) &&
             add_successor(f, __func__, yes))
        add_successor(f, __func__, no);
}

static bool has_equal(struct tn_build_function *f, const int64_t *cases, size_t count, unsigned type)
{
    uint64_t *copy = tn__alloc(NULL, (count + 1) * sizeof *copy);
    if (!copy) {
        tn__build_no_memory(f->build);
        return true;
    }
    for (size_t i = 0; i < count; i++)
        copy[i] = (uint64_t)cases[i];
    bool found = tn__flat_has_equal(copy, count, type);
    tn__free(NULL, copy);
    return found;
}

void tn_build_switch(struct tn_build_function *f, uint32_t value, const int64_t *cases, const uint32_t *blocks,
                     size_t count, uint32_t otherwise)
{
    enum { MOST_CASES = 1 << 22 };
    if (!is_on(f))
        return;
    unsigned type = type_of(f, value);
    if (!is_in("I", type) || (count && (!cases || !blocks)) || count > MOST_CASES) {
        MISTAKE(f, "the value is no integer, or there are no such cases");
        return;
    }
    if (has_equal(f, cases, count, type)) {
        MISTAKE(f, "two of its cases are equal");
        return;
    }
    if (!end(f, __func__, (struct tn__flat_inst){.op = TN__FLAT_SWITCH, .type = (uint8_t)type}, LIST(value)) ||
        !add_successor(f, __func__, otherwise))
        return;
    for (size_t i = 0; i < count; i++) {
        uint32_t number = tn_build_integer(f, type, cases[i]);
        if (!number || !put(f, number) || !add_successor(f, __func__, blocks[i]))
            return;
    }
}

void tn_build_return(struct tn_build_function *f, uint32_t value)
{
    if (!is_on(f))
        return;
    const uint32_t operands[] = {value, f->result};
    if (value ? type_of(f, value) != (f->result & TN__FLAT_KIND_TYPE) : f->result)
        MISTAKE(f, "the function returns another type");
    else
        end(f, __func__, (struct tn__flat_inst){.op = TN__FLAT_RETURN}, operands, f->result ? 2 : 0);
}

void tn_build_trap(struct tn_build_function *f)
{
    if (is_on(f) && end(f, __func__, (struct tn__flat_inst){.op = TN__FLAT_TRAP}, NULL, 0))
        end(f, __func__, (struct tn__flat_inst){.op = TN__FLAT_UNREACHABLE}, NULL, 0);
}

void tn_build_unreachable(struct tn_build_function *f)
{
    if (is_on(f))
        end(f, __func__, (struct tn__flat_inst){.op = TN__FLAT_UNREACHABLE}, NULL, 0);
}
