/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Flat functions without LLVM: they are made here, verified, compiled, written as an object, linked and called. Mutants
 * of them are refused, or are well-formed and compiled as well. Each allocation fails once. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <cmocka.h>

#include "baseline/object.h"
#include "faults.h"

/* ---- functions as tables ---- */

#define V(number) (number)
#define I(number) (TN__FLAT_IMMEDIATE | ((uint32_t)(number) & ~(uint32_t)TN__FLAT_KIND))
#define C(index)  (TN__FLAT_CONSTANT | (index))
#define S(index)  (TN__FLAT_SYMBOL | (index))
#define END       0x3fffffff /* after the operands */
#define ARGUMENT(kind)                                                                                                 \
    {                                                                                                                  \
        kind, 0                                                                                                        \
    }

enum { OTHER, THIS, SYMBOLS }; /* the module's symbols: data elsewhere, and the function */

struct row {
    uint8_t op, type, sub;
    uint32_t aux;
    uint32_t operands[12];
};

/* A block ends with its terminator; `successors` has those of all blocks, one after the other. */
struct function {
    const char *name;
    struct tn__flat_argument arguments[4];
    uint32_t argument_count, row_count;
    struct row rows[24];
    uint32_t successors[8];
};

/* The sum of 0 to n - 1, and the two values before the last of a sequence that exchanges two variables. */
static const struct function sum = {
    "sum",
    {ARGUMENT(TN__FLAT_I64)},
    1,
    12,
    {
        /* 1 */ {TN__FLAT_JUMP, 0, 0, 0, {END}},
        /* 2 */ {TN__FLAT_PHI, TN__FLAT_I64, 0, 0, {I(0), 0, V(6), 1, END}},
        /* 3 */ {TN__FLAT_PHI, TN__FLAT_I64, 0, 0, {I(0), 0, V(7), 1, END}},
        /* 4 */ {TN__FLAT_PHI, TN__FLAT_I64, 0, 0, {I(3), 0, V(5), 1, END}},
        /* 5 */ {TN__FLAT_PHI, TN__FLAT_I64, 0, 0, {C(0), 0, V(4), 1, END}},
        /* 6 */ {TN__FLAT_ADD, TN__FLAT_I64, 0, 0, {V(2), I(1), END}},
        /* 7 */ {TN__FLAT_ADD, TN__FLAT_I64, 0, 0, {V(3), V(2), END}},
        /* 8 */ {TN__FLAT_ICMP, TN__FLAT_I64, TN__FLAT_ULT, 0, {V(6), V(0), END}},
        /* 9 */ {TN__FLAT_BRANCH, 0, 0, 0, {V(8), END}},
        /* 10 */ {TN__FLAT_SUB, TN__FLAT_I64, 0, 0, {V(5), V(4), END}},
        /* 11 */ {TN__FLAT_ADD, TN__FLAT_I64, 0, 0, {V(10), V(7), END}},
        /* 12 */ {TN__FLAT_RETURN, 0, 0, 0, {V(11), TN__FLAT_I64, END}},
    },
    {1, 1, 2},
};

/* Memory in the frame and elsewhere, calls of itself, floating point, a switch. */
static const struct function walk = {
    "walk",
    {ARGUMENT(TN__FLAT_I32), ARGUMENT(TN__FLAT_F64), ARGUMENT(TN__FLAT_PTR)},
    3,
    16,
    {
        /* 3 */ {TN__FLAT_ALLOCA, TN__FLAT_PTR, 3, 64, {END}},
        /* 4 */ {TN__FLAT_SEXT, TN__FLAT_I64, TN__FLAT_I32, 0, {V(0), END}},
        /* 5 */ {TN__FLAT_ADDRESS, TN__FLAT_PTR, 0, 8, {V(3), V(4), 8, END}},
        /* 6 */ {TN__FLAT_STORE, TN__FLAT_F64, 0, 0, {V(1), V(5), END}},
        /* 7 */ {TN__FLAT_LOAD, TN__FLAT_I64, 0, 0, {S(0), END}},
        /* 8 */ {TN__FLAT_SWITCH, TN__FLAT_I32, 0, 0, {V(0), I(0), I(1), I(2), I(3), I(5), END}},
        /* 9 */ {TN__FLAT_SUB, TN__FLAT_I32, 0, 0, {V(0), I(1), END}},
        /* 10 */
        {TN__FLAT_CALL,
         TN__FLAT_F64,
         0,
         0,
         {S(1), V(9), TN__FLAT_I32, 0, V(1), TN__FLAT_F64, 0, V(2), TN__FLAT_PTR, 0, END}},
        /* 11 */ {TN__FLAT_LOAD, TN__FLAT_F64, 0, 0, {V(5), END}},
        /* 12 */ {TN__FLAT_FADD, TN__FLAT_F64, 0, 0, {V(10), V(11), END}},
        /* 13 */ {TN__FLAT_RETURN, 0, 0, 0, {V(12), TN__FLAT_F64, END}},
        /* 14 */ {TN__FLAT_SITOFP, TN__FLAT_F64, TN__FLAT_I64, 0, {V(7), END}},
        /* 15 */ {TN__FLAT_STORE, TN__FLAT_F64, 0, 0, {V(14), V(2), END}},
        /* 16 */ {TN__FLAT_COPY, TN__FLAT_F64, TN__FLAT_I64, 0, {C(1), END}},
        /* 17 */ {TN__FLAT_FMUL, TN__FLAT_F64, 0, 0, {V(14), V(16), END}},
        /* 18 */ {TN__FLAT_RETURN, 0, 0, 0, {V(17), TN__FLAT_F64, END}},
    },
    {2, 2, 1, 1, 1, 1},
};

/* A call of itself with a landing. */
static const struct function guarded = {
    "guarded",
    {ARGUMENT(TN__FLAT_I32)},
    1,
    10,
    {
        /* 1 */ {TN__FLAT_CALL, TN__FLAT_I32, 0, 0, {S(1), V(0), TN__FLAT_I32, 0, END}},
        /* 2 */ {TN__FLAT_INVOKED, 0, 0, 0, {END}},
        /* 3 */ {TN__FLAT_RETURN, 0, 0, 0, {V(1), TN__FLAT_I32, END}},
        /* 4 */ {TN__FLAT_PHI, TN__FLAT_I32, 0, 0, {V(0), 0, END}},
        /* 5 */
        {TN__FLAT_LANDING,
         TN__FLAT_PTR,
         0,
         0,
         {S(0), TN__FLAT_CATCH, S(1), TN__FLAT_FILTER, S(0), TN__FLAT_FILTER_MORE, I(0), TN__FLAT_CLEANUP, END}},
        /* 6 */ {TN__FLAT_RESULT, TN__FLAT_I32, 1, 0, {END}},
        /* 7 */ {TN__FLAT_TYPE_ID, TN__FLAT_I32, 0, 0, {S(1), END}},
        /* 8 */ {TN__FLAT_SUB, TN__FLAT_I32, 0, 0, {V(6), V(7), END}},
        /* 9 */ {TN__FLAT_ADD, TN__FLAT_I32, 0, 0, {V(8), V(4), END}},
        /* 10 */ {TN__FLAT_RETURN, 0, 0, 0, {V(9), TN__FLAT_I32, END}},
    },
    {1, 2},
};

/* x86_fp80 in phis and in a loop, and the upper half of a product. */
static const struct function precise = {
    "precise",
    {ARGUMENT(TN__FLAT_F64)},
    1,
    11,
    {
        /* 1 */ {TN__FLAT_FPEXT, TN__FLAT_F80, TN__FLAT_F64, 0, {V(0), END}},
        /* 2 */ {TN__FLAT_JUMP, 0, 0, 0, {END}},
        /* 3 */ {TN__FLAT_PHI, TN__FLAT_F80, 0, 0, {V(1), 0, V(5), 1, END}},
        /* 4 */ {TN__FLAT_PHI, TN__FLAT_F80, 0, 0, {C(2), 0, V(3), 1, END}},
        /* 5 */ {TN__FLAT_FMUL, TN__FLAT_F80, 0, 0, {V(3), V(4), END}},
        /* 6 */ {TN__FLAT_FCMP, TN__FLAT_F80, TN__FLAT_LESS, 0, {V(5), C(4), END}},
        /* 7 */ {TN__FLAT_BRANCH, 0, 0, 0, {V(6), END}},
        /* 8 */ {TN__FLAT_FPTOUI, TN__FLAT_I64, TN__FLAT_F80, 0, {V(5), END}},
        /* 9 */ {TN__FLAT_MULH, TN__FLAT_I64, 0, 0, {V(8), C(1), END}},
        /* 10 */ {TN__FLAT_UITOFP, TN__FLAT_F80, TN__FLAT_I64, 0, {V(9), END}},
        /* 11 */ {TN__FLAT_RETURN, 0, 0, 0, {V(10), TN__FLAT_F80, END}},
    },
    {1, 1, 2},
};

/* A reference (named twice), what is derived from it, one in memory and one that does not move live at a call. */
static const struct function managed = {
    "managed",
    {ARGUMENT(TN__FLAT_PTR), ARGUMENT(TN__FLAT_I64)},
    2,
    9,
    {
        /* 2 */ {TN__FLAT_ALLOCA, TN__FLAT_PTR, 3, 24, {END}},
        /* 3 */ {TN__FLAT_STORE, TN__FLAT_PTR, 0, 0, {V(0), V(2), END}},
        /* 4 */ {TN__FLAT_ADDRESS, TN__FLAT_PTR, 0, 8, {V(0), V(1), 8, END}},
        /* 5 */
        {TN__FLAT_SAFEPOINT,
         0,
         1,
         0,
         {V(0), 0, V(4), 0, V(2), TN__FLAT_OF_MEMORY | 0, V(2), TN__FLAT_OF_PINNED | 2, V(0), 4, END}},
        /* 6 */ {TN__FLAT_CALL, TN__FLAT_PTR, 0, 0, {S(1), V(2), TN__FLAT_NEST | TN__FLAT_PTR, 0, END}},
        /* 7 */ {TN__FLAT_STORE, TN__FLAT_PTR, 0, 0, {V(0), V(4), END}},
        /* 8 */ {TN__FLAT_FRAME, TN__FLAT_PTR, 0, 0, {END}},
        /* 9 */ {TN__FLAT_STORE, TN__FLAT_PTR, 0, 0, {V(8), V(6), END}},
        /* 10 */ {TN__FLAT_RETURN, 0, 0, 0, {END}},
    },
    {0},
};

#define APPEND(flat, items, count, room, ...)                                                                          \
    do {                                                                                                               \
        assert_true(tn__grow(NULL, &(flat)->items, &(flat)->room, (flat)->count + 1, sizeof *(flat)->items));          \
        (flat)->items[(flat)->count++] = __VA_ARGS__;                                                                  \
    } while (0)

static void make(const struct function *f, struct tn__flat *flat)
{
    static const uint64_t constants[] = {
        /* 0 */ UINT64_C(0x123456789abc),
        /* 1: 1.5 */ UINT64_C(0x3ff8000000000000),
        /* 2: 1.5 of 80 bits */ UINT64_C(3) << 62,  16383,
        /* 4: 2^40 of 80 bits */ UINT64_C(1) << 63, 16383 + 40,
    };
    uint32_t first = 0, successor = 0;
    *flat = (struct tn__flat){.symbols = SYMBOLS, .personality = f == &guarded ? S(0) : 0};
    for (size_t i = 0; i < TN_COUNT(constants); i++)
        APPEND(flat, constants, constant_count, constant_room, constants[i]);
    for (uint32_t i = 0; i < SYMBOLS; i++)
        APPEND(flat, addresses, address_count, address_room, (struct tn__flat_address){i, 0});
    for (uint32_t i = 0; i < f->argument_count; i++)
        APPEND(flat, arguments, argument_count, argument_room, f->arguments[i]);
    for (uint32_t i = 0; i < f->row_count; i++) {
        const struct row *r = &f->rows[i];
        struct tn__flat_inst inst = {r->op, r->type, r->sub, 0, (uint32_t)flat->operand_count, 0, r->aux};
        while (r->operands[inst.count] != END)
            APPEND(flat, operands, operand_count, operand_room, r->operands[inst.count++]);
        APPEND(flat, insts, inst_count, inst_room, inst);
        if (!tn__flat_is_terminator(r->op))
            continue;
        uint32_t count = r->op == TN__FLAT_JUMP                                  ? 1
                         : r->op == TN__FLAT_BRANCH || r->op == TN__FLAT_INVOKED ? 2
                         : r->op == TN__FLAT_SWITCH                              ? inst.count
                                                                                 : 0;
        APPEND(flat, blocks, block_count, block_room, (struct tn__flat_block){first, i + 1, successor, count});
        for (uint32_t k = 0; k < count; k++)
            APPEND(flat, successors, successor_count, successor_room, f->successors[successor++]);
        first = i + 1;
    }
}

/* ---- compiling ---- */

static const struct tn__code_symbol symbols[SYMBOLS] = {[OTHER] = {"other", false}, [THIS] = {"this_one", true}};

static int compile(const struct tn__flat *flat, struct tn__baseline_object *object, struct tn_error *err)
{
    struct tn__flat_analysis analysis = {0};
    struct tn__x64_scratch *scratch = NULL;
    int code = tn__flat_analyse(flat, &analysis) ? 0 : TN_ENOMEM;
    if (!code)
        code = tn__x64_compile(flat, &analysis, object->symbols, &scratch, &object->code, err);
    tn__flat_analysis_free(&analysis);
    tn__x64_scratch_free(scratch);
    return code;
}

/* From the flat function to an object that defines `this_one`. */
static int make_object(const struct tn__flat *flat, struct tn_buffer *out, struct tn_error *err)
{
    struct tn__baseline_object object = {.symbol_count = SYMBOLS};
    int code = tn__flat_verify(flat, err);
    object.symbols = code ? NULL : tn__alloc(NULL, sizeof symbols);
    object.definitions = code ? NULL : tn__alloc(NULL, sizeof *object.definitions);
    if (!code && (!object.symbols || !object.definitions))
        code = TN_ENOMEM;
    if (!code) {
        memcpy(object.symbols, symbols, sizeof symbols);
        *object.definitions = (struct tn__baseline_definition){.symbol = THIS, .binding = 1};
        code = compile(flat, &object, err);
    }
    if (!code)
        code = tn__baseline_write(&object, NULL, out, err);
    tn__baseline_object_free(&object);
    return code;
}

/* ---- tests ---- */

static int64_t other = 7;

static void release(void *context, const void *bytes, size_t length)
{
    struct tn_buffer object = {.data = (void *)(uintptr_t)bytes, .size = length};
    (void)context;
    tn_buffer_free(&object);
}

static void *link_object(struct tn_session *session, const struct function *f)
{
    struct tn_error err;
    struct tn__flat flat;
    struct tn_buffer object = {0};
    struct tn_library *library;
    const struct tn_definition definition = {"other", &other, 0};
    void *found = NULL;
    make(f, &flat);
    if (make_object(&flat, &object, &err))
        fail_msg("%s: %s", f->name, err.text);
    tn__flat_free(&flat);
    assert_int_equal(tn_library_create(session, f->name, &library, &err), 0);
    assert_int_equal(tn_define_all(library, &definition, 1, NULL, &err), 0);
    struct tn_input input = {.size = sizeof input, .name = f->name, .bytes = object.data, .length = object.size};
    input.release = release;
    if (tn_add_object(library, &input, &err) || tn_lookup(library, "this_one", &found, &err))
        fail_msg("%s: %s", f->name, err.text);
    return found;
}

/* What `precise` computes. */
static long double multiply(double x)
{
    long double a = x, b = 1.5L, product;
    do {
        product = a * b;
        b = a;
        a = product;
    } while (product < 0x1p40L);
    return (long double)(uint64_t)((unsigned __int128)(uint64_t)product * UINT64_C(0x3ff8000000000000) >> 64);
}

static void test_calls(void **state)
{
    struct utsname machine;
    struct tn_session *session;
    struct tn_error err;
    (void)state;
    uname(&machine);
    if (strcmp(machine.machine, "x86_64") != 0)
        skip();
    assert_int_equal(tn_session_create(NULL, &session, &err), 0);
    int64_t (*run_sum)(int64_t) = (int64_t(*)(int64_t))(uintptr_t)link_object(session, &sum);
    int64_t difference = INT64_C(0x123456789abc) - 3;
    assert_int_equal(run_sum(10), 45 - difference);
    assert_int_equal(run_sum(11), 55 + difference);
    double stored = 0, (*run_walk)(int32_t, double, double *) =
                           (double (*)(int32_t, double, double *))(uintptr_t)link_object(session, &walk);
    assert_true(run_walk(3, 0.25, &stored) == 3 * 0.25 + 7 * 1.5); /* 3, 2 and 1 add, and 0 ends it */
    assert_true(stored == 7);
    assert_true(run_walk(4, 0.25, &stored) == 7 * 1.5);
    long double (*run_precise)(double) = (long double (*)(double))(uintptr_t)link_object(session, &precise);
    assert_true(run_precise(2.25) == multiply(2.25));
    tn_session_destroy(session);
}

/* One word of the form changes; what is not refused can be compiled. */
static void test_mutants(void **state)
{
    static const struct function *const functions[] = {&sum, &walk, &guarded, &precise, &managed};
    uint64_t random = 88172645463325252u;
    unsigned refused = 0, accepted = 0;
    (void)state;
    for (unsigned turn = 0; turn < 40000; turn++) {
        struct tn__flat flat;
        struct tn_buffer out = {0};
        struct tn_error err;
        make(functions[turn % TN_COUNT(functions)], &flat);
        const struct {
            void *bytes;
            size_t size;
        } parts[] = {{flat.insts, flat.inst_count * sizeof *flat.insts},
                     {flat.operands, flat.operand_count * sizeof *flat.operands},
                     {flat.blocks, flat.block_count * sizeof *flat.blocks},
                     {flat.successors, flat.successor_count * sizeof *flat.successors},
                     {flat.addresses, flat.address_count * sizeof *flat.addresses},
                     {flat.arguments, flat.argument_count * sizeof *flat.arguments}};
        for (unsigned change = 0; change <= turn / TN_COUNT(functions) % 3; change++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            size_t part = random % TN_COUNT(parts), at = parts[part].size ? (random >> 8) % parts[part].size : 0;
            if (!parts[part].size) /* a function of one block has no successors */
                continue;
            uint8_t *byte = (uint8_t *)parts[part].bytes + at;
            *byte = (uint8_t)(random >> 40 & 1 ? *byte + (random >> 32 & 3) - 1 : random >> 48);
        }
        int code = make_object(&flat, &out, &err);
        if (code && code != TN_EFORMAT && code != TN_ENOTSUP)
            fail_msg("%s", err.text);
        refused += code != 0;
        accepted += code == 0;
        tn_buffer_free(&out);
        tn__flat_free(&flat);
    }
    print_message("%u mutants refused, %u compiled\n", refused, accepted);
    assert_true(refused > 1000 && accepted > 1000);
}

/* Forms that are wrong in one way each. */
static void test_refused(void **state)
{
    static const struct {
        uint32_t row, operand, value;
        const char *said;
    } cases[] = {
        {5, 0, V(10), "not defined on all ways"}, /* before its definition */
        {5, 0, V(8), "no value of its type"},     /* an i1 */
        {5, 0, V(100), "no value of its type"},   /* nothing */
        {5, 0, C(9), "no such constant"},
        {5, 0, S(9), "no such symbol"},
        {1, 1, 2, "one value for each block"}, /* a block without an edge to it */
        {1, 1, 77, "no such block"},
        {11, 1, TN__FLAT_VOID, "no type"},
    };
    static const struct {
        uint32_t operand, value;
        const char *said;
    } landings[] = {
        {0, V(0), "no value of its type"},
        {1, TN__FLAT_FILTER_MORE, "a type is no constant, or of no kind"}, /* no list begins before it */
        {5, 9, "a type is no constant, or of no kind"},
    };
    (void)state;
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        struct tn__flat flat;
        struct tn_error err = {0};
        make(&sum, &flat);
        flat.operands[flat.insts[cases[i].row].first + cases[i].operand] = cases[i].value;
        assert_int_equal(tn__flat_verify(&flat, &err), TN_EFORMAT);
        if (!strstr(err.text, cases[i].said))
            fail_msg("case %zu: %s", i, err.text);
        tn__flat_free(&flat);
    }
    for (size_t i = 0; i <= TN_COUNT(landings); i++) {
        struct tn__flat flat;
        struct tn_error err = {0};
        make(&guarded, &flat);
        if (i < TN_COUNT(landings))
            flat.operands[flat.insts[4].first + landings[i].operand] = landings[i].value;
        else
            flat.successors[0] = 2; /* the landing, where the call returns */
        assert_int_equal(tn__flat_verify(&flat, &err), TN_EFORMAT);
        if (!strstr(err.text, i < TN_COUNT(landings) ? landings[i].said : "a landing is no successor"))
            fail_msg("landing %zu: %s", i, err.text);
        tn__flat_free(&flat);
    }
}

static void refuse(struct tn__flat *flat, const char *said)
{
    struct tn_error err = {0};
    assert_int_equal(tn__flat_verify(flat, &err), TN_EFORMAT);
    if (!strstr(err.text, said))
        fail_msg("%s", err.text);
    tn__flat_free(flat);
}

/* Two cases of a switch have the same number, or have it in the bits that count. */
static void test_equal_cases(void **state)
{
    (void)state;
    for (unsigned is_wide = 0; is_wide < 2; is_wide++) {
        struct tn__flat flat;
        make(&walk, &flat);
        flat.constants[0] = UINT64_C(0x100000002);
        flat.operands[flat.insts[5].first + 5] = is_wide ? C(0) : I(2);
        refuse(&flat, "two of its cases are equal");
    }
}

/* Each argument has a size that one may have; all together are larger than 32 bits can say. */
static void test_large_arguments(void **state)
{
    struct tn__flat flat;
    (void)state;
    make(&sum, &flat);
    for (unsigned i = 0; i < 17; i++)
        APPEND(&flat, arguments, argument_count, argument_room,
               (struct tn__flat_argument){TN__FLAT_PTR | TN__FLAT_BY_VALUE, 1 << 28});
    refuse(&flat, "its arguments are too large");
}

/* Numbers of 80 bits that have half of them, and halves of numbers of 128 bits. */
static void test_halves(void **state)
{
    static const struct {
        uint32_t row, operand, value;
        const char *said;
    } cases[] = {
        {4, 1, C(5), "no such constant"},
        {4, 1, I(1), "half of its bits"},
        {8, 0, V(5), "no value of its type"},
        {10, 1, TN__FLAT_F80 | TN__FLAT_WHOLE, "half of an i128 has another type"},
    };
    struct tn__flat flat;
    (void)state;
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        make(&precise, &flat);
        flat.operands[flat.insts[cases[i].row].first + cases[i].operand] = cases[i].value;
        refuse(&flat, cases[i].said);
    }
    make(&walk, &flat);
    flat.insts[4] = (struct tn__flat_inst){TN__FLAT_THREAD, TN__FLAT_PTR, 0, 0, flat.insts[4].first, 1, 0};
    refuse(&flat, "another number of operands");
    make(&walk, &flat);
    flat.insts[15] = (struct tn__flat_inst){TN__FLAT_THREAD, TN__FLAT_PTR, 0, 0, flat.insts[7].first, 2, 0};
    refuse(&flat, "no value of its type");
    make(&walk, &flat);
    flat.insts[6] =
        (struct tn__flat_inst){TN__FLAT_FETCH, TN__FLAT_I32, TN__FLAT_FETCHES, 0, flat.insts[6].first, 2, 0};
    flat.operands[flat.insts[6].first + 1] = V(2);
    refuse(&flat, "there is no such operation");
    make(&precise, &flat);
    flat.insts[8].type = TN__FLAT_I32;
    flat.operands[flat.insts[8].first] = I(1);
    refuse(&flat, "no other type than i64");
    make(&sum, &flat);
    flat.arguments[0].kind |= TN__FLAT_WHOLE;
    refuse(&flat, "an i128 has one half");
}

/* What the collector reads of a frame; the numbers are those of tenon_gc.h. */
static void test_map(void **state)
{
    static const struct function *const functions[] = {&sum, &managed};
    struct tn_error err = {0};
    (void)state;
    for (size_t i = 0; i < TN_COUNT(functions); i++) {
        struct tn__flat flat;
        struct tn__baseline_object object = {.symbols = (struct tn__code_symbol *)(uintptr_t)symbols};
        make(functions[i], &flat);
        assert_int_equal(compile(&flat, &object, &err), 0);
        const struct tn__code_function *f = object.code.functions;
        assert_int_equal(f->map_size, i ? 8 + 2 + 4 + 2 + 2 + 4 + 2 + 2 : 0);
        if (i) {
            const uint8_t *map = object.code.maps + f->map, *safepoint = map + 10;
            int16_t variable = (int16_t)tn__get16(map + 8), pinned = (int16_t)tn__get16(safepoint + 14);
            uint32_t place = tn__get32(safepoint);
            assert_int_equal(tn__get32(map + 4), 1 | 1 << 20); /* a safepoint, and what all of them have in memory */
            assert_int_equal(place >> 30, 3);                  /* it is the call by an entry, and has a pinned list */
            assert_int_equal(object.code.bytes[f->offset + (place & 0x3fffffff) - 5], 0xe8); /* behind the call */
            assert_int_equal(safepoint[4], 1);
            assert_int_equal(safepoint[5], 1);
            assert_int_equal(tn__get16(safepoint + 10), 0); /* its base */
            assert_int_equal(tn__get16(safepoint + 12), 1);
            assert_int_equal(pinned, variable + 2);
            assert_true(variable < 0 && (int16_t)tn__get16(safepoint + 6) < 0 && (int16_t)tn__get16(safepoint + 8) < 0);
            assert_int_not_equal(tn__get16(safepoint + 6), tn__get16(safepoint + 8));
        }
        tn__code_free(&object.code);
        tn__flat_free(&flat);
    }
}

/* Safepoints that would leave a collector nothing to find, or something that is none. */
static void test_safepoints(void **state)
{
    static const struct {
        uint32_t row, operand, value;
        const char *said;
    } cases[] = {
        {3, 1, 1, "a pointer has no reference"}, /* its reference is derived itself */
        {3, 3, 5, "a pointer has no reference"}, /* there is none of that number */
        {3, 3, 2, "a pointer has no reference"}, /* that is a variable */
        {3, 0, I(0), "an operand is no value"},
        {3, 1, TN__FLAT_ROOT_KIND, "nothing that a collector knows"},
        {3, 5, TN__FLAT_OF_MEMORY | 1 << 29, "a reference is not in the frame"},
        {4, 2, TN__FLAT_NEST | TN__FLAT_I64, "no value of its type"},
        {4, 0, V(0), "calls no symbol"},
    };
    struct tn__flat flat;
    (void)state;
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        make(&managed, &flat);
        flat.operands[flat.insts[cases[i].row].first + cases[i].operand] = cases[i].value;
        refuse(&flat, cases[i].said);
    }
    make(&managed, &flat);
    flat.insts[3].sub = 2;
    refuse(&flat, "no call follows it");
    make(&managed, &flat);
    flat.insts[4] = (struct tn__flat_inst){TN__FLAT_STACK, TN__FLAT_PTR, 0, 0, flat.insts[4].first, 0, 0};
    refuse(&flat, "no call follows it");
}

static void test_no_memory(void **state)
{
    static const struct function *const functions[] = {&sum, &walk, &guarded, &precise, &managed};
    (void)state;
    for (size_t i = 0; i < TN_COUNT(functions); i++) {
        struct tn__flat flat;
        struct tn_error err;
        int code = TN_ENOMEM;
        long first = 0;
        make(functions[i], &flat);
        for (; code == TN_ENOMEM; first++) {
            struct tn_buffer out = {0};
            allocations_left = first;
            code = make_object(&flat, &out, &err);
            allocations_left = -1;
            tn_buffer_free(&out);
        }
        assert_int_equal(code, 0);
        print_message("%s: %ld allocations have failed\n", functions[i]->name, first - 1);
        assert_true(first > 15);
        tn__flat_free(&flat);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),           cmocka_unit_test(test_refused), cmocka_unit_test(test_equal_cases),
        cmocka_unit_test(test_large_arguments), cmocka_unit_test(test_mutants), cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_halves),          cmocka_unit_test(test_map),     cmocka_unit_test(test_safepoints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
