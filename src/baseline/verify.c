/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Whether a flat function is well-formed. Analysis and compilation check nothing that is checked here: every index,
 * type and number of operands, the shape of blocks, and that definitions dominate uses. */

#include <stdlib.h>

#include "baseline/analyse.h"

const struct tn__flat_row tn__flat_rows[TN__FLAT_OPS] = {
#define OP(name, text, operands, types, result) {text, operands, types, result},
#include "baseline/ops.def"
#undef OP
};

enum { MOST_OPERANDS = 1 << 24, LARGEST_FRAME = 1 << 28, LARGEST_ALIGNMENT = 4, LARGEST_ARGUMENT = 32 };

struct check {
    const struct tn__flat *flat;
    const struct tn__flat_inst *inst; /* at hand */
    uint32_t block;
    struct tn__flat_analysis analysis;
    uint32_t *dominator; /* of each position: that of the nearest block before it on all ways */
    uint32_t *block_of;  /* of each instruction */
    struct tn_error *err;
};

static int refuse(const struct check *c, const char *why)
{
    if (!c->inst)
        return tn__fail(c->err, TN_EFORMAT, "flat function: %s", why);
    return tn__fail(c->err, TN_EFORMAT, "flat function: instruction %zu (%s): %s", (size_t)(c->inst - c->flat->insts),
                    c->inst->op < TN__FLAT_OPS ? tn__flat_rows[c->inst->op].text : "?", why);
}

/* ---- operands ---- */

bool tn__flat_is_in(const char *types, unsigned type)
{
    static const char letters[TN__FLAT_TYPES] = {'V', 'B', 'I', 'I', 'I', 'I', 'P', 'F', 'F', 'X'};
    return type < TN__FLAT_TYPES && strchr(types, letters[type]);
}

/* A value, of this type, or a constant that can have it. */
static int check_operand(const struct check *c, uint32_t operand, unsigned type)
{
    const struct tn__flat *flat = c->flat;
    uint32_t index = tn__flat_index(operand);
    if (type >= TN__FLAT_TYPES || type == TN__FLAT_VOID)
        return refuse(c, "an operand has no type");
    switch (operand & TN__FLAT_KIND) {
    case TN__FLAT_VALUE:
        if (index >= tn__flat_values(flat) || tn__flat_type_of(flat, index) != type)
            return refuse(c, "an operand is no value of its type");
        return 0;
    case TN__FLAT_CONSTANT:
        index += type == TN__FLAT_F80;
        return index < flat->constant_count ? 0 : refuse(c, "there is no such constant");
    case TN__FLAT_IMMEDIATE:
        return type != TN__FLAT_F80 || !tn__flat_number(flat, operand) ? 0 : refuse(c, "a number has half of its bits");
    default:
        if (index >= flat->address_count || flat->addresses[index].symbol >= flat->symbols)
            return refuse(c, "there is no such symbol");
        return tn__flat_size(type) == 8 && type < TN__FLAT_F32 ? 0 : refuse(c, "an address is no such value");
    }
}

static int check_kind(const struct check *c, uint32_t kind, uint32_t bytes)
{
    unsigned type = kind & TN__FLAT_KIND_TYPE;
    bool copied = kind & TN__FLAT_BY_VALUE;
    if (kind > UINT8_MAX || type >= TN__FLAT_TYPES || type == TN__FLAT_VOID)
        return refuse(c, "an argument has no kind");
    if (copied ? type != TN__FLAT_PTR || bytes > LARGEST_FRAME : bytes != 0)
        return refuse(c, "an argument has no such size");
    if (tn__flat_is_whole(kind) && !copied && type != TN__FLAT_I64)
        return refuse(c, "half of an i128 has another type");
    return 0;
}

/* Of an argument and the next one, or 0. */
static int check_halves(const struct check *c, uint32_t kind, uint32_t next)
{
    if (!tn__flat_is_whole(kind) || kind & TN__FLAT_BY_VALUE || next == TN__FLAT_I64)
        return 0;
    return refuse(c, "an i128 has one half");
}

/* Of all arguments of a function or a call. */
static int check_size(const struct check *c, uint64_t bytes)
{
    return bytes < LARGEST_FRAME ? 0 : refuse(c, "its arguments are too large");
}

static int check_letter(const struct check *c, char letter, uint32_t k)
{
    const struct tn__flat_inst *inst = c->inst;
    const uint32_t *operands = c->flat->operands + inst->first;
    switch (letter) {
    case 't':
        return check_operand(c, operands[k], inst->type);
    case 'f':
        return check_operand(c, operands[k], inst->sub);
    case 'p':
        return check_operand(c, operands[k], TN__FLAT_PTR);
    case 'i':
        return check_operand(c, operands[k], TN__FLAT_I64);
    case 'b':
        return check_operand(c, operands[k], TN__FLAT_I1);
    case 'c':
        return tn__flat_is_number(operands[k]) ? check_operand(c, operands[k], inst->type)
                                               : refuse(c, "a case is no constant");
    case 'x':
        return check_operand(c, operands[k], operands[k + 1] & TN__FLAT_KIND_TYPE);
    default:
        return 0; /* a number */
    }
}

/* As the row says: some letters, and then perhaps a group that repeats. */
static int check_operands(const struct check *c)
{
    const struct tn__flat_letters letters = tn__flat_letters(c->inst->op);
    uint32_t count = c->inst->count, head = letters.head, step = letters.step;
    if (count > MOST_OPERANDS || !tn__inside(c->inst->first, count, c->flat->operand_count))
        return refuse(c, "its operands are outside");
    if (count < head || (step ? (count - head) % step : count - head))
        return refuse(c, "it has another number of operands");
    int code = 0;
    for (uint32_t k = 0; !code && k < count; k++)
        code = check_letter(c, tn__flat_letter(&letters, k), k);
    return code;
}

/* ---- what single operations require besides ---- */

bool tn__flat_converts(unsigned op, unsigned from, unsigned to)
{
    static const struct {
        const char *sources;
        int order; /* of both sizes */
    } rows[TN__FLAT_OPS] = {
        [TN__FLAT_COPY] = {"BIPFX", 0}, [TN__FLAT_TRUNC] = {"I", -1},    [TN__FLAT_ZEXT] = {"BI", 1},
        [TN__FLAT_SEXT] = {"BI", 1},    [TN__FLAT_FPTRUNC] = {"FX", -1}, [TN__FLAT_FPEXT] = {"F", 1},
        [TN__FLAT_FPTOSI] = {"FX", 0},  [TN__FLAT_FPTOUI] = {"FX", 0},   [TN__FLAT_SITOFP] = {"I", 0},
        [TN__FLAT_UITOFP] = {"BI", 0}};
    if (!tn__flat_is_in(rows[op].sources, from))
        return false;
    /* An i1 is smaller than an i8. */
    int is = 2 * (int)tn__flat_size(from) - (from == TN__FLAT_I1),
        wanted = 2 * (int)tn__flat_size(to) - (to == TN__FLAT_I1);
    return op > TN__FLAT_FPEXT || (wanted > is) - (wanted < is) == rows[op].order;
}

static bool fits_registers(const struct tn__flat_inst *first, const struct tn__flat_inst *last)
{
    unsigned counts[TN__FLAT_BANKS] = {0};
    for (; first <= last; first++)
        if (counts[tn__flat_bank(first->type)]++ == TN__FLAT_RETURNED)
            return false;
    return true;
}

static int check_result(const struct check *c)
{
    const struct tn__flat_inst *inst = c->inst, *of = inst;
    if (!inst->sub || (uint32_t)(inst - c->flat->insts) < c->flat->blocks[c->block].first + inst->sub)
        return refuse(c, "it has no origin");
    of -= inst->sub;
    bool is_call = of->op == TN__FLAT_CALL && of->type != TN__FLAT_VOID && fits_registers(of, inst);
    bool is_flag = (of->op == TN__FLAT_OVERFLOW || of->op == TN__FLAT_COMPARE_EXCHANGE) && inst->sub == 1 &&
                   inst->type == TN__FLAT_I1;
    is_flag |= of->op == TN__FLAT_LANDING && inst->sub == 1 && inst->type == TN__FLAT_I32;
    bool follows = inst->sub == 1 || (inst[-1].op == TN__FLAT_RESULT && inst[-1].sub == inst->sub - 1);
    return follows && (is_call || is_flag) ? 0 : refuse(c, "it has no origin");
}

static bool is_symbol(const struct check *c, uint32_t k)
{
    uint32_t operand = c->flat->operands[c->inst->first + k];
    return (operand & TN__FLAT_KIND) == TN__FLAT_SYMBOL && !c->flat->addresses[tn__flat_index(operand)].addend;
}

/* An argument in a register of its own: one, and the callee is in no register. */
static int check_nest(const struct check *c, uint32_t kind, uint32_t *nests)
{
    if (!(kind & TN__FLAT_NEST))
        return 0;
    return kind == (TN__FLAT_NEST | TN__FLAT_PTR) && is_symbol(c, 0) && !(*nests)++
               ? 0
               : refuse(c, "it has two environments, or calls no symbol");
}

static int check_call(const struct check *c)
{
    const uint32_t *operands = c->flat->operands + c->inst->first;
    uint64_t bytes = 0;
    uint32_t nests = 0;
    int code = 0;
    for (uint32_t k = 1; !code && k < c->inst->count; k += 3, bytes += LARGEST_ARGUMENT) {
        code = check_kind(c, operands[k + 1], operands[k + 2]);
        if (!code)
            code = check_nest(c, operands[k + 1], &nests);
        if (!code)
            code = check_halves(c, operands[k + 1], k + 4 < c->inst->count ? operands[k + 4] : 0);
        bytes += operands[k + 2];
    }
    return code ? code : check_size(c, bytes);
}

static int check_return(const struct check *c)
{
    const uint32_t *operands = c->flat->operands + c->inst->first;
    unsigned counts[TN__FLAT_BANKS] = {0};
    int code = 0;
    for (uint32_t k = 0; !code && k < c->inst->count; k += 2) {
        code = check_kind(c, operands[k + 1], 0);
        if (!code && counts[tn__flat_bank(operands[k + 1] & TN__FLAT_KIND_TYPE)]++ == TN__FLAT_RETURNED)
            code = refuse(c, "it returns too much");
    }
    return code;
}

int tn__flat_compare_numbers(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

bool tn__flat_has_equal(uint64_t *cases, size_t count, unsigned type)
{
    size_t i = 1;
    for (size_t k = 0; k < count; k++)
        cases[k] <<= 64 - 8 * tn__flat_size(type);
    qsort(cases, count, sizeof *cases, tn__flat_compare_numbers);
    while (i < count && cases[i] != cases[i - 1])
        i++;
    return i < count;
}

static int check_switch(const struct check *c)
{
    const uint32_t *operands = c->flat->operands + c->inst->first + 1;
    size_t count = c->inst->count - 1;
    uint64_t *cases = tn__alloc(NULL, (count + 1) * sizeof *cases);
    if (!cases)
        return tn__no_memory(c->err, NULL);
    for (size_t k = 0; k < count; k++)
        cases[k] = tn__flat_number(c->flat, operands[k]);
    bool has_equal = tn__flat_has_equal(cases, count, c->inst->type);
    tn__free(NULL, cases);
    return has_equal ? refuse(c, "two of its cases are equal") : 0;
}

static int check_phi(const struct check *c)
{
    const struct tn__flat *flat = c->flat;
    const uint32_t *operands = flat->operands + c->inst->first;
    uint32_t at = (uint32_t)(c->inst - flat->insts), first = flat->blocks[c->block].first;
    if (at != first && c->inst[-1].op != TN__FLAT_PHI)
        return refuse(c, "it is not at the beginning of its block");
    for (uint32_t k = 0; k < c->inst->count; k += 2)
        if (operands[k + 1] >= flat->block_count)
            return refuse(c, "there is no such block");
    return 0;
}

static bool begins_with_landing(const struct tn__flat *flat, uint32_t block)
{
    uint32_t i = flat->blocks[block].first;
    while (flat->insts[i].op == TN__FLAT_PHI)
        i++;
    return flat->insts[i].op == TN__FLAT_LANDING;
}

static bool is_filter(uint32_t kind)
{
    return kind == TN__FLAT_FILTER || kind == TN__FLAT_FILTER_MORE;
}

static int check_landing(const struct check *c)
{
    const uint32_t *operands = c->flat->operands + c->inst->first;
    uint32_t at = (uint32_t)(c->inst - c->flat->insts);
    if (!c->flat->personality || (at != c->flat->blocks[c->block].first && c->inst[-1].op != TN__FLAT_PHI))
        return refuse(c, "it is not at the beginning of its block, or there is no personality");
    for (uint32_t k = 0; k < c->inst->count; k += 2)
        if (operands[k + 1] >= TN__FLAT_LANDING_KINDS || tn__flat_is_value(operands[k]) ||
            (operands[k + 1] == TN__FLAT_FILTER_MORE && (k == 0 || !is_filter(operands[k - 1]))))
            return refuse(c, "a type is no constant, or of no kind");
    return 0;
}

static int check_invoked(const struct check *c)
{
    const struct tn__flat_inst *call = c->inst, *first = c->flat->insts + c->flat->blocks[c->block].first;
    while (call > first && call[-1].op == TN__FLAT_RESULT)
        call--;
    return call > first && call[-1].op == TN__FLAT_CALL ? 0 : refuse(c, "it does not follow a call");
}

static int check_address(const struct check *c)
{
    for (uint32_t k = 2; k < c->inst->count; k += 2)
        if (c->flat->operands[c->inst->first + k] > INT32_MAX)
            return refuse(c, "it has too large a step");
    return 0;
}

static int check_thread(const struct check *c)
{
    bool calls = c->inst->sub == TN__FLAT_DYNAMIC;
    bool good = c->inst->sub < TN__FLAT_MODELS && is_symbol(c, 0) && (!calls || is_symbol(c, 1));
    return good ? 0 : refuse(c, "it names no thread-local variable");
}

/* The call is the next instruction; what is derived has a reference. */
static int check_safepoint(const struct check *c)
{
    const uint32_t *operands = c->flat->operands + c->inst->first;
    uint32_t pairs = c->inst->count / 2;
    bool is_last = (uint32_t)(c->inst - c->flat->insts) + 1 == c->flat->blocks[c->block].end;
    if (is_last || c->inst[1].op != TN__FLAT_CALL || c->inst->sub > 1)
        return refuse(c, "no call follows it");
    for (uint32_t k = 0; k < c->inst->count; k += 2) {
        uint32_t what = operands[k + 1], kind = what & TN__FLAT_ROOT_KIND;
        if (!tn__flat_is_value(operands[k]) || kind == TN__FLAT_ROOT_KIND)
            return refuse(c, "an operand is no value, or nothing that a collector knows");
        bool is_good = kind ? (what & ~(uint32_t)TN__FLAT_ROOT_KIND) <= LARGEST_FRAME / 8
                            : what < pairs && operands[2 * what + 1] == what;
        if (!is_good)
            return refuse(c, "a pointer has no reference, or a reference is not in the frame");
    }
    return 0;
}

/* Of an instruction with a second value. */
static int check_followed(const struct check *c)
{
    bool is_byte = c->inst->op == TN__FLAT_OVERFLOW && c->inst->sub == TN__FLAT_SMUL && c->inst->type == TN__FLAT_I8;
    if (is_byte || (c->inst->op == TN__FLAT_OVERFLOW && c->inst->sub >= TN__FLAT_OVERFLOWS))
        return refuse(c, "there is no such operation");
    bool is_last = (uint32_t)(c->inst - c->flat->insts) + 1 == c->flat->blocks[c->block].end;
    return !is_last && c->inst[1].op == TN__FLAT_RESULT ? 0 : refuse(c, "its second value does not follow");
}

static int check_one(const struct check *c)
{
    const struct tn__flat_inst *inst = c->inst;
    switch (inst->op) {
    case TN__FLAT_MULH:
        return inst->type == TN__FLAT_I64 ? 0 : refuse(c, "it has no other type than i64");
    case TN__FLAT_BSWAP:
        return inst->type != TN__FLAT_I8 ? 0 : refuse(c, "it has one byte");
    case TN__FLAT_ICMP:
        return inst->sub < TN__FLAT_CONDITIONS ? 0 : refuse(c, "there is no such condition");
    case TN__FLAT_THREAD:
        return check_thread(c);
    case TN__FLAT_FETCH:
        return inst->sub < TN__FLAT_FETCHES ? 0 : refuse(c, "there is no such operation");
    case TN__FLAT_FCMP:
        return inst->sub < 16 ? 0 : refuse(c, "there is no such condition");
    case TN__FLAT_OVERFLOW:
    case TN__FLAT_COMPARE_EXCHANGE:
        return check_followed(c);
    case TN__FLAT_ALLOCA:
        return c->block == 0 && inst->sub <= LARGEST_ALIGNMENT && inst->aux <= LARGEST_FRAME
                   ? 0
                   : refuse(c, "it is too large, or not in the first block");
    case TN__FLAT_ADDRESS:
        return check_address(c);
    case TN__FLAT_PHI:
        return check_phi(c);
    case TN__FLAT_SAFEPOINT:
        return check_safepoint(c);
    case TN__FLAT_CALL:
        return check_call(c);
    case TN__FLAT_RESULT:
        return check_result(c);
    case TN__FLAT_SWITCH:
        return check_switch(c);
    case TN__FLAT_RETURN:
        return check_return(c);
    case TN__FLAT_VA_START:
        return c->flat->is_variadic ? 0 : refuse(c, "the function is not variadic");
    case TN__FLAT_LANDING:
        return check_landing(c) ? TN_EFORMAT : check_followed(c);
    case TN__FLAT_INVOKED:
        return check_invoked(c);
    case TN__FLAT_TYPE_ID:
        return inst->type == TN__FLAT_I32 && !tn__flat_is_value(c->flat->operands[inst->first])
                   ? 0
                   : refuse(c, "it is no number of a type");
    default:
        if (inst->op >= TN__FLAT_COPY && inst->op <= TN__FLAT_UITOFP &&
            !tn__flat_converts(inst->op, inst->sub, inst->type))
            return refuse(c, "it cannot convert between these");
        return 0;
    }
}

static int check_instruction(const struct check *c)
{
    if (!tn__flat_is_in(tn__flat_rows[c->inst->op].types, c->inst->type))
        return refuse(c, "it cannot have this type");
    int code = check_operands(c);
    return code ? code : check_one(c);
}

/* ---- blocks ---- */

static int check_successors(const struct check *c, const struct tn__flat_block *block)
{
    const struct tn__flat_inst *last = &c->flat->insts[block->end - 1];
    bool has_two = last->op == TN__FLAT_BRANCH || last->op == TN__FLAT_INVOKED;
    uint32_t wanted = last->op == TN__FLAT_JUMP ? 1 : has_two ? 2 : 0;
    if (last->op == TN__FLAT_SWITCH)
        wanted = last->count;
    if (block->successors != wanted || !tn__inside(block->first_successor, wanted, c->flat->successor_count))
        return refuse(c, "a block has another number of successors than its terminator");
    for (uint32_t k = 0; k < wanted; k++) {
        uint32_t to = c->flat->successors[block->first_successor + k];
        if (to >= c->flat->block_count || to == 0)
            return refuse(c, "a successor is no block, or the first one");
    }
    return 0;
}

static int check_block(struct check *c, uint32_t number, uint32_t first)
{
    const struct tn__flat *flat = c->flat;
    const struct tn__flat_block *block = &flat->blocks[number];
    c->block = number;
    if (block->first != first || block->end <= first || block->end > flat->inst_count)
        return refuse(c, "blocks do not follow each other");
    int code = 0;
    for (uint32_t i = first; !code && i < block->end; i++) {
        c->inst = &flat->insts[i];
        c->block_of[i] = number;
        code = check_instruction(c);
        if (!code && tn__flat_is_terminator(c->inst->op) != (i + 1 == block->end))
            code = refuse(c, "it is not where a block ends");
    }
    return code ? code : check_successors(c, block);
}

/* Before any operand is followed. */
static int check_operations(struct check *c)
{
    for (size_t i = 0; i < c->flat->inst_count; i++) {
        c->inst = &c->flat->insts[i];
        if (c->inst->op >= TN__FLAT_OPS)
            return refuse(c, "there is no such operation");
    }
    c->inst = NULL;
    return 0;
}

static int check_blocks(struct check *c)
{
    const struct tn__flat *flat = c->flat;
    uint32_t first = 0;
    int code = flat->block_count ? 0 : refuse(c, "it has no block");
    for (uint32_t b = 0; !code && b < flat->block_count; b++) {
        code = check_block(c, b, first);
        first = flat->blocks[b].end;
        c->inst = NULL;
    }
    return code || first == flat->inst_count ? code : refuse(c, "an instruction is in no block");
}

/* Exceptions lead to landings, and nothing else does. */
static int check_landings(struct check *c)
{
    const struct tn__flat *flat = c->flat;
    for (uint32_t b = 0; b < flat->block_count; b++) {
        const struct tn__flat_block *block = &flat->blocks[b];
        c->inst = &flat->insts[block->end - 1];
        for (uint32_t k = 0; k < block->successors; k++) {
            bool unwinds = c->inst->op == TN__FLAT_INVOKED && k == 1;
            if (unwinds != begins_with_landing(flat, flat->successors[block->first_successor + k]))
                return refuse(c, "a landing is no successor of a call, or the other way round");
        }
    }
    c->inst = NULL;
    return 0;
}

static int check_personality(const struct check *c)
{
    uint32_t personality = c->flat->personality;
    if ((personality & TN__FLAT_KIND) != TN__FLAT_SYMBOL)
        return refuse(c, "the personality is no symbol");
    return check_operand(c, personality, TN__FLAT_PTR);
}

static int check_arguments(const struct check *c)
{
    uint64_t bytes = 0;
    int code = c->flat->personality ? check_personality(c) : 0;
    for (size_t i = 0; !code && i < c->flat->argument_count; i++, bytes += LARGEST_ARGUMENT) {
        const struct tn__flat_argument *argument = &c->flat->arguments[i];
        code = check_kind(c, argument->kind, argument->bytes);
        if (!code)
            code = check_halves(c, argument->kind, i + 1 < c->flat->argument_count ? argument[1].kind : 0);
        bytes += c->flat->arguments[i].bytes;
    }
    return code ? code : check_size(c, bytes);
}

/* ---- dominance: Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" ---- */

static uint32_t meet(const struct check *c, uint32_t a, uint32_t b)
{
    while (a != b)
        if (a > b)
            a = c->dominator[a];
        else
            b = c->dominator[b];
    return a;
}

/* By edges, from the positions that were reached in the pass, until nothing changes. */
static void find_dominators(struct check *c)
{
    const struct tn__flat_analysis *a = &c->analysis;
    memset(c->dominator, 0xff, a->reached * sizeof *c->dominator);
    c->dominator[0] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t p = 0; p < a->reached; p++) {
            const struct tn__flat_block *block = &c->flat->blocks[a->order[p]];
            for (uint32_t k = 0; k < block->successors; k++) {
                uint32_t to = a->position[c->flat->successors[block->first_successor + k]];
                uint32_t now = c->dominator[to] == TN__FLAT_NOWHERE ? p : meet(c, p, c->dominator[to]);
                changed |= now != c->dominator[to];
                c->dominator[to] = now;
            }
        }
    }
}

/* Whether a value is defined on all ways to a place in the block at position `at`, before the instruction `before`. */
static bool reaches(const struct check *c, uint32_t value, uint32_t at, uint32_t before)
{
    if (value < c->flat->argument_count)
        return true;
    uint32_t inst = value - (uint32_t)c->flat->argument_count;
    uint32_t from = c->analysis.position[c->block_of[inst]];
    if (from == at)
        return inst < before;
    while (at > from && at != TN__FLAT_NOWHERE)
        at = c->dominator[at];
    return at == from;
}

static int check_uses(struct check *c, uint32_t position)
{
    const struct tn__flat *flat = c->flat;
    const struct tn__flat_inst *inst = c->inst;
    for (TN__FLAT_EACH(inst, k)) {
        uint32_t operand = flat->operands[inst->first + k], before = (uint32_t)(inst - flat->insts);
        uint32_t at = position;
        if (!tn__flat_is_value(operand))
            continue;
        if (inst->op == TN__FLAT_PHI) {
            uint32_t from = flat->operands[inst->first + k + 1];
            at = c->analysis.position[from];
            before = flat->blocks[from].end;
            if (at == TN__FLAT_NOWHERE)
                continue;
        }
        if (!reaches(c, operand, at, before))
            return refuse(c, "an operand is not defined on all ways to it");
    }
    return 0;
}

/* Each phi has one value for each block with an edge to it. */
static int check_edges(struct check *c, uint32_t from)
{
    const struct tn__flat *flat = c->flat;
    const struct tn__flat_block *block = &flat->blocks[from];
    for (uint32_t k = 0; k < block->successors; k++) {
        const struct tn__flat_block *to = &flat->blocks[flat->successors[block->first_successor + k]];
        for (uint32_t i = to->first; flat->insts[i].op == TN__FLAT_PHI; i++) {
            c->inst = &flat->insts[i];
            uint32_t found = 0;
            for (uint32_t o = 1; o < c->inst->count; o += 2)
                found += flat->operands[c->inst->first + o] == from;
            if (found != 1)
                return refuse(c, "it has not one value for each block before it");
        }
    }
    return 0;
}

static int check_dominance(struct check *c)
{
    int code = 0;
    find_dominators(c);
    for (uint32_t p = 0; !code && p < c->analysis.reached; p++) {
        const struct tn__flat_block *block = &c->flat->blocks[c->analysis.order[p]];
        for (uint32_t i = block->first; !code && i < block->end; i++) {
            c->inst = &c->flat->insts[i];
            code = check_uses(c, p);
        }
        if (!code)
            code = check_edges(c, c->analysis.order[p]);
    }
    return code;
}

int tn__flat_verify(const struct tn__flat *flat, struct tn_error *err)
{
    struct check c = {.flat = flat, .err = err};
    if (flat->inst_count + flat->argument_count >= TN__FLAT_IMMEDIATE || flat->block_count >= TN__FLAT_IMMEDIATE)
        return refuse(&c, "it is too large");
    c.block_of = tn__alloc(NULL, (flat->inst_count + 1) * sizeof *c.block_of);
    c.dominator = tn__alloc(NULL, (flat->block_count + 1) * sizeof *c.dominator);
    int code = c.block_of && c.dominator ? check_arguments(&c) : tn__no_memory(err, NULL);
    if (!code)
        code = check_operations(&c);
    if (!code)
        code = check_blocks(&c);
    if (!code)
        code = check_landings(&c);
    if (!code && !tn__flat_analyse(flat, &c.analysis))
        code = tn__no_memory(err, NULL);
    if (!code)
        code = check_dominance(&c);
    tn__flat_analysis_free(&c.analysis);
    tn__free(NULL, c.block_of);
    tn__free(NULL, c.dominator);
    return code;
}

bool tn__flat_provide(struct tn__flat *f, const struct tn__flat_counts *counts)
{
    f->argument_count = counts->arguments;
    f->inst_count = counts->insts;
    f->operand_count = counts->operands;
    f->block_count = counts->blocks;
    f->successor_count = counts->successors;
    f->constant_count = counts->constants;
    f->address_count = counts->addresses;
    return tn__grow(NULL, &f->arguments, &f->argument_room, f->argument_count, sizeof *f->arguments) &&
           tn__grow(NULL, &f->insts, &f->inst_room, f->inst_count, sizeof *f->insts) &&
           tn__grow(NULL, &f->operands, &f->operand_room, f->operand_count, sizeof *f->operands) &&
           tn__grow(NULL, &f->blocks, &f->block_room, f->block_count, sizeof *f->blocks) &&
           tn__grow(NULL, &f->successors, &f->successor_room, f->successor_count, sizeof *f->successors) &&
           tn__grow(NULL, &f->constants, &f->constant_room, f->constant_count, sizeof *f->constants) &&
           tn__grow(NULL, &f->addresses, &f->address_room, f->address_count, sizeof *f->addresses);
}

void tn__flat_free(struct tn__flat *flat)
{
    void *const arrays[] = {flat->insts,     flat->operands,  flat->blocks,   flat->successors,
                            flat->constants, flat->addresses, flat->arguments};
    for (size_t i = 0; i < TN_COUNT(arrays); i++)
        tn__free(NULL, arrays[i]);
    *flat = (struct tn__flat){0};
}
