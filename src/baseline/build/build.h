/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Modules that are being built (tenon_build.h). A function is kept as instructions in the order in which they came;
 * lay_out.c puts them into the order of blocks, and gives values the numbers of the flat form. */

#ifndef TENON_BASELINE_BUILD_H
#define TENON_BASELINE_BUILD_H

#include "baseline/file/file.h"
#include "baseline/names.h"
#include "tenon_build.h"

#pragma GCC visibility push(hidden)

enum tn__build_kind { TN__BUILD_ARGUMENT, TN__BUILD_INST, TN__BUILD_NUMBER, TN__BUILD_ADDRESS };

struct tn__build_value {
    uint8_t kind, type;
    int32_t addend;  /* of an address */
    uint64_t number; /* of the argument, instruction or symbol; or the number itself */
};

/* In operands, what the flat form has as values are values of the function. */
struct tn__build_inst {
    struct tn__flat_inst inst;
    uint32_t block; /* counted from 0 */
};

struct tn__build_block {
    uint32_t first_successor, successors;
    bool has_others, is_ended; /* instructions that are no phi; its last one */
};

struct tn__build_incoming {
    uint32_t phi, value, block; /* an instruction; a value; a block, counted from 0 */
};

struct tn_build_function {
    struct tn_build *build;
    struct tn_build_function *next;
    uint32_t symbol;
    uint8_t result; /* with its TN_BUILD_SIGNED and so on */
    struct tn__build_value *values;
    struct tn__build_inst *insts;
    uint32_t *operands;
    struct tn__build_block *blocks;
    uint32_t *successors;
    struct tn__build_incoming *incoming;
    size_t argument_count, value_count, inst_count, operand_count, block_count, successor_count, incoming_count;
    size_t value_room, inst_room, operand_room, block_room, successor_room, incoming_room;
    uint32_t block; /* the one at hand, counted from 1; 0: there is none */
};

struct tn__build_pointer {
    struct tn__build_pointer *next;
    struct tn__flat_pointer pointer;
};

struct tn__build_data {
    struct tn__build_data *next;
    struct tn__flat_data data;
    struct tn__build_pointer *pointers;
};

struct tn__build_symbol {
    struct tn__flat_symbol symbol;
    struct tn__build_data *data; /* if it is a variable */
    bool is_defined;
};

struct tn_build {
    struct tn__arena arena;
    struct tn__build_symbol *symbols;
    struct tn__names names; /* symbols, counted from 1 */
    size_t symbol_count, symbol_room;
    struct tn_build_function *functions, *last_function;
    struct tn__build_data *data, *last_data;
    struct tn_error err; /* its code is 0 until there is a mistake */
};

/* Notes the first mistake. `function` is that of tenon_build.h; NULL: it is none, but too large. Returns 0, as these do
 * after one. */
uint32_t tn__build_fail(struct tn_build *build, const char *function, const char *why);
static inline uint32_t tn__build_no_memory(struct tn_build *build)
{
    return tn__build_fail(build, NULL, NULL);
}
static inline uint32_t tn__build_too_large(struct tn_build *build)
{
    return tn__build_fail(build, NULL, "a function is too large");
}

/* Whether a value can be passed as this: a type, and perhaps how a narrow integer is extended. */
bool tn__build_is_kind(unsigned kind);

/* The function in the flat form, into a struct whose arrays are used again. False: out of memory. */
bool tn__build_lay_out(const struct tn_build_function *f, struct tn__flat *flat);

#pragma GCC visibility pop
#endif
