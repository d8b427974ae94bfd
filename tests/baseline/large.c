/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Large functions are compiled in a time that grows as they do: with phis that all move on an edge, with many edges
 * to one block, and with many types of exceptions. The time is the thread's, without other work on the machine. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>
#include <cmocka.h>

#include "baseline/code.h"

/* ---- making functions ---- */

enum { CALLEE, FIRST_TYPE };

static uint32_t immediate(uint32_t number)
{
    return TN__FLAT_IMMEDIATE | number;
}

#define APPEND(flat, items, count, room, ...)                                                                          \
    do {                                                                                                               \
        assert_true(tn__grow(NULL, &(flat)->items, &(flat)->room, (flat)->count + 1, sizeof *(flat)->items));          \
        (flat)->items[(flat)->count++] = __VA_ARGS__;                                                                  \
    } while (0)

static void operand(struct tn__flat *flat, uint32_t number)
{
    APPEND(flat, operands, operand_count, operand_room, number);
    flat->insts[flat->inst_count - 1].count++;
}

/* Returns its value. */
static uint32_t inst(struct tn__flat *flat, unsigned op, unsigned type, unsigned sub)
{
    APPEND(flat, insts, inst_count, inst_room,
           (struct tn__flat_inst){
               .op = (uint8_t)op, .type = (uint8_t)type, .sub = (uint8_t)sub, .first = (uint32_t)flat->operand_count});
    return (uint32_t)(flat->argument_count + flat->inst_count - 1);
}

static void to(struct tn__flat *flat, uint32_t block)
{
    APPEND(flat, successors, successor_count, successor_room, block);
}

/* Ends a block, which begins where the one before ends, and has all successors from `first` on. */
static void end_block(struct tn__flat *flat, size_t first)
{
    uint32_t begin = flat->block_count ? flat->blocks[flat->block_count - 1].end : 0;
    APPEND(flat, blocks, block_count, block_room,
           (struct tn__flat_block){begin, (uint32_t)flat->inst_count, (uint32_t)first,
                                   (uint32_t)(flat->successor_count - first)});
}

static void jump(struct tn__flat *flat, uint32_t block)
{
    size_t first = flat->successor_count;
    inst(flat, TN__FLAT_JUMP, 0, 0);
    to(flat, block);
    end_block(flat, first);
}

static void end_function(struct tn__flat *flat, uint32_t value)
{
    inst(flat, TN__FLAT_RETURN, 0, 0);
    operand(flat, value);
    operand(flat, TN__FLAT_I64);
    end_block(flat, flat->successor_count);
}

static uint32_t address(struct tn__flat *flat, uint32_t number, uint32_t addend)
{
    APPEND(flat, addresses, address_count, address_room, (struct tn__flat_address){number, (int32_t)addend});
    flat->symbols = number >= flat->symbols ? number + 1 : flat->symbols;
    return TN__FLAT_SYMBOL | (uint32_t)(flat->address_count - 1);
}

static uint32_t symbol(struct tn__flat *flat, uint32_t number)
{
    return address(flat, number, 0);
}

static void begin(struct tn__flat *flat, unsigned type)
{
    *flat = (struct tn__flat){0};
    APPEND(flat, arguments, argument_count, argument_room, (struct tn__flat_argument){type, 0});
}

/* A loop in which each phi gets the value of the one before. */
static void make_moves(struct tn__flat *flat, uint32_t size)
{
    begin(flat, TN__FLAT_I1);
    jump(flat, 1);
    uint32_t first = (uint32_t)(flat->argument_count + flat->inst_count);
    for (uint32_t i = 0; i < size; i++) {
        inst(flat, TN__FLAT_PHI, TN__FLAT_I64, 0);
        operand(flat, immediate(i));
        operand(flat, 0);
        operand(flat, first + (i ? i - 1 : size - 1));
        operand(flat, 1);
    }
    size_t successors = flat->successor_count;
    inst(flat, TN__FLAT_BRANCH, 0, 0);
    operand(flat, 0);
    to(flat, 1);
    to(flat, 2);
    end_block(flat, successors);
    end_function(flat, first);
}

/* Cases that all lead to one block, whose phis list them the other way round. */
static void make_edges(struct tn__flat *flat, uint32_t size)
{
    enum { PHIS = 8 };
    begin(flat, TN__FLAT_I64);
    inst(flat, TN__FLAT_SWITCH, TN__FLAT_I64, 0);
    operand(flat, 0);
    for (uint32_t i = 1; i < size; i++)
        operand(flat, immediate(i));
    for (uint32_t i = 0; i < size; i++)
        to(flat, i + 1);
    end_block(flat, 0);
    for (uint32_t i = 0; i < size; i++)
        jump(flat, size + 1);
    uint32_t value = 0;
    for (uint32_t k = 0; k < PHIS; k++) {
        value = inst(flat, TN__FLAT_PHI, TN__FLAT_I64, 0);
        for (uint32_t i = size; i; i--) {
            operand(flat, immediate(i + k));
            operand(flat, i);
        }
    }
    end_function(flat, value);
}

/* Calls with landings, each of which catches another type. With a step, the sum of a type's symbol and of the
 * step times its addend is the same for all of them. */
static void make_landings(struct tn__flat *flat, uint32_t size, uint32_t step)
{
    begin(flat, TN__FLAT_I64);
    flat->personality = symbol(flat, CALLEE);
    uint32_t callee = symbol(flat, CALLEE);
    for (uint32_t i = 0; i < size; i++) {
        size_t first = flat->successor_count;
        inst(flat, TN__FLAT_CALL, 0, 0);
        operand(flat, callee);
        inst(flat, TN__FLAT_INVOKED, 0, 0);
        to(flat, 2 * i + 2);
        to(flat, 2 * i + 1);
        end_block(flat, first);
        inst(flat, TN__FLAT_LANDING, TN__FLAT_PTR, 0);
        operand(flat, step ? address(flat, FIRST_TYPE + step * (size - i), i) : symbol(flat, FIRST_TYPE + i));
        operand(flat, TN__FLAT_CATCH);
        inst(flat, TN__FLAT_RESULT, TN__FLAT_I32, 1);
        end_function(flat, 0);
    }
    end_function(flat, 0);
}

static void make_types(struct tn__flat *flat, uint32_t size)
{
    make_landings(flat, size, 0);
}

/* Their sums would be a hash that is easy to write down. */
static void make_chosen_types(struct tn__flat *flat, uint32_t size)
{
    make_landings(flat, size, 31);
}

/* ---- time ---- */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The shortest time of some compilations. */
static double measure(void (*make)(struct tn__flat *, uint32_t), uint32_t size)
{
    enum { TIMES = 5 };
    double best = 1e9;
    struct tn__flat flat;
    struct tn__flat_analysis analysis = {0};
    struct tn__x64_scratch *scratch = NULL;
    struct tn_error err;
    make(&flat, size);
    struct tn__code_symbol *symbols = tn__alloc_zeroed(NULL, flat.symbols + (size_t)1, sizeof *symbols);
    assert_non_null(symbols);
    for (int i = 0; i < TIMES; i++) {
        struct tn__code code = {0};
        double before = seconds();
        assert_true(tn__flat_analyse(&flat, &analysis));
        assert_int_equal(tn__x64_compile(&flat, &analysis, symbols, &scratch, &code, &err), 0);
        double now = seconds() - before;
        best = now < best ? now : best;
        tn__code_free(&code);
    }
    tn__free(NULL, symbols);
    tn__flat_analysis_free(&analysis);
    tn__x64_scratch_free(scratch);
    tn__flat_free(&flat);
    return best;
}

/* Eight times the size would take 64 times as long. */
static void test_growth(void **state)
{
    static const struct {
        const char *name;
        void (*make)(struct tn__flat *, uint32_t);
        uint32_t size;
    } cases[] = {{"moves", make_moves, 1000},
                 {"edges", make_edges, 1000},
                 {"types", make_types, 2000},
                 {"chosen types", make_chosen_types, 2000}};
    (void)state;
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        double small = measure(cases[i].make, cases[i].size), large = measure(cases[i].make, 8 * cases[i].size);
        print_message("%s: %.2f ms, and 8 times as many: %.2f ms\n", cases[i].name, 1e3 * small, 1e3 * large);
        assert_true(large < 20 * small);
    }
}

/* They are well-formed. */
static void test_verified(void **state)
{
    static void (*const all[])(struct tn__flat *, uint32_t) = {make_moves, make_edges, make_types, make_chosen_types};
    (void)state;
    for (size_t i = 0; i < TN_COUNT(all); i++) {
        struct tn__flat flat;
        struct tn_error err = {0};
        all[i](&flat, 20);
        if (tn__flat_verify(&flat, &err))
            fail_msg("%s", err.text);
        tn__flat_free(&flat);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_verified), cmocka_unit_test(test_growth)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
