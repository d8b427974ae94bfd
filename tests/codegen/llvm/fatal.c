/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Input that LLVM answers by ending the process: an error here, on every thread, as often as it comes, and the process
 * goes on compiling. */

#include <pthread.h>

#include "abandon.h"
#include "support.h"

static const char good[] = "define i32 @seven() {\n  ret i32 7\n}\n";

static const struct fatal {
    const char *ir;
    struct tn_compile_options options;
    const char *says;
} fatals[] = {
    {"define void @f() gc \"nonesuch\" {\n  ret void\n}\n", {DEFAULTS}, "unsupported GC: nonesuch"},
    {"declare i32 @llvm.aarch64.crc32b(i32, i32)\n"
     "define i32 @f(i32 %a) {\n  %r = call i32 @llvm.aarch64.crc32b(i32 %a, i32 1)\n  ret i32 %r\n}\n",
     {X86},
     "Cannot select: intrinsic %llvm.aarch64.crc32b"},
    {"define <vscale x 4 x i32> @f(<vscale x 4 x i32> %a) {\n"
     "  %r = add <vscale x 4 x i32> %a, %a\n  ret <vscale x 4 x i32> %r\n}\n",
     {X86},
     "scalable vector"},
    {"declare ptr @llvm.coro.begin(token, ptr)\ndeclare token @llvm.coro.id(i32, ptr, ptr, ptr)\n"
     "define ptr @f() {\n  %i = call token @llvm.coro.id(i32 0, ptr null, ptr null, ptr null)\n"
     "  %h = call ptr @llvm.coro.begin(token %i, ptr null)\n  ret ptr %h\n}\n",
     {X86},
     "Cannot select: intrinsic %llvm.coro.begin"},
    {"define void @f() {\n  ret void\n}\n", {X86, .cpu = "i386"}, "64-bit code requested"},
};

static const char *check(const struct fatal *fatal, int level)
{
    struct tn_compile_options options = fatal->options;
    options.opt_level = level;
    struct tn_buffer out;
    struct tn_error err = {0};
    int code = tn_compile("test.ll", fatal->ir, strlen(fatal->ir), &options, &out, NULL, &err);
    if (code != TN_EFATAL || err.code != TN_EFATAL || out.data || !strstr(err.text, fatal->says))
        return "a fatal input was not";
    if (tn_compile("good.ll", good, sizeof good - 1, &options, &out, NULL, &err) != (options.cpu ? TN_EFATAL : 0))
        return "good input failed after a fatal one";
    tn_buffer_free(&out);
    return NULL;
}

static bool skipped(const struct fatal *fatal)
{
    return fatal->options.triple && !built_in(&fatal->options);
}

static void contained(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(fatals); i++)
        for (int level = 0; level <= 3 && !skipped(&fatals[i]); level++) {
            struct tn_compile_options options = fatals[i].options;
            options.opt_level = level;
            uint64_t before = tn_codegen_abandoned();
            struct outcome outcome = compile_text(fatals[i].ir, &options);
            assert_int_equal(outcome.code, TN_EFATAL);
            assert_contains(outcome.err.text, fatals[i].says);
            assert_int_equal(tn_codegen_abandoned() - before, 1);
            struct outcome after = compile_text(good, NULL);
            assert_int_equal(after.code, 0);
            assert_int_equal(tn_codegen_abandoned() - before, 1);
            tn_buffer_free(&after.out);
        }
}

enum { THREADS = 4, ROUNDS = 10 };

static void *fail_again_and_again(void *first)
{
    for (size_t round = 0; round < ROUNDS; round++) {
        const struct fatal *fatal = &fatals[((size_t)first + round) % COUNT(fatals)];
        const char *problem = skipped(fatal) ? NULL : check(fatal, (int)(round % 4));
        if (problem)
            return (void *)problem;
    }
    return NULL;
}

static void on_several_threads_at_once(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    quiet_begin();
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, fail_again_and_again, (void *)i);
    const char *problem = NULL;
    for (size_t i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        problem = result ? result : problem;
    }
    quiet_end();
    if (problem)
        fail_msg("%s", problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contained),
        cmocka_unit_test(on_several_threads_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
