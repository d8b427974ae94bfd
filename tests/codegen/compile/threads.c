/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compilations side by side give the bytes that they give alone. The first ones run side by side as well, because
 * LLVM's targets are set up on first use. */

#include <pthread.h>

#include "support.h"

enum { THREADS = 4, ROUNDS = 12 };

/* A loop with a call, different for each seed. */
static void write_ir(char *ir, size_t size, int seed)
{
    snprintf(
        ir, size,
        "define internal i64 @step%d(i64 %%x) {\n  %%y = mul i64 %%x, %d\n  %%z = xor i64 %%y, %d\n  ret i64 %%z\n}\n"
        "define i64 @run%d(ptr %%a, i64 %%n) {\nentry:\n  br label %%loop\nloop:\n"
        "  %%i = phi i64 [ 0, %%entry ], [ %%i1, %%loop ]\n  %%s = phi i64 [ %d, %%entry ], [ %%s1, %%loop ]\n"
        "  %%p = getelementptr i64, ptr %%a, i64 %%i\n  %%v = load i64, ptr %%p\n"
        "  %%w = call i64 @step%d(i64 %%v)\n  %%s1 = add i64 %%s, %%w\n  %%i1 = add i64 %%i, 1\n"
        "  %%c = icmp slt i64 %%i1, %%n\n  br i1 %%c, label %%loop, label %%done\ndone:\n  ret i64 %%s1\n}\n",
        seed, 2 * seed + 3, seed * 77, seed, seed, seed);
}

static struct tn_compile_options options_for(int seed)
{
    static const char *const triples[] = {"x86_64-linux-gnu", "aarch64-linux-gnu", "riscv64-linux-gnu"};
    struct tn_compile_options options = {DEFAULTS, .opt_level = seed % 4, .triple = triples[seed % COUNT(triples)]};
    if (!built_in(&options))
        options.triple = NULL;
    return options;
}

static int compile_seed(int seed, struct tn_buffer *out)
{
    char ir[1000], name[20];
    struct tn_compile_options options = options_for(seed);
    write_ir(ir, sizeof ir, seed);
    snprintf(name, sizeof name, "seed%d.ll", seed);
    return tn_compile(name, ir, strlen(ir), &options, out, NULL, NULL);
}

struct work {
    int first;
    struct tn_buffer outs[ROUNDS];
    int failed;
};

static void *work(void *user)
{
    struct work *mine = user;
    for (int i = 0; i < ROUNDS; i++)
        mine->failed |= compile_seed(mine->first + i, &mine->outs[i]);
    return NULL;
}

static void side_by_side_as_alone(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    struct work works[THREADS] = {{0}};
    quiet_begin();
    for (int i = 0; i < THREADS; i++) {
        works[i].first = 5 * i; /* they overlap */
        pthread_create(&threads[i], NULL, work, &works[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    quiet_end();
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(works[i].failed, 0);
        for (int j = 0; j < ROUNDS; j++) {
            struct tn_buffer alone;
            assert_int_equal(compile_seed(works[i].first + j, &alone), 0);
            assert_int_equal(alone.size, works[i].outs[j].size);
            assert_memory_equal(alone.data, works[i].outs[j].data, alone.size);
            tn_buffer_free(&alone);
            tn_buffer_free(&works[i].outs[j]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(side_by_side_as_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
