/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <string.h>

#include "module.h"

static const uint8_t i64[] = {TN_BUILD_I64}, i32[] = {TN_BUILD_I32, TN_BUILD_I32}, f64[] = {TN_BUILD_F64};

static void build_sum(struct tn_build *build)
{
    struct tn_build_function *f = tn_build_function(build, "sum", TN_BUILD_WEAK, TN_BUILD_I64, i64, 1);
    uint32_t entry = tn_build_block(f), loop = tn_build_block(f), end = tn_build_block(f);
    tn_build_begin(f, entry);
    tn_build_jump(f, loop);
    tn_build_begin(f, loop);
    uint32_t i = tn_build_phi(f, TN_BUILD_I64), s = tn_build_phi(f, TN_BUILD_I64);
    uint32_t t = tn_build_binary(f, TN_BUILD_ADD, s, i);
    uint32_t j = tn_build_binary(f, TN_BUILD_ADD, i, tn_build_integer(f, TN_BUILD_I64, 1));
    tn_build_branch(f, tn_build_compare(f, TN_BUILD_ULT, j, tn_build_argument(f, 0)), loop, end);
    tn_build_incoming(f, s, t, loop);
    tn_build_incoming(f, i, j, loop);
    tn_build_incoming(f, i, tn_build_integer(f, TN_BUILD_I64, 0), entry);
    tn_build_incoming(f, s, tn_build_integer(f, TN_BUILD_I64, 0), entry);
    tn_build_begin(f, end);
    tn_build_return(f, t);
}

static void build_pick(struct tn_build *build, uint32_t word)
{
    uint32_t outside = tn_build_declare(build, "outside", 0);
    struct tn_build_function *twice = tn_build_function(build, "twice", TN_BUILD_LOCAL, TN_BUILD_I32, i32, 1);
    tn_build_begin(twice, tn_build_block(twice));
    tn_build_return(twice, tn_build_binary(twice, TN_BUILD_SHL, tn_build_argument(twice, 0),
                                           tn_build_integer(twice, TN_BUILD_I32, 1)));
    static const uint8_t zeros[8];
    uint32_t callee = tn_build_data(build, "callee", TN_BUILD_LOCAL | TN_BUILD_READ_ONLY, zeros, 8, 8, 8);
    tn_build_data_address(build, callee, 0, tn_build_symbol(twice), 0);

    struct tn_build_function *f = tn_build_function(build, "pick", 0, TN_BUILD_I32 | TN_BUILD_SIGNED, i32, 1);
    uint32_t entry = tn_build_block(f), other = tn_build_block(f);
    const uint32_t blocks[] = {tn_build_block(f), tn_build_block(f), tn_build_block(f)};
    static const int64_t cases[] = {0, 1, 5};
    tn_build_begin(f, entry);
    tn_build_switch(f, tn_build_argument(f, 0), cases, blocks, 3, other);
    tn_build_begin(f, other);
    tn_build_return(f, tn_build_load(f, TN_BUILD_I32, tn_build_address(f, word, 0)));
    tn_build_begin(f, blocks[0]);
    uint32_t number = tn_build_integer(f, TN_BUILD_I32, 21);
    uint32_t to = tn_build_load(f, TN_BUILD_PTR, tn_build_address(f, callee, 0));
    tn_build_return(f, tn_build_call(f, to, TN_BUILD_I32, &number, NULL, 1, 0));
    tn_build_begin(f, blocks[1]);
    number = tn_build_integer(f, TN_BUILD_I32, 1);
    tn_build_return(f, tn_build_call(f, tn_build_address(f, outside, 0), TN_BUILD_I32, &number, i32, 1, 0));
    tn_build_begin(f, blocks[2]);
    tn_build_return(f, tn_build_integer(f, TN_BUILD_I32, -1));
}

static void build_atomics(struct tn_build *build, uint32_t word)
{
    struct tn_build_function *f = tn_build_function(build, "next", 0, TN_BUILD_I32, NULL, 0);
    tn_build_begin(f, tn_build_block(f));
    tn_build_fence(f);
    tn_build_return(f, tn_build_fetch_add(f, tn_build_integer(f, TN_BUILD_I32, 1), tn_build_address(f, word, 0)));

    static const uint8_t types[] = {TN_BUILD_PTR, TN_BUILD_I64, TN_BUILD_I64};
    f = tn_build_function(build, "exchange", 0, TN_BUILD_I32, types, 3);
    tn_build_begin(f, tn_build_block(f));
    uint32_t flag;
    tn_build_compare_exchange(f, tn_build_argument(f, 1), tn_build_argument(f, 2), tn_build_argument(f, 0), &flag);
    tn_build_return(f, tn_build_convert(f, TN_BUILD_ZEXT, TN_BUILD_I32, flag));
}

static void build_numbers(struct tn_build *build)
{
    struct tn_build_function *f = tn_build_function(build, "clamp", 0, TN_BUILD_I32, i32, 2);
    tn_build_begin(f, tn_build_block(f));
    uint32_t flag;
    uint32_t sum = tn_build_overflow(f, TN_BUILD_SADD, tn_build_argument(f, 0), tn_build_argument(f, 1), &flag);
    tn_build_return(f, tn_build_select(f, flag, tn_build_integer(f, TN_BUILD_I32, -1), sum));

    f = tn_build_function(build, "half", 0, TN_BUILD_F64, f64, 1);
    tn_build_begin(f, tn_build_block(f));
    uint32_t x = tn_build_binary(f, TN_BUILD_FMUL, tn_build_argument(f, 0), tn_build_real(f, TN_BUILD_F64, 0.5));
    uint32_t at = tn_build_element(f, tn_build_variable(f, 32, 8), tn_build_integer(f, TN_BUILD_I64, 2), 8, 8);
    tn_build_store(f, x, at);
    tn_build_return(f, tn_build_load(f, TN_BUILD_F64, at));

    uint32_t nowhere = tn_build_declare(build, "nowhere", TN_BUILD_WEAK);
    f = tn_build_function(build, "missing", TN_BUILD_HIDDEN, TN_BUILD_I32, NULL, 0);
    tn_build_begin(f, tn_build_block(f));
    uint32_t is =
        tn_build_compare(f, TN_BUILD_EQ, tn_build_address(f, nowhere, 0), tn_build_integer(f, TN_BUILD_PTR, 0));
    tn_build_return(f, tn_build_convert(f, TN_BUILD_ZEXT, TN_BUILD_I32, is));
    f = tn_build_function(build, "asks", 0, TN_BUILD_I32, NULL, 0);
    tn_build_begin(f, tn_build_block(f));
    uint32_t missing = tn_build_address(f, tn_build_declare(build, "missing", 0), 0);
    tn_build_return(f, tn_build_call(f, missing, TN_BUILD_I32, NULL, NULL, 0, 0));
}

int build_module(struct tn_buffer *flat, struct tn_error *err)
{
    static const uint8_t seven[] = {7};
    struct tn_build *build;
    int code = tn_build_create(&build, err);
    if (code)
        return code;
    uint32_t word = tn_build_data(build, "word", 0, seven, sizeof seven, 4, 4);
    build_sum(build);
    build_pick(build, word);
    build_atomics(build, word);
    build_numbers(build);
    code = tn_build_finish(build, flat, err);
    tn_build_destroy(build);
    return code;
}

/* ---- running it ---- */

void check(int code, const struct tn_error *err)
{
    if (code)
        fail_msg("%s", err->text);
}

static int outside(int x)
{
    return x + 41;
}

static int no_function(void)
{
    return -1000;
}

struct tn_jit *create_jit(bool lazy, const struct tn_compiler *compiler)
{
    struct tn_error err;
    struct tn_jit *jit;
    const struct tn_jit_options options = {.size = sizeof options,
                                           .compiler = compiler ? compiler : tn_baseline_compiler(),
                                           .lazy = lazy,
                                           .on_failure = (void (*)(void))no_function};
    const struct tn_definition definition = {"outside", (const void *)outside, 0};
    check(tn_jit_create(&options, &jit, &err), &err);
    check(tn_define_all(tn_jit_library(jit), &definition, 1, NULL, &err), &err);
    return jit;
}

void add(struct tn_jit *jit, const struct tn_buffer *flat)
{
    struct tn_error err;
    const struct tn_jit_module module = {
        .size = sizeof module, .name = "built", .ir = flat->data, .length = flat->size};
    check(tn_jit_add_module(jit, NULL, &module, &err), &err);
}

void *find(struct tn_jit *jit, const char *name)
{
    struct tn_error err;
    void *address;
    check(tn_jit_lookup(jit, name, &address, &err), &err);
    return address;
}

#define CALL(jit, name, type, ...) ((type)find(jit, name))(__VA_ARGS__)

void call_all(struct tn_jit *jit)
{
    int64_t cell = 3;
    assert_int_equal(CALL(jit, "sum", int64_t(*)(int64_t), 100), 4950);
    assert_int_equal(CALL(jit, "pick", int (*)(int), 0), 42);
    assert_int_equal(CALL(jit, "pick", int (*)(int), 1), 42);
    assert_int_equal(CALL(jit, "pick", int (*)(int), 5), -1);
    assert_int_equal(CALL(jit, "pick", int (*)(int), 2), 7);
    assert_int_equal(CALL(jit, "next", int (*)(void), ), 7);
    assert_int_equal(CALL(jit, "pick", int (*)(int), 2), 8);
    assert_int_equal(CALL(jit, "exchange", int (*)(int64_t *, int64_t, int64_t), &cell, 2, 9), 0);
    assert_int_equal(CALL(jit, "exchange", int (*)(int64_t *, int64_t, int64_t), &cell, 3, 9), 1);
    assert_int_equal(cell, 9);
    assert_int_equal(CALL(jit, "clamp", int (*)(int, int), 40, 2), 42);
    assert_int_equal(CALL(jit, "clamp", int (*)(int, int), INT32_MAX, 1), -1);
    assert_true(CALL(jit, "half", double (*)(double), 5) == 2.5);
    assert_int_equal(CALL(jit, "asks", int (*)(void), ), 1);
}
