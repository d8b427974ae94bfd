/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Options of a JIT: what is refused, that they are copied, and that they arrive where code is compiled. */

#include "watched_jit.h"

static const char ask[] = "declare i1 @julia.cpu.have_fma.f64()\n"
                          "define i64 @ask(i64 %unused) {\n"
                          "  %yes = call i1 @julia.cpu.have_fma.f64()\n"
                          "  %number = zext i1 %yes to i64\n"
                          "  ret i64 %number\n}\n";

static void refused(void **state)
{
    (void)state;
    static const struct tn_compile_options assembly = {DEFAULTS, .emit = TN_EMIT_ASM},
                                           level = {DEFAULTS, .opt_level = 4};
    const struct {
        struct tn_jit_options options;
        const char *says;
    } rows[] = {
        {{.size = 0}, "size 0"},
        {{.size = sizeof rows[0].options, .lazy = 1}, "on_failure"},
        {{.size = sizeof rows[0].options, .compile = &assembly}, "objects"},
        {{.size = sizeof rows[0].options, .compile = &level}, "opt_level is 4"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tn_error err;
        struct tn_jit *jit = (void *)&err;
        assert_int_equal(tn_jit_create(&rows[i].options, &jit, &err), TN_EINVAL);
        assert_contains(err.text, rows[i].says);
        assert_null(jit);
    }
    struct tn_jit *jit = create_jit(false, 0, 0);
    struct tn_error err;
    assert_int_equal(add_ir(jit, "bad.ll", "define i64 @f(", &err), TN_ECOMPILE);
    assert_contains(err.text, "bad.ll");
    struct tn_jit_module nothing = {.size = sizeof nothing};
    assert_int_equal(tn_jit_add_module(jit, NULL, &nothing, &err), TN_EINVAL);
    tn_jit_destroy(jit);
    tn_jit_destroy(NULL);
}

/* What code asks about the CPU tells apart what it was compiled for. */
static void compiles_for_the_cpu_that_it_is_given(void **state)
{
    (void)state;
    for (int with_fma = 0; with_fma < 2; with_fma++) {
        struct tn_cpu cpu = cpu_named(with_fma ? "x86-64-v3" : "x86-64-v2");
        struct tn_compile_options compile = {X86, .native = &cpu};
        struct tn_jit_options options = {.size = sizeof options, .compile = &compile};
        struct tn_jit *jit;
        assert_int_equal(tn_jit_create(&options, &jit, NULL), 0);
        add_good(jit, "ask.ll", ask);
        assert_int_equal(look_up(jit, "ask")(0), with_fma);
        tn_jit_destroy(jit);
    }
}

/* What the options point to is copied: it may hold something else when a module is compiled. */
static void options_are_copied(void **state)
{
    (void)state;
    enum { BY_NAME, BY_NATIVE, WITH_PASSES, WAYS };
    for (int way = 0; way < WAYS; way++) {
        struct {
            struct tn_jit_options options;
            struct tn_compile_options compile;
            struct tn_compile_observer observer;
            struct tn_cpu native;
            char triple[40], cpu[40], features[40], passes[40];
        } *given = malloc(sizeof *given);
        struct tn_jit *jit;
        assert_non_null(given);
        given->observer = watching;
        given->native = cpu_named("x86-64-v3");
        strcpy(given->triple, "x86_64-linux-gnu");
        strcpy(given->cpu, "x86-64");
        strcpy(given->features, "+avx2,+fma");
        strcpy(given->passes, *tn_codegen_passes());
        given->compile = (struct tn_compile_options){.size = sizeof given->compile,
                                                     .triple = given->triple,
                                                     .cpu = way == BY_NAME ? given->cpu : NULL,
                                                     .features = way == BY_NAME ? given->features : NULL,
                                                     .passes = way == WITH_PASSES ? given->passes : NULL,
                                                     .observer = &given->observer,
                                                     .native = way == BY_NATIVE ? &given->native : NULL};
        given->options = (struct tn_jit_options){.size = sizeof given->options, .compile = &given->compile};
        *seen.compiled = '\0';
        assert_int_equal(tn_jit_create(&given->options, &jit, NULL), 0);
        memset(given, 0x5a, sizeof *given);
        if (way == WITH_PASSES) {
            add_good(jit, "callee.ll", callee);
            assert_int_equal(look_up(jit, "callee")(5), 15);
            assert_compiled("callee");
        } else {
            add_good(jit, "ask.ll", ask);
            assert_int_equal(look_up(jit, "ask")(0), 1);
            assert_compiled("ask");
        }
        free(given);
        tn_jit_destroy(jit);
    }
}

static void undefined_symbols_ask_for_a_resolver(void **state)
{
    (void)state;
    struct tn_jit_options options = {.size = sizeof options};
    struct tn_jit *jit;
    struct tn_error err;
    void *address;
    assert_int_equal(tn_jit_create(&options, &jit, NULL), 0);
    add_good(jit, "calls.ll",
             "declare i64 @labs(i64)\ndefine i64 @f(i64 %x) {\n  %y = call i64 @labs(i64 %x)\n  ret i64 %y\n}\n");
    assert_int_equal(tn_jit_lookup(jit, "f", &address, &err), TN_EUNDEF);
    assert_contains(err.text, "'labs' needed by calls.ll");
    assert_contains(err.text,
                    "nothing of the program is visible to library main, which has no resolver (tn_add_resolver)");
    /* That is all it takes. */
    assert_int_equal(tn_add_resolver(tn_jit_library(jit), tn_resolve_dlsym, NULL, NULL), 0);
    assert_int_equal(look_up(jit, "f")(-5), 5);
    tn_jit_destroy(jit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused),
        cmocka_unit_test(compiles_for_the_cpu_that_it_is_given),
        cmocka_unit_test(options_are_copied),
        cmocka_unit_test(undefined_symbols_ask_for_a_resolver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
