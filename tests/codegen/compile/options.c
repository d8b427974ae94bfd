/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* struct tn_compile_options: what is refused, by which words, and that each field does something. */

#include "support.h"

#include <fenv.h>

#include "tenon_cpu.h"

static const char empty[] = "define void @f() {\n  ret void\n}\n";

/* CPUs that are not this one; the small one has less than its name says. */
static struct tn_cpu neoverse, small, wide;

static int make_cpus(void **state)
{
    (void)state;
    neoverse = (struct tn_cpu){.size = sizeof neoverse, .arch = tn_cpu_arch_find("aarch64"), .name = "neoverse-n1"};
    small = (struct tn_cpu){.size = sizeof small, .arch = tn_cpu_arch_find("x86-64"), .name = "x86-64-v4"};
    wide = small;
    const char *name, *alias;
    struct tn_cpu_set features;
    for (size_t i = 0; (name = tn_cpu_name_at(small.arch, i, &features, &alias)); i++) {
        if (strcmp(name, "x86-64-v2") == 0)
            small.features = features;
        if (strcmp(name, "x86-64-v4") == 0)
            wide.features = features;
    }
    return 0;
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        struct tn_compile_options options;
        const char *says;
    } rows[] = {
        {{.size = 0}, "size 0"},
        {{.size = sizeof(size_t) - 1}, "size 7"},
        {{.size = sizeof(struct tn_compile_options) + 1}, "size "},
        {{DEFAULTS, .opt_level = -1}, "opt_level is -1"},
        {{DEFAULTS, .opt_level = 4}, "opt_level is 4"},
        {{DEFAULTS, .reloc_model = (enum tn_reloc_model)2}, "reloc_model is 2"},
        {{DEFAULTS, .code_model = (enum tn_code_model)3}, "code_model is 3"},
        {{DEFAULTS, .emit = (enum tn_emit)5}, "emit is 5"},
        {{DEFAULTS, .triple = "nonesuch-linux-gnu"}, "'nonesuch-linux-gnu'"},
        {{DEFAULTS, .triple = ""}, "''"},
        {{DEFAULTS, .triple = "wasm32-unknown-unknown"}, "'wasm32-unknown-unknown'"},
        {{X86, .cpu = "nonesuch"}, "CPU 'nonesuch'"},
        {{X86, .cpu = "help"}, "CPU 'help'"},
        {{X86, .cpu = ""}, "CPU ''"},
        {{X86, .features = "+nonesuch"}, "feature '+nonesuch'"},
        {{X86, .features = "+avx2,-nonesuch"}, "feature '-nonesuch'"},
        {{X86, .features = "+avx2,sse4.2"}, "feature 'sse4.2'"},
        {{X86, .features = "+avx2, +fma"}, "feature ' +fma'"},
        {{X86, .features = "+help"}, "feature '+help'"},
        {{X86, .features = "+"}, "feature '+'"},
        {{X86, .features = "avx2"}, "feature 'avx2'"},
        {{AARCH64, .cpu = "haswell"}, "CPU 'haswell'"},
        {{AARCH64, .cpu = "native"}, "'native'"},
        {{X86, .cpu = "native", .native = &neoverse}, "'native' is one of aarch64"},
        {{AARCH64, .code_model = TN_CODE_MEDIUM}, "medium"},
        {{RISCV, .features = "+avx2"}, "feature '+avx2'"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (rows[i].options.triple && strstr(rows[i].options.triple, "64-linux") && !built_in(&rows[i].options))
            continue;
        struct outcome outcome = compile_text(empty, &rows[i].options);
        assert_int_equal(outcome.code, TN_EINVAL);
        assert_contains(outcome.err.text, rows[i].says);
    }
}

static void accepted(void **state)
{
    (void)state;
    static const struct tn_compile_options rows[] = {
        {.size = sizeof(size_t)}, /* an older caller: what it does not know is zero */
        {.size = offsetof(struct tn_compile_options, opt_level), .opt_level = 99},
        {DEFAULTS},
        {DEFAULTS, .cpu = "native"},
        {DEFAULTS, .cpu = "generic"},
        {X86, .opt_level = 3},
        {X86, .cpu = "x86-64-v3"},
        {X86, .features = ""},
        {X86, .features = "+avx2,-fma,,"},
        {X86, .code_model = TN_CODE_MEDIUM},
        {AARCH64, .cpu = "neoverse-n1"},
        {AARCH64, .features = "+sve2"},
        {AARCH64, .code_model = TN_CODE_LARGE},
        {RISCV, .cpu = "sifive-u74"},
        {RISCV, .cpu = "generic"},
        {RISCV, .code_model = TN_CODE_MEDIUM},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (rows[i].size == sizeof rows[i] && rows[i].triple && !built_in(&rows[i]))
            continue;
        struct outcome outcome = compile_text(empty, &rows[i]);
        if (outcome.code)
            fail_msg("row %zu: %s", i, outcome.err.text);
        tn_buffer_free(&outcome.out);
    }
}

static const char sum[] = "define <8 x i32> @sum(<8 x i32> %a, <8 x i32> %b) {\n"
                          "  %c = add <8 x i32> %a, %b\n"
                          "  ret <8 x i32> %c\n}\n";
static const char sum_for_x86_64[] = "define <8 x i32> @sum(<8 x i32> %a, <8 x i32> %b) #0 {\n"
                                     "  %c = add <8 x i32> %a, %b\n"
                                     "  ret <8 x i32> %c\n}\n"
                                     "attributes #0 = { \"target-cpu\"=\"x86-64\" \"target-features\"=\"+sse2\" }\n";
static const char sum_with_avx2[] = "define <8 x i32> @sum(<8 x i32> %a, <8 x i32> %b) #0 {\n"
                                    "  %c = add <8 x i32> %a, %b\n"
                                    "  ret <8 x i32> %c\n}\n"
                                    "attributes #0 = { \"target-features\"=\"+avx2,-no-such-feature\" }\n";
static const char far_away[] = "@g = external global i32\n"
                               "define ptr @get() {\n  ret ptr @g\n}\n";
static const char nearby[] = "@g = external dso_local global i32\n"
                             "define ptr @get() {\n  ret ptr @g\n}\n";
static const char fold[] = "define i32 @seven() {\n  %p = alloca i32\n  store i32 3, ptr %p\n"
                           "  %v = load i32, ptr %p\n  %w = add i32 %v, 4\n  ret i32 %w\n}\n";
static const char must_inline[] = "define available_externally i32 @nine() alwaysinline {\n  ret i32 9\n}\n"
                                  "define i32 @get() {\n  %v = call i32 @nine()\n  ret i32 %v\n}\n";

static const char counts[] = "@own = thread_local global i32 1\n@inner = internal thread_local global i32 2\n"
                             "define i32 @get() {\n  %p = call ptr @llvm.threadlocal.address.p0(ptr @own)\n"
                             "  %q = call ptr @llvm.threadlocal.address.p0(ptr @inner)\n"
                             "  %v = load i32, ptr %p\n  store i32 %v, ptr %q\n  ret i32 %v\n}\n"
                             "!llvm.module.flags = !{!0, !1}\n"
                             "!0 = !{i32 8, !\"PIC Level\", i32 2}\n!1 = !{i32 7, !\"PIE Level\", i32 2}\n";

static const char early[] = "@own = thread_local(initialexec) global i32 1\n"
                            "define ptr @get() {\n  %p = call ptr @llvm.threadlocal.address.p0(ptr @own)\n"
                            "  ret ptr %p\n}\n";

/* Each row: a module, options, and what the assembly must and must not hold. */
static void effects(void **state)
{
    (void)state;
    static const struct {
        const char *ir;
        struct tn_compile_options options;
        const char *has, *lacks;
    } rows[] = {
        {sum, {X86, .cpu = "x86-64"}, "paddd\t%xmm", "%ymm"},
        {sum, {X86, .cpu = "generic"}, "paddd\t%xmm", "%ymm"},
        {sum, {X86, .cpu = "haswell"}, "%ymm", "%xmm"},
        {sum, {X86, .cpu = "x86-64", .features = "+avx2"}, "%ymm", "%xmm"},
        {sum, {X86, .cpu = "haswell", .features = "-avx2"}, "%xmm", NULL},
        {sum, {X86, .native = &wide}, "%ymm", "%xmm"},  /* what it has, */
        {sum, {X86, .native = &small}, "%xmm", "%ymm"}, /* whatever its name */
        {sum, {X86, .native = &small, .cpu = "native"}, "%xmm", "%ymm"},
        {sum, {X86, .native = &small, .cpu = "native", .features = "+avx2"}, "%ymm", "%xmm"},
        {sum, {X86, .native = &small, .cpu = "haswell"}, "%ymm", "%xmm"},
        {sum, {X86, .native = &neoverse}, "paddd\t%xmm", "%ymm"}, /* the baseline */
        {sum_with_avx2, {X86, .native = &small}, "%ymm", "%xmm"},
        {sum_for_x86_64, {X86}, "paddd\t%xmm", "%ymm"},            /* the function's own CPU ... */
        {sum_for_x86_64, {X86, .cpu = "haswell"}, "%ymm", "%xmm"}, /* ... unless the client names one */
        {sum_for_x86_64, {X86, .features = "+avx2"}, "%ymm", "%xmm"},
        {sum_with_avx2, {X86, .cpu = "x86-64"}, "%ymm", "%xmm"},
        {sum_with_avx2, {X86, .cpu = "x86-64", .features = "-avx2"}, "%xmm", NULL},
        {far_away, {X86}, "g@GOTPCREL(%rip)", NULL},
        {nearby, {X86}, "leaq\tg(%rip)", "GOT"},
        {nearby, {X86, .reloc_model = TN_RELOC_STATIC, .opt_level = 1}, "movl\t$g, %eax", NULL},
        {nearby, {X86, .reloc_model = TN_RELOC_STATIC, .code_model = TN_CODE_LARGE}, "movabsq\t$g, %rax", NULL},
        {far_away, {AARCH64}, ":got:g", NULL},
        {nearby, {AARCH64}, ":lo12:g", "got"},
        {nearby, {AARCH64, .reloc_model = TN_RELOC_STATIC, .code_model = TN_CODE_LARGE}, ":abs_g3:g", NULL},
        {far_away, {RISCV}, "%got_pcrel_hi(g)", NULL},
        {nearby, {RISCV, .reloc_model = TN_RELOC_STATIC}, "%hi(g)", "pcrel"},
        {nearby, {RISCV, .reloc_model = TN_RELOC_STATIC, .code_model = TN_CODE_MEDIUM}, "%pcrel_hi(g)", "got"},
        {empty, {X86, .function_sections = 1}, ".section\t.text.f,", NULL},
        {empty, {X86}, "f:", ".text.f"},
        {must_inline, {X86, .opt_level = 0}, "$9", "call"},
        {must_inline, {X86, .opt_level = 1}, "$9", "call"},
        {counts, {X86}, "TPOFF", "TLS"},
        {counts, {X86, .any_threads = 1}, "own@tlsdesc", "__tls_get_addr"},
        {counts, {X86, .any_threads = 1}, "inner@DTPOFF", "@TPOFF"},
        {counts, {X86, .any_threads = 1, .code_model = TN_CODE_LARGE}, "own@tlsdesc", "__tls_get_addr"},
        {early, {X86}, "own@GOTTPOFF", "tlsdesc"},
        {early, {X86, .any_threads = 1}, "own@tlsdesc", "TPOFF"},
        {counts, {AARCH64, .any_threads = 1}, "tlsdesc", "tprel"},
        {counts, {RISCV, .any_threads = 1}, "%tlsdesc_load_lo", "tprel"},
        {fold, {X86, .opt_level = 0}, "%rsp", "$7"},
        {fold, {X86, .opt_level = 1}, "$7", "%rsp"},
        {fold, {X86, .opt_level = 3}, "$7", "%rsp"},
        {fold, {AARCH64, .opt_level = 2}, "mov\tw0, #7", "[sp"},
        {fold, {RISCV, .opt_level = 2}, "li\ta0, 7", "(sp)"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (!built_in(&rows[i].options))
            continue;
        char *text = assembly(rows[i].ir, rows[i].options);
        if (!strstr(text, rows[i].has) || (rows[i].lacks && strstr(text, rows[i].lacks)))
            fail_msg("row %zu: want '%s' and no '%s': %s", i, rows[i].has, rows[i].lacks ? rows[i].lacks : "", text);
        free(text);
    }
}

/* Folded constants do not depend on how the thread rounds, and it keeps its flags. */
static void floating_point_environment(void **state)
{
    (void)state;
    static const char ir[] = "declare double @exp(double)\ndeclare double @log(double)\n"
                             "define double @f() {\n  %e = call double @exp(double 1.3)\n"
                             "  %l = call double @log(double 5.3)\n  %r = fmul double %e, %l\n  ret double %r\n}\n";
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    struct tn_compile_options options = {DEFAULTS, .opt_level = 2};
    char *wanted = assembly(ir, options);
    for (size_t i = 0; i < COUNT(modes); i++) {
        feclearexcept(FE_ALL_EXCEPT);
        fesetround(modes[i]);
        char *got = assembly(ir, options);
        int mode = fegetround(), flags = fetestexcept(FE_ALL_EXCEPT);
        fesetround(FE_TONEAREST);
        assert_string_equal(got, wanted);
        assert_int_equal(mode, modes[i]);
        assert_int_equal(flags, 0);
        free(got);
    }
    free(wanted);
}

/* Attributes that this LLVM does not know are refused where they ask for something, else dropped. */
static void unknown_attributes(void **state)
{
    (void)state;
    static const struct {
        const char *attributes, *says;
    } rows[] = {
        {"\"target-cpu\"=\"nonesuch\"", "function 'f' asks for the CPU 'nonesuch'"},
        {"\"tune-cpu\"=\"nonesuch\"", "function 'f' asks for the CPU 'nonesuch'"},
        {"\"target-features\"=\"+sse2,+nonesuch\"", "function 'f' asks for the feature '+nonesuch'"},
        {"\"target-features\"=\"nonesuch\"", "feature 'nonesuch'"},
        {"\"target-features\"=\"-nonesuch,+sse2,-another\"", NULL},
        {"\"target-cpu\"=\"generic\" \"tune-cpu\"=\"generic\"", NULL},
        {"\"target-features\"=\"\"", NULL},
    };
    for (size_t i = 0; i < COUNT(rows) && built_in(&(struct tn_compile_options){X86}); i++) {
        char ir[300];
        snprintf(ir, sizeof ir, "define void @f() %s { ret void }\n", rows[i].attributes);
        struct outcome outcome = compile_text(ir, &(struct tn_compile_options){X86});
        assert_int_equal(outcome.code, rows[i].says ? TN_ECOMPILE : 0);
        if (rows[i].says)
            assert_contains(outcome.err.text, rows[i].says);
        tn_buffer_free(&outcome.out);
    }
}

static void cpu_of_the_client_leaves_other_features_alone(void **state)
{
    (void)state;
    struct tn_compile_options options = {X86, .cpu = "haswell", .features = "-fma", .emit = TN_EMIT_LLVM};
    if (!built_in(&options))
        return;
    char *text = assembly(sum_for_x86_64, options);
    assert_contains(text, "\"target-cpu\"=\"haswell\"");
    assert_contains(text, "\"target-features\"=\"+sse2,-fma\"");
    free(text);
}

static void stats(void **state)
{
    (void)state;
    struct outcome outcome = compile_text(fold, NULL);
    assert_int_equal(outcome.stats.functions, 1);
    assert_int_equal(outcome.stats.instructions, 5);
    assert_true(outcome.stats.parse_ns && outcome.stats.emit_ns);
    tn_buffer_free(&outcome.out);

    static const struct {
        size_t size;
        int code;
    } rows[] = {
        {0, TN_EINVAL},
        {sizeof(struct tn_compile_stats) + 1, TN_EINVAL},
        {offsetof(struct tn_compile_stats, instructions), 0},
        {sizeof(size_t), 0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tn_compile_stats stats = {.size = rows[i].size, .instructions = 77};
        struct tn_buffer out;
        assert_int_equal(tn_compile("f", fold, sizeof fold - 1, NULL, &out, &stats, NULL), rows[i].code);
        assert_int_equal(stats.instructions, 77); /* not the caller's in any row */
        assert_int_equal(stats.size, rows[i].size);
        tn_buffer_free(&out);
    }
}

static void without_places(void **state)
{
    (void)state;
    struct tn_buffer out;
    assert_int_equal(tn_compile(NULL, empty, sizeof empty - 1, NULL, &out, NULL, NULL), 0);
    tn_buffer_free(&out);
    tn_buffer_free(&out);
    tn_buffer_free(NULL);
    assert_int_equal(tn_compile(NULL, empty, sizeof empty - 1, NULL, NULL, NULL, NULL), TN_EINVAL);
    assert_int_equal(tn_compile(NULL, NULL, 1, NULL, &out, NULL, NULL), TN_EINVAL);
    assert_null(out.data);
    assert_int_equal(tn_compile(NULL, NULL, 0, NULL, &out, NULL, NULL), 0); /* an empty module is a module */
    tn_buffer_free(&out);
}

static void what_is_built_in(void **state)
{
    (void)state;
    assert_non_null(tn_codegen_targets()[0]);
    assert_contains(tn_codegen_host_triple(), "linux");
    assert_true(strlen(tn_codegen_host_cpu()) > 0);
    assert_true(atoi(tn_codegen_llvm_version()) >= 19);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused),
        cmocka_unit_test(accepted),
        cmocka_unit_test(effects),
        cmocka_unit_test(floating_point_environment),
        cmocka_unit_test(unknown_attributes),
        cmocka_unit_test(cpu_of_the_client_leaves_other_features_alone),
        cmocka_unit_test(stats),
        cmocka_unit_test(without_places),
        cmocka_unit_test(what_is_built_in),
    };
    return cmocka_run_group_tests(tests, make_cpus, NULL);
}
