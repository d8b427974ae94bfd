/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Modules that are built without LLVM (tenon_build.h): they run; each mistake is an error that says what is wrong, and
 * the rest of the calls do nothing. */

#include <string.h>
#include <sys/utsname.h>

#include "module.h"

static bool is_x86(void)
{
    struct utsname machine;
    uname(&machine);
    return strcmp(machine.machine, "x86_64") == 0;
}

static void test_runs(void **state)
{
    (void)state;
    if (!is_x86())
        skip();
    for (int lazy = 0; lazy < 2; lazy++) {
        struct tn_buffer flat;
        struct tn_error err;
        struct tn_jit *jit = create_jit(lazy, NULL);
        check(build_module(&flat, &err), &err);
        add(jit, &flat);
        call_all(jit);
        tn_buffer_free(&flat);
        tn_jit_destroy(jit);
    }
}

/* ---- targets ---- */

static void test_targets(void **state)
{
    static const struct {
        const char *triple;
        enum tn_code_model model;
        const char *said; /* NULL: it is a target */
    } targets[] = {
        {"x86_64", TN_CODE_SMALL, NULL},
        {"x86_64-unknown-linux-gnu", TN_CODE_SMALL, NULL},
        {"x86_64-linux-musl", TN_CODE_SMALL, NULL},
        {"x86_64-linux-gnux32", TN_CODE_SMALL, "ELF only"},
        {"x86_64-pc-windows-msvc", TN_CODE_SMALL, "ELF only"},
        {"x86_64-w64-mingw32", TN_CODE_SMALL, "ELF only"},
        {"x86_64-apple-macosx14", TN_CODE_SMALL, "ELF only"},
        {"x86_64h-apple-macosx14", TN_CODE_SMALL, "ELF only"},
        {"aarch64-linux-gnu", TN_CODE_SMALL, "ELF only"},
        {"x86_64-linux-gnu", TN_CODE_MEDIUM, "small code model"},
        {"x86_64-linux-gnu", TN_CODE_LARGE, "small code model"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct tn_compile_options options = {.size = sizeof options, .triple = targets[i].triple};
        struct tn_error err = {0};
        options.code_model = targets[i].model;
        int code = tn_baseline_compiler()->check(NULL, &options, &err);
        if (targets[i].said ? code != TN_ENOTSUP || !strstr(err.text, targets[i].said) : code)
            fail_msg("%s: %d, %s", targets[i].triple, code, err.text);
    }
}

/* ---- mistakes ---- */

/* A function of an i32, a double and a pointer, with a second block, at the beginning of the first. */
struct at {
    struct tn_build *build;
    struct tn_build_function *f;
    uint32_t word, x, d, p, one, wide, second;
};

static struct at begin(void)
{
    static const uint8_t types[] = {TN_BUILD_I32, TN_BUILD_F64, TN_BUILD_PTR};
    struct at a;
    struct tn_error err;
    check(tn_build_create(&a.build, &err), &err);
    a.word = tn_build_data(a.build, "word", 0, "abcdefgh", 8, 8, 8);
    a.f = tn_build_function(a.build, "f", 0, TN_BUILD_I32, types, 3);
    tn_build_begin(a.f, tn_build_block(a.f));
    a.second = tn_build_block(a.f);
    a.x = tn_build_argument(a.f, 0);
    a.d = tn_build_argument(a.f, 1);
    a.p = tn_build_argument(a.f, 2);
    a.one = tn_build_integer(a.f, TN_BUILD_I1, 1);
    a.wide = tn_build_integer(a.f, TN_BUILD_I64, 1);
    return a;
}

/* Makes the function whole, and the module. Returns what tn_build_finish does. */
static int end(struct at *a, struct tn_error *err)
{
    struct tn_buffer flat;
    if (!tn_build_is_ended(a->f))
        tn_build_jump(a->f, a->second);
    tn_build_begin(a->f, a->second);
    if (!tn_build_is_ended(a->f))
        tn_build_return(a->f, a->x);
    int code = tn_build_finish(a->build, &flat, err);
    tn_buffer_free(&flat);
    tn_build_destroy(a->build);
    return code;
}

static uint32_t flag;
static const uint32_t none[1];
static const uint8_t wrong_type[] = {TN_BUILD_F64};

/* A call, and a part of what is said about it; "": it is no mistake. */
#define CASES(X)                                                                                                       \
    X((void)0, "")                                                                                                     \
    X(tn_build_declare(a.build, NULL, 0), "tn_build_declare: a symbol has no name")                                    \
    X(tn_build_declare(a.build, "", 0), "no name")                                                                     \
    X(tn_build_declare(a.build, "word", 0), "")                                                                        \
    X(tn_build_declare(a.build, "x", 77), "no such flags")                                                             \
    X(tn_build_data(a.build, "word", 0, "a", 1, 1, 1), "defined already")                                              \
    X(tn_build_data(a.build, "f", 0, "a", 1, 1, 1), "defined already")                                                 \
    X(tn_build_data(a.build, "a", 0, "a", 1, 0, 1), "no such size")                                                    \
    X(tn_build_data(a.build, "a", 0, NULL, 1, 1, 1), "no such size")                                                   \
    X(tn_build_data(a.build, "a", 0, NULL, 0, UINT64_MAX, 1), "no such size")                                          \
    X(tn_build_data(a.build, "a", 0, NULL, 0, 1, 3), "no such alignment")                                              \
    X(tn_build_data(a.build, "a", 0, NULL, 0, 1, 0), "no such alignment")                                              \
    X(tn_build_data(a.build, "a", TN_BUILD_LOCAL | TN_BUILD_WEAK, NULL, 0, 1, 1), "exclude each other")                \
    X(tn_build_data(a.build, "a", 0, NULL, 0, 1, 65536), "")                                                           \
    X(tn_build_data(a.build, "a", 0, NULL, 0, 1, 65536 * 2), "no such alignment")                                      \
    X(tn_build_data_address(a.build, a.word, 0, a.word, 1), "")                                                        \
    X(tn_build_data_address(a.build, a.word, 1, a.word, 1), "place in the variable")                                   \
    X(tn_build_data_address(a.build, 0, 0, a.word, 1), "no such variable")                                             \
    X(tn_build_data_address(a.build, tn_build_symbol(a.f), 0, a.word, 1), "no such variable")                          \
    X(tn_build_data_address(a.build, a.word, 0, 99, 1), "no such variable, symbol")                                    \
    X(tn_build_function(a.build, "f", 0, 0, NULL, 0), "defined already")                                               \
    X(tn_build_function(a.build, "g", 0, 9, NULL, 0), "no such type")                                                  \
    X(tn_build_function(a.build, "g", 0, TN_BUILD_F64 | TN_BUILD_SIGNED, NULL, 0), "no such type")                     \
    X(tn_build_function(a.build, "g", 0, 0, NULL, 1), "no such type")                                                  \
    X(tn_build_function(a.build, "g", 0, 0, (const uint8_t[]){0}, 1), "no such type")                                  \
    X(tn_build_function(a.build, "g", TN_BUILD_READ_ONLY, 0, NULL, 0), "no such flags")                                \
    X(tn_build_function(a.build, "g", 0, 0, NULL, 0), "'g' has no block")                                              \
    X(tn_build_argument(a.f, 3), "no such argument")                                                                   \
    X(tn_build_begin(a.f, 0), "no such block")                                                                         \
    X(tn_build_begin(a.f, 3), "no such block")                                                                         \
    X(tn_build_block(a.f), "block 3 has no last instruction")                                                          \
    X(tn_build_integer(a.f, TN_BUILD_F64, 1), "no integer")                                                            \
    X(tn_build_integer(a.f, 100, 1), "no integer")                                                                     \
    X(tn_build_real(a.f, TN_BUILD_I64, 1), "no floating-point number")                                                 \
    X(tn_build_address(a.f, 0, 0), "no such symbol")                                                                   \
    X(tn_build_address(a.f, 9, 0), "no such symbol")                                                                   \
    X(tn_build_binary(a.f, TN_BUILD_ADD, a.x, a.wide), "no such operands")                                             \
    X(tn_build_binary(a.f, TN_BUILD_ADD, a.d, a.d), "no such operands")                                                \
    X(tn_build_binary(a.f, TN_BUILD_ADD, a.one, a.one), "")                                                            \
    X(tn_build_binary(a.f, TN_BUILD_SHL, a.one, a.one), "no such operands")                                            \
    X(tn_build_binary(a.f, TN_BUILD_FADD, a.x, a.x), "no such operands")                                               \
    X(tn_build_binary(a.f, TN_BUILD_FNEG, a.d, a.d), "no such operands")                                               \
    X(tn_build_binary(a.f, (enum tn_build_op)99, a.d, a.d), "no such operands")                                        \
    X(tn_build_binary(a.f, TN_BUILD_ADD, 0, 0), "no such operands")                                                    \
    X(tn_build_binary(a.f, TN_BUILD_ADD, a.x, 1000), "no such operands")                                               \
    X(tn_build_unary(a.f, TN_BUILD_ADD, a.x), "no such operand")                                                       \
    X(tn_build_unary(a.f, TN_BUILD_SQRT, a.x), "no such operand")                                                      \
    X(tn_build_unary(a.f, TN_BUILD_BSWAP, tn_build_integer(a.f, TN_BUILD_I8, 1)), "no such operand")                   \
    X(tn_build_unary(a.f, TN_BUILD_BSWAP, a.x), "")                                                                    \
    X(tn_build_convert(a.f, TN_BUILD_ZEXT, TN_BUILD_I32, a.x), "no such conversion")                                   \
    X(tn_build_convert(a.f, TN_BUILD_ZEXT, TN_BUILD_I64, a.x), "")                                                     \
    X(tn_build_convert(a.f, TN_BUILD_TRUNC, TN_BUILD_I1, a.x), "")                                                     \
    X(tn_build_convert(a.f, TN_BUILD_TRUNC, TN_BUILD_I64, a.x), "no such conversion")                                  \
    X(tn_build_convert(a.f, TN_BUILD_COPY, TN_BUILD_PTR, a.wide), "")                                                  \
    X(tn_build_convert(a.f, TN_BUILD_COPY, TN_BUILD_PTR, a.x), "no such conversion")                                   \
    X(tn_build_convert(a.f, TN_BUILD_SITOFP, TN_BUILD_F32, a.one), "no such conversion")                               \
    X(tn_build_convert(a.f, TN_BUILD_FPTOSI, TN_BUILD_I8, a.x), "no such conversion")                                  \
    X(tn_build_convert(a.f, TN_BUILD_ADD, TN_BUILD_I32, a.x), "no such conversion")                                    \
    X(tn_build_convert(a.f, TN_BUILD_COPY, 200, a.x), "no such conversion")                                            \
    X(tn_build_compare(a.f, TN_BUILD_EQ, a.d, a.d), "cannot be compared")                                              \
    X(tn_build_compare(a.f, TN_BUILD_FEQ, a.x, a.x), "cannot be compared")                                             \
    X(tn_build_compare(a.f, (enum tn_build_condition)16, a.x, a.x), "cannot be compared")                              \
    X(tn_build_select(a.f, a.x, a.x, a.x), "no i1")                                                                    \
    X(tn_build_select(a.f, a.one, a.x, a.d), "no common type")                                                         \
    X(tn_build_overflow(a.f, TN_BUILD_SMUL, a.x, a.wide, &flag), "no such operands")                                   \
    X(tn_build_overflow(a.f, TN_BUILD_SMUL, a.x, a.x, NULL), "no place for the flag")                                  \
    X(tn_build_overflow(a.f, (enum tn_build_overflow)6, a.x, a.x, &flag), "no such operands")                          \
    X(tn_build_variable(a.f, 1, 32), "no such size")                                                                   \
    X(tn_build_variable(a.f, UINT32_MAX, 1), "no such size")                                                           \
    X(tn_build_load(a.f, TN_BUILD_I32, a.x), "no pointer")                                                             \
    X(tn_build_load(a.f, TN_BUILD_VOID, a.p), "the type is none")                                                      \
    X(tn_build_store(a.f, 0, a.p), "the value is none")                                                                \
    X(tn_build_store(a.f, a.x, a.x), "no pointer")                                                                     \
    X(tn_build_element(a.f, a.p, a.x, 1, 0), "no i64")                                                                 \
    X(tn_build_element(a.f, a.x, 0, 1, 0), "no pointer")                                                               \
    X(tn_build_element(a.f, a.p, a.wide, UINT32_MAX, 0), "too large")                                                  \
    X(tn_build_exchange(a.f, a.d, a.p), "no such value")                                                               \
    X(tn_build_exchange(a.f, a.p, a.p), "")                                                                            \
    X(tn_build_fetch_add(a.f, a.p, a.p), "no such value")                                                              \
    X(tn_build_compare_exchange(a.f, a.x, a.wide, a.p, &flag), "no common type")                                       \
    X(tn_build_phi(a.f, TN_BUILD_VOID), "the type is none")                                                            \
    X((tn_build_fence(a.f), tn_build_phi(a.f, TN_BUILD_I32)), "other instructions already")                            \
    X((tn_build_jump(a.f, a.second), tn_build_begin(a.f, a.second), tn_build_phi(a.f, TN_BUILD_I32)),                  \
      "not one value for each block")                                                                                  \
    X(tn_build_incoming(a.f, a.x, a.x, a.second), "no such phi")                                                       \
    X(tn_build_incoming(a.f, 0, a.x, a.second), "no such phi")                                                         \
    X(tn_build_incoming(a.f, tn_build_phi(a.f, TN_BUILD_I32), a.d, a.second), "another type")                          \
    X(tn_build_incoming(a.f, tn_build_phi(a.f, TN_BUILD_I32), a.x, 7), "block")                                        \
    X(tn_build_call(a.f, a.x, TN_BUILD_VOID, NULL, NULL, 0, 0), "no pointer")                                          \
    X(tn_build_call(a.f, a.p, TN_BUILD_VOID, NULL, NULL, 1, 0), "not of its type")                                     \
    X(tn_build_call(a.f, a.p, TN_BUILD_VOID, none, NULL, 1, 0), "not of its type")                                     \
    X(tn_build_call(a.f, a.p, TN_BUILD_VOID, &a.x, wrong_type, 1, 0), "not of its type")                               \
    X(tn_build_call(a.f, a.p, 15, NULL, NULL, 0, 0), "tn_build_call")                                                  \
    X(tn_build_jump(a.f, 1), "the first one")                                                                          \
    X(tn_build_jump(a.f, 0), "no such block")                                                                          \
    X((tn_build_jump(a.f, a.second), tn_build_jump(a.f, a.second)), "has its last instruction")                        \
    X(tn_build_branch(a.f, a.x, a.second, a.second), "no i1")                                                          \
    X(tn_build_branch(a.f, a.one, a.second, 9), "no such block")                                                       \
    X(tn_build_switch(a.f, a.d, NULL, NULL, 0, a.second), "no integer")                                                \
    X(tn_build_switch(a.f, a.x, NULL, NULL, 1, a.second), "no such cases")                                             \
    X(tn_build_switch(a.f, a.x, NULL, NULL, 0, 8), "no such block")                                                    \
    X(tn_build_switch(a.f, a.x, equal_cases, two_blocks, 2, a.second), "tn_build_switch: two of its cases")            \
    X(tn_build_return(a.f, 0), "another type")                                                                         \
    X(tn_build_return(a.f, a.d), "another type")                                                                       \
    X(tn_build_trap(a.f), "")                                                                                          \
    X((tn_build_trap(a.f), tn_build_return(a.f, a.x)), "it has its last instruction")                                  \
    X(((void)tn_build_data(a.build, "a", 0, NULL, 0, UINT64_C(1) << 30, 1),                                            \
       tn_build_data(a.build, "b", 0, NULL, 0, UINT64_C(1) << 30, 1)),                                                 \
      "at most 2 GB")                                                                                                  \
    X(tn_build_unreachable(a.f), "")                                                                                   \
    X((tn_build_begin(a.f, a.second), flag = tn_build_unary(a.f, TN_BUILD_CTTZ, a.x), tn_build_return(a.f, flag),      \
       tn_build_begin(a.f, 1), tn_build_return(a.f, flag)),                                                            \
      "not defined on all ways")

static void judge(struct at *a, const char *call, const char *said)
{
    struct tn_error err = {0};
    int code = end(a, &err);
    if (*said ? !code || !strstr(err.text, said) : code)
        fail_msg("%s: %d, %s", call, code, err.text);
}

static void test_mistakes(void **state)
{
    static const int64_t equal_cases[] = {5, INT64_C(0x100000005)}; /* as numbers of 32 bits */
    static const uint32_t two_blocks[] = {2, 2};
    (void)state;
#define X(call, said)                                                                                                  \
    {                                                                                                                  \
        struct at a = begin();                                                                                         \
        (void)(call);                                                                                                  \
        judge(&a, #call, said);                                                                                        \
    }
    CASES(X)
#undef X
}

static void test_after_mistakes(void **state)
{
    struct tn_build *build;
    struct tn_buffer flat = {0};
    struct tn_error err;
    (void)state;
    assert_int_equal(tn_build_create(NULL, &err), TN_EINVAL);
    check(tn_build_create(&build, &err), &err);
    assert_int_equal(tn_build_finish(build, NULL, &err), TN_EINVAL);
    assert_null(tn_build_function(build, "f", 0, 99, NULL, 0));
    struct tn_build_function *f = tn_build_function(build, "f", 0, TN_BUILD_VOID, NULL, 0);
    assert_null(f);
    assert_int_equal(tn_build_block(f), 0);
    tn_build_begin(f, 1);
    tn_build_return(f, 0);
    assert_int_equal(tn_build_type_of(f, 1), TN_BUILD_VOID);
    assert_true(tn_build_is_ended(f));
    assert_int_equal(tn_build_finish(build, &flat, &err), TN_EINVAL);
    assert_int_equal(tn_build_finish(build, &flat, &err), TN_EINVAL);
    tn_build_destroy(build);
    tn_build_destroy(NULL);

    check(tn_build_create(&build, &err), &err); /* a module of nothing */
    check(tn_build_finish(build, &flat, &err), &err);
    tn_buffer_free(&flat);
    assert_int_equal(tn_build_finish(build, &flat, &err), TN_EINVAL);
    assert_int_equal(tn_build_declare(build, "f", 0), 0);
    tn_build_destroy(build);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_after_mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
