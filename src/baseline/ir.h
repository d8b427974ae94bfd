/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The flat form: what the baseline compiler compiles. One function is a few arrays, and all references in it are
 * indexes. Values are scalars; whatever makes flat code divides integers of 128 bits and aggregates into those.
 *
 * Numbers of values: the arguments come first, then one for each instruction, whether it has a result or not. Numbers
 * of blocks are indexes into `blocks`; the first one is the entry. The last instruction of a block, and no other, is a
 * terminator. Integers that are narrower than their register have any bits above their width. */

#ifndef TENON_BASELINE_IR_H
#define TENON_BASELINE_IR_H

#include <string.h>

#include "base/base.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

enum tn__flat_type {
    TN__FLAT_VOID = 0,
    TN__FLAT_I1,
    TN__FLAT_I8,
    TN__FLAT_I16,
    TN__FLAT_I32,
    TN__FLAT_I64,
    TN__FLAT_PTR,
    TN__FLAT_F32,
    TN__FLAT_F64,
    TN__FLAT_F80, /* of the x87; a constant has two numbers, the second one of which has 16 bits */
    TN__FLAT_TYPES
};

enum tn__flat_op {
#define OP(name, text, operands, types, result) TN__FLAT_##name,
#include "baseline/ops.def"
#undef OP
    TN__FLAT_OPS
};

/* The rows of ops.def. */
struct tn__flat_row {
    const char *text, *operands, *types;
    char result;
};
extern const struct tn__flat_row tn__flat_rows[TN__FLAT_OPS];

/* Operands are 32 bits, of which the two upper ones say what the others are. */
enum {
    TN__FLAT_VALUE = 0,            /* the number of a value */
    TN__FLAT_IMMEDIATE = 1u << 30, /* a signed number of 30 bits */
    TN__FLAT_CONSTANT = 2u << 30,  /* an index into `constants` */
    TN__FLAT_SYMBOL = 3u << 30,    /* an index into `addresses` */
    TN__FLAT_KIND = 3u << 30
};

enum tn__flat_condition {
    TN__FLAT_EQ = 0,
    TN__FLAT_NE,
    TN__FLAT_UGT,
    TN__FLAT_UGE,
    TN__FLAT_ULT,
    TN__FLAT_ULE,
    TN__FLAT_SGT,
    TN__FLAT_SGE,
    TN__FLAT_SLT,
    TN__FLAT_SLE,
    TN__FLAT_CONDITIONS
};

/* A comparison of floating-point numbers is true for the relations in its set; it has 0 to 15. */
enum { TN__FLAT_EQUAL = 1, TN__FLAT_GREATER = 2, TN__FLAT_LESS = 4, TN__FLAT_UNORDERED = 8 };

enum tn__flat_overflow {
    TN__FLAT_SADD = 0,
    TN__FLAT_UADD,
    TN__FLAT_SSUB,
    TN__FLAT_USUB,
    TN__FLAT_SMUL,
    TN__FLAT_UMUL,
    TN__FLAT_OVERFLOWS
};

enum tn__flat_fetch {
    TN__FLAT_FETCH_AND = 0,
    TN__FLAT_FETCH_OR,
    TN__FLAT_FETCH_XOR,
    TN__FLAT_FETCH_NAND,
    TN__FLAT_FETCH_SMAX,
    TN__FLAT_FETCH_SMIN,
    TN__FLAT_FETCH_UMAX,
    TN__FLAT_FETCH_UMIN,
    TN__FLAT_FETCHES
};

/* Models of thread-local variables: by a call, by a distance that the linker stores, or by one in the code. */
enum tn__flat_model { TN__FLAT_DYNAMIC = 0, TN__FLAT_INITIAL, TN__FLAT_LOCAL_EXEC, TN__FLAT_MODELS };

/* The kind of an argument, of a call's result (in `sub` of the call) or of a returned value: its type, and these. */
enum {
    TN__FLAT_KIND_TYPE = 15,
    TN__FLAT_ZERO_EXTEND = 16, /* narrow integers are passed as 32 bits */
    TN__FLAT_SIGN_EXTEND = 32,
    TN__FLAT_BY_VALUE = 64, /* a pointer to so many bytes, which are copied into the arguments' memory */
    TN__FLAT_STRUCT = 128,  /* of arguments of the function: the pointer that it returns too (sret) */
    TN__FLAT_NEST = 128,    /* of arguments of a call of a symbol: a pointer in the register for environments (nest) */
    /* Both: of an I64, that it and the next one are an i128, which is not divided between registers and memory; of what
     * is copied, that it is. In memory, they are aligned to 16 bytes. */
    TN__FLAT_WHOLE = TN__FLAT_ZERO_EXTEND | TN__FLAT_SIGN_EXTEND
};

/* The kind of each operand of a landing. */
enum {
    TN__FLAT_CATCH = 0,   /* exceptions of a type; null: all */
    TN__FLAT_FILTER,      /* exceptions of no type in a list, which begins with this one; null: an empty list */
    TN__FLAT_FILTER_MORE, /* the next type of the list */
    TN__FLAT_CLEANUP,     /* all exceptions; there is no type */
    TN__FLAT_LANDING_KINDS
};

/* What an operand of a safepoint is: the number, among these operands, of the reference from which it was derived,
 * which is its own number if it is one; or memory of the frame that holds a reference so many words behind it, which is
 * null or to an object, and of the last kind to one that must not move. */
enum { TN__FLAT_OF_MEMORY = 1u << 30, TN__FLAT_OF_PINNED = 2u << 30, TN__FLAT_ROOT_KIND = 3u << 30 };

/* In `flags` of calls. */
enum { TN__FLAT_VARIADIC = 1 };

struct tn__flat_inst {
    uint8_t op, type, sub, flags;
    uint32_t first, count; /* of its operands */
    uint32_t aux;
};

struct tn__flat_block {
    uint32_t first, end; /* of its instructions */
    uint32_t first_successor, successors;
};

struct tn__flat_address {
    uint32_t symbol; /* an index into the module's symbols */
    int32_t addend;
};

struct tn__flat_argument {
    uint8_t kind; /* the type, and TN__FLAT_... */
    uint32_t bytes;
};

/* A function. Arrays that several functions share one after the other grow (tn__grow). */
struct tn__flat {
    struct tn__flat_inst *insts;
    uint32_t *operands;
    struct tn__flat_block *blocks;
    uint32_t *successors;
    uint64_t *constants;
    struct tn__flat_address *addresses;
    struct tn__flat_argument *arguments;
    size_t inst_count, operand_count, block_count, successor_count, constant_count, address_count, argument_count;
    size_t inst_room, operand_room, block_room, successor_room, constant_room, address_room, argument_room;
    uint32_t symbols;     /* how many the module has */
    bool is_variadic;     /* it takes any number of arguments more */
    uint32_t personality; /* the address of the routine for exceptions; 0: there is none */
};

struct tn__flat_counts {
    size_t arguments, insts, operands, blocks, successors, constants, addresses;
};

/* Makes space in the arrays, and sets the counts. False: out of memory. */
bool tn__flat_provide(struct tn__flat *flat, const struct tn__flat_counts *counts);
void tn__flat_free(struct tn__flat *flat);

/* ---- reading ---- */

static inline uint32_t tn__flat_values(const struct tn__flat *flat)
{
    return (uint32_t)(flat->argument_count + flat->inst_count);
}

static inline bool tn__flat_is_value(uint32_t operand)
{
    return (operand & TN__FLAT_KIND) == TN__FLAT_VALUE;
}

static inline bool tn__flat_is_number(uint32_t operand)
{
    return (operand & TN__FLAT_KIND) == TN__FLAT_IMMEDIATE || (operand & TN__FLAT_KIND) == TN__FLAT_CONSTANT;
}

static inline uint32_t tn__flat_index(uint32_t operand)
{
    return operand & ~(uint32_t)TN__FLAT_KIND;
}

/* The letters of a row: `head` of them, and then perhaps a group of `step` ones that repeats. */
struct tn__flat_letters {
    const char *row, *group;
    uint32_t head, step;
};

static inline struct tn__flat_letters tn__flat_letters(unsigned op)
{
    const char *row = tn__flat_rows[op].operands, *group = strchr(row, '(');
    if (!group)
        return (struct tn__flat_letters){row, NULL, (uint32_t)strlen(row), 0};
    return (struct tn__flat_letters){row, group + 1, (uint32_t)(group - row), (uint32_t)strcspn(group + 1, ")")};
}

static inline char tn__flat_letter(const struct tn__flat_letters *letters, uint32_t operand)
{
    return operand < letters->head ? letters->row[operand] : letters->group[(operand - letters->head) % letters->step];
}

/* Which operands of an instruction are values, and not plain numbers: the first `head` ones, and from there on each
 * `step`th. */
struct tn__flat_places {
    uint8_t head, step;
};

static inline struct tn__flat_places tn__flat_places(unsigned op)
{
    switch (op) {
    case TN__FLAT_PHI:
    case TN__FLAT_RETURN:
    case TN__FLAT_LANDING:
    case TN__FLAT_SAFEPOINT:
        return (struct tn__flat_places){0, 2};
    case TN__FLAT_ADDRESS:
        return (struct tn__flat_places){1, 2};
    case TN__FLAT_CALL:
        return (struct tn__flat_places){1, 3};
    default:
        return (struct tn__flat_places){0, 1};
    }
}

/* for (TN__FLAT_EACH(inst, k)) visits the indexes k, among an instruction's operands, of those that are values. */
#define TN__FLAT_EACH(inst, k)                                                                                         \
    uint32_t k = 0;                                                                                                    \
    k < (inst)->count;                                                                                                 \
    k += k < tn__flat_places((inst)->op).head ? 1 : tn__flat_places((inst)->op).step

/* Of an operand that is a number. */
static inline uint64_t tn__flat_number(const struct tn__flat *flat, uint32_t operand)
{
    if ((operand & TN__FLAT_KIND) == TN__FLAT_CONSTANT)
        return flat->constants[tn__flat_index(operand)];
    return (uint64_t)(int64_t)((int32_t)(operand << 2) >> 2);
}

static inline bool tn__flat_is_terminator(unsigned op)
{
    return op >= TN__FLAT_JUMP && op <= TN__FLAT_UNREACHABLE;
}

/* In xmm registers. */
static inline bool tn__flat_is_float(unsigned type)
{
    return type == TN__FLAT_F32 || type == TN__FLAT_F64;
}

/* Values are returned in the registers of a bank, of which there are so many. */
enum { TN__FLAT_OF_INTEGERS = 0, TN__FLAT_OF_FLOATS, TN__FLAT_OF_X87, TN__FLAT_BANKS, TN__FLAT_RETURNED = 2 };

static inline unsigned tn__flat_bank(unsigned type)
{
    return type < TN__FLAT_F32 ? TN__FLAT_OF_INTEGERS : type == TN__FLAT_F80 ? TN__FLAT_OF_X87 : TN__FLAT_OF_FLOATS;
}

static inline bool tn__flat_is_whole(unsigned kind)
{
    return (kind & TN__FLAT_WHOLE) == TN__FLAT_WHOLE;
}

/* In memory; 0 for none. */
static inline unsigned tn__flat_size(unsigned type)
{
    static const uint8_t sizes[TN__FLAT_TYPES] = {0, 1, 1, 2, 4, 8, 8, 4, 8, 10};
    return sizes[type];
}

/* Bits of a value. */
static inline unsigned tn__flat_width(unsigned type)
{
    return type == TN__FLAT_I1 ? 1 : 8 * tn__flat_size(type);
}

/* The type of a value; TN__FLAT_VOID for an instruction without a result. */
static inline unsigned tn__flat_type_of(const struct tn__flat *flat, uint32_t value)
{
    if (value < flat->argument_count)
        return flat->arguments[value].kind & TN__FLAT_KIND_TYPE;
    const struct tn__flat_inst *inst = &flat->insts[value - flat->argument_count];
    char result = tn__flat_rows[inst->op].result;
    return result == 't' ? inst->type : result == 'b' ? (unsigned)TN__FLAT_I1 : (unsigned)TN__FLAT_VOID;
}

/* ---- checking (verify.c) ---- */

/* Whether a function is well-formed: all that compiling it relies on. TN_EFORMAT, with the instruction; TN_ENOMEM. */
int tn__flat_verify(const struct tn__flat *flat, struct tn_error *err);

/* Whether a type has one of the letters of `types` in ops.def. */
bool tn__flat_is_in(const char *types, unsigned type);
/* Whether a conversion can be one of these types, of which the row of ops.def has `to`. */
bool tn__flat_converts(unsigned op, unsigned from, unsigned to);

/* Whether two cases of a switch are equal in the bits that the type has. Changes the numbers. */
bool tn__flat_has_equal(uint64_t *cases, size_t count, unsigned type);
/* For qsort: of 64 bits without a sign, at the beginning of items. */
int tn__flat_compare_numbers(const void *a, const void *b);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
