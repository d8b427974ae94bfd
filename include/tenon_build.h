/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code without LLVM: modules are built by the functions below, or written by `tenon compile --emit=flat`, and compiled
 * by the baseline compiler (doc/BASELINE.md), which is a part of libtenon.a.
 *
 *     struct tn_build *build;
 *     struct tn_buffer flat;
 *     tn_build_create(&build, &err);
 *     const uint8_t types[] = {TN_BUILD_I64, TN_BUILD_I64};
 *     struct tn_build_function *f = tn_build_function(build, "sum", 0, TN_BUILD_I64, types, 2);
 *     tn_build_begin(f, tn_build_block(f));
 *     tn_build_return(f, tn_build_binary(f, TN_BUILD_ADD, tn_build_argument(f, 0), tn_build_argument(f, 1)));
 *     tn_build_finish(build, &flat, &err);
 *
 * gives the IR of a module for tn_jit_add_module, with tn_jit_options.compiler = tn_baseline_compiler().
 *
 * Symbols, blocks and values are numbers from 1 on, symbols those of a module, the others those of a function. A wrong
 * argument is a mistake: the first one is kept, tn_build_finish returns it, and until then all functions do nothing and
 * return 0, as they do without memory. So only tn_build_create and tn_build_finish need be checked. A module is one
 * thread's at a time. */

#ifndef TENON_BUILD_H
#define TENON_BUILD_H

#include "tenon_compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Compiles flat files for a JIT (tn_jit_options.compiler), for x86-64. It optimises nothing, so levels make no
 * difference. A file is checked as it is read: TN_EFORMAT says what is wrong with it; TN_ENOTSUP: it has an operation
 * that this version does not know, a function that is too large, or functions with different personalities. A JIT with
 * another target than ELF for x86-64, another code model than TN_CODE_SMALL, or passes is TN_ENOTSUP. Any thread. */
TN_API const struct tn_compiler *tn_baseline_compiler(void);

/* ---- modules ---- */

struct tn_build; /* opaque */

/* TN_ENOMEM. */
TN_API int tn_build_create(struct tn_build **out, struct tn_error *err);
TN_API void tn_build_destroy(struct tn_build *build); /* NULL is ignored */

/* Verifies all functions and writes the module as a flat file; after that, it can only be destroyed. TN_EINVAL: the
 * first mistake; TN_EFORMAT: a function is not well-formed; TN_ENOTSUP: a function has 2^30 instructions or values, the
 * variables more than 2 GB, or the file more than 4 GB; TN_ENOMEM. */
TN_API int tn_build_finish(struct tn_build *build, struct tn_buffer *flat, struct tn_error *err);

enum {
    TN_BUILD_LOCAL = 1,    /* of this module only */
    TN_BUILD_WEAK = 2,     /* gives way to another definition; if nothing defines it, its address is 0 */
    TN_BUILD_HIDDEN = 4,   /* of this library only */
    TN_BUILD_READ_ONLY = 8 /* of data: a constant */
};

/* The symbol of this name, which is defined elsewhere unless the module defines it as well. `flags` are 0 or
 * TN_BUILD_WEAK, and count the first time. */
TN_API uint32_t tn_build_declare(struct tn_build *build, const char *name, unsigned flags);

/* Defines a variable: `length` bytes, which are copied, and zeros up to `size`. `alignment` is a power of two up to
 * 65536. */
TN_API uint32_t tn_build_data(struct tn_build *build, const char *name, unsigned flags, const void *bytes,
                              size_t length, uint64_t size, uint32_t alignment);
/* Puts the address of a symbol, plus `addend`, into 8 of the bytes that a variable was given. */
TN_API void tn_build_data_address(struct tn_build *build, uint32_t data, uint32_t offset, uint32_t symbol,
                                  int64_t addend);

/* ---- functions ---- */

enum tn_build_type {
    TN_BUILD_VOID = 0,
    TN_BUILD_I1,
    TN_BUILD_I8,
    TN_BUILD_I16,
    TN_BUILD_I32,
    TN_BUILD_I64,
    TN_BUILD_PTR,
    TN_BUILD_F32,
    TN_BUILD_F64,
    /* With a type of arguments or results: integers under 32 bits are passed as 32 bits, as C's are. */
    TN_BUILD_UNSIGNED = 16,
    TN_BUILD_SIGNED = 32
};

struct tn_build_function; /* opaque; the module's */

/* Begins a function of C's calling convention, which returns `result`. NULL: a mistake, or no memory; the functions
 * below ignore it. */
TN_API struct tn_build_function *tn_build_function(struct tn_build *build, const char *name, unsigned flags,
                                                   unsigned result, const uint8_t *types, size_t count);
TN_API uint32_t tn_build_symbol(const struct tn_build_function *f);
TN_API uint32_t tn_build_argument(struct tn_build_function *f, size_t number); /* counted from 0 */
TN_API unsigned tn_build_type_of(const struct tn_build_function *f, uint32_t value);

/* Adds a block. The function begins with the first one, to which nothing jumps. Each has instructions, of which the
 * last one, and no other, is a jump, branch, switch, return, trap or unreachable. */
TN_API uint32_t tn_build_block(struct tn_build_function *f);
/* What follows goes to the end of this block. */
TN_API void tn_build_begin(struct tn_build_function *f, uint32_t block);
/* Not 0: the block at hand has its last instruction, or there is none. */
TN_API int tn_build_is_ended(const struct tn_build_function *f);

/* ---- constants ---- */

TN_API uint32_t tn_build_integer(struct tn_build_function *f, unsigned type, int64_t number); /* also a pointer */
TN_API uint32_t tn_build_real(struct tn_build_function *f, unsigned type, double number);
TN_API uint32_t tn_build_address(struct tn_build_function *f, uint32_t symbol, int32_t addend); /* a pointer */

/* ---- computing ---- */

enum tn_build_op {
    /* Of two values of one type. Division by 0, and shifts by the width or more, do anything. */
    TN_BUILD_ADD = 0,
    TN_BUILD_SUB,
    TN_BUILD_MUL,
    TN_BUILD_UDIV,
    TN_BUILD_SDIV,
    TN_BUILD_UREM,
    TN_BUILD_SREM,
    TN_BUILD_SHL,
    TN_BUILD_LSHR,
    TN_BUILD_ASHR,
    TN_BUILD_AND,
    TN_BUILD_OR,
    TN_BUILD_XOR,
    TN_BUILD_ROTL,
    TN_BUILD_FADD,
    TN_BUILD_FSUB,
    TN_BUILD_FMUL,
    TN_BUILD_FDIV,
    /* Of one value. */
    TN_BUILD_BSWAP, /* from i16 on */
    TN_BUILD_CTTZ,  /* of 0: the width */
    TN_BUILD_CTLZ,
    TN_BUILD_FNEG,
    TN_BUILD_FABS,
    TN_BUILD_SQRT,
    /* To another type. */
    TN_BUILD_COPY, /* the same bits, also between pointers, integers and floating-point numbers of one size */
    TN_BUILD_TRUNC,
    TN_BUILD_ZEXT,
    TN_BUILD_SEXT,
    TN_BUILD_FPTRUNC,
    TN_BUILD_FPEXT,
    TN_BUILD_FPTOSI,
    TN_BUILD_FPTOUI,
    TN_BUILD_SITOFP,
    TN_BUILD_UITOFP,
    TN_BUILD_OPS
};

enum tn_build_condition {
    TN_BUILD_EQ = 0, /* of integers and pointers */
    TN_BUILD_NE,
    TN_BUILD_UGT,
    TN_BUILD_UGE,
    TN_BUILD_ULT,
    TN_BUILD_ULE,
    TN_BUILD_SGT,
    TN_BUILD_SGE,
    TN_BUILD_SLT,
    TN_BUILD_SLE,
    TN_BUILD_FEQ, /* of floating-point numbers; false if one of them is no number, */
    TN_BUILD_FGT,
    TN_BUILD_FGE,
    TN_BUILD_FLT,
    TN_BUILD_FLE,
    TN_BUILD_FNE, /* but this one is true then */
    TN_BUILD_CONDITIONS
};

enum tn_build_overflow { TN_BUILD_SADD = 0, TN_BUILD_UADD, TN_BUILD_SSUB, TN_BUILD_USUB, TN_BUILD_SMUL, TN_BUILD_UMUL };

TN_API uint32_t tn_build_binary(struct tn_build_function *f, enum tn_build_op op, uint32_t a, uint32_t b);
TN_API uint32_t tn_build_unary(struct tn_build_function *f, enum tn_build_op op, uint32_t a);
TN_API uint32_t tn_build_convert(struct tn_build_function *f, enum tn_build_op op, unsigned type, uint32_t a);
TN_API uint32_t tn_build_compare(struct tn_build_function *f, enum tn_build_condition condition, uint32_t a,
                                 uint32_t b); /* an i1 */
TN_API uint32_t tn_build_select(struct tn_build_function *f, uint32_t condition, uint32_t yes, uint32_t no);
/* *flag: an i1 that says whether the result has been too large. TN_BUILD_SMUL is of integers from i16 on. */
TN_API uint32_t tn_build_overflow(struct tn_build_function *f, enum tn_build_overflow kind, uint32_t a, uint32_t b,
                                  uint32_t *flag);

/* ---- memory ---- */

/* The address of a variable of the frame, which is there as long as the function runs; aligned to 16 at most. */
TN_API uint32_t tn_build_variable(struct tn_build_function *f, uint32_t bytes, uint32_t alignment);
TN_API uint32_t tn_build_load(struct tn_build_function *f, unsigned type, uint32_t address);
TN_API void tn_build_store(struct tn_build_function *f, uint32_t value, uint32_t address);
/* address + index * step + offset. The index is an i64, or 0: there is none. */
TN_API uint32_t tn_build_element(struct tn_build_function *f, uint32_t address, uint32_t index, uint32_t step,
                                 int32_t offset);
/* Atomic and sequentially consistent. Each gives what was there. */
TN_API uint32_t tn_build_exchange(struct tn_build_function *f, uint32_t value, uint32_t address);
TN_API uint32_t tn_build_fetch_add(struct tn_build_function *f, uint32_t value, uint32_t address);
/* *flag: an i1 that says whether it was `expected`, and `value` has been stored. */
TN_API uint32_t tn_build_compare_exchange(struct tn_build_function *f, uint32_t expected, uint32_t value,
                                          uint32_t address, uint32_t *flag);
TN_API void tn_build_fence(struct tn_build_function *f);

/* ---- control ---- */

/* A value that depends on the block before: at the beginning of a block, with one tn_build_incoming for each block that
 * jumps there, in any order and at any time. */
TN_API uint32_t tn_build_phi(struct tn_build_function *f, unsigned type);
TN_API void tn_build_incoming(struct tn_build_function *f, uint32_t phi, uint32_t value, uint32_t block);

/* Calls the function at an address; what it returns, and nothing for TN_BUILD_VOID. `types` are those of the arguments,
 * or NULL: those of their values. Not 0 for `variadic`: the callee takes any number of arguments. */
TN_API uint32_t tn_build_call(struct tn_build_function *f, uint32_t callee, unsigned result, const uint32_t *values,
                              const uint8_t *types, size_t count, int variadic);

TN_API void tn_build_jump(struct tn_build_function *f, uint32_t to);
TN_API void tn_build_branch(struct tn_build_function *f, uint32_t condition, uint32_t yes, uint32_t no);
/* To the block of the case that the value is equal to; the numbers differ from each other. */
TN_API void tn_build_switch(struct tn_build_function *f, uint32_t value, const int64_t *cases, const uint32_t *blocks,
                            size_t count, uint32_t otherwise);
TN_API void tn_build_return(struct tn_build_function *f, uint32_t value); /* 0: nothing */
TN_API void tn_build_trap(struct tn_build_function *f);
TN_API void tn_build_unreachable(struct tn_build_function *f);

#ifdef __cplusplus
}
#endif
#endif
