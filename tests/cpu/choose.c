/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Which target is taken where, why not the others, and how a CPU is made smaller. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cpu/cpu.h"

/* A CPU that has exactly what its name says, groups aside, changed as a target string says. */
static struct tn_cpu machine(const char *arch_name, const char *text)
{
    const struct tn_cpu_arch *arch = tn_cpu_arch_find(arch_name);
    struct tn_cpu_parse_options options = {.size = sizeof options, .arch = arch};
    struct tn_cpu_targets *targets;
    struct tn_error err;
    if (tn_cpu_parse_targets(text, &options, &targets, &err))
        fail_msg("%s: %s", text, err.text);
    const struct tn_cpu_target *target = tn_cpu_target_at(targets, 0);
    size_t name = tn__cpu_find_name(arch, target->name, strlen(target->name));
    struct tn_cpu cpu = {.size = sizeof cpu, .arch = arch, .name = arch->cpus[name].name, .cores = 1};
    cpu.features = tn__cpu_union(&target->enabled, &target->unasked);
    tn_cpu_targets_destroy(targets);
    return cpu;
}

/* ---- rows: a machine, targets, what becomes of each ---- */

enum { C = TN_CPU_CHOSEN, L = TN_CPU_LACKS, U = TN_CPU_UNKNOWN, N = TN_CPU_NARROWER, F = TN_CPU_FEWER };
enum { R = TN_CPU_RENAMED, E = TN_CPU_EARLIER };

static const struct row {
    const char *arch, *machine, *targets;
    int verdicts[8];
    const char *missing; /* what the text of TN_ENOTSUP says */
} choices[] = {
    {"x86-64", "haswell", "generic;sandybridge,clone_all;haswell,base(1)", {N, F, C}, NULL},
    {"x86-64", "x86-64-v3", "x86-64;x86-64-v2;x86-64-v3;x86-64-v4", {N, N, C, L}, NULL},
    {"x86-64", "x86-64-v2", "x86-64;x86-64-v2;x86-64-v3;x86-64-v4", {F, C, L, L}, NULL},
    {"x86-64", "x86-64", "x86-64;x86-64-v2", {C, L}, NULL},
    {"x86-64", "k8", "x86-64-v2", {L}, "target 0 (x86-64-v2) needs: sse3 ssse3 cx16"},
    /* By features, not by name: the name of this CPU does not beat a better target, nor does it save a worse one. */
    {"x86-64", "znver3", "znver3,-avx;x86-64-v3", {N, C}, NULL},
    {"x86-64", "znver4", "znver3;skylake-avx512", {N, C}, NULL},
    {"x86-64", "haswell", "haswell,+avx512f;x86-64", {L, C}, NULL},
    /* The name breaks a tie, the place in the list the next one. */
    {"x86-64", "raptorlake", "raptorlake;meteorlake;alderlake", {C, R, R}, NULL},
    {"x86-64", "gracemont", "raptorlake;meteorlake;alderlake", {E, E, C}, NULL},
    {"x86-64", "haswell", "haswell;haswell", {E, C}, NULL},
    /* What guests of hypervisors lack of their CPU. */
    {"x86-64", "znver3,-xsaves,-rdseed,-pku", "znver3", {C}, NULL},
    {"x86-64", "skylake-avx512,-rtm,-xsavec,-clwb,-fsgsbase", "skylake-avx512", {C}, NULL},
    {"x86-64", "sapphirerapids,-amx-tile,-sgx,-shstk", "sapphirerapids", {C}, NULL},
    {"x86-64", "x86-64-v3,-cx16", "x86-64-v2;haswell", {L, L}, "every target needs cx16, which some hypervisors hide"},
    {"x86-64", "x86-64-v3,-cx16", "x86-64-v2;x86-64", {L, C}, NULL},
    /* What is asked for counts. */
    {"x86-64", "haswell,-rdrnd", "haswell,+rdrnd;haswell,-bmi2", {L, C}, NULL},
    {"x86-64", "haswell,-xsaveopt", "haswell,+xsaveopt", {L}, "target 0 (haswell) needs: xsaveopt"},
    /* What nobody knows fits nowhere; tuning is no feature. */
    {"x86-64", "znver5", "vax;haswell,+teleport;haswell,+prefer-256-bit;k8", {U, U, C, N}, NULL},
    {"x86-64", "znver5", "vax;k8,+teleport", {U, U}, "(vax) is a CPU that this version does not know"},
    {"x86-64", "znver5", "vax;k8,+teleport", {U, U}, "(k8) has features that this version does not know: +teleport"},
    {"aarch64", "grace", "generic;neoverse-n1;neoverse-v1;neoverse-v2", {N, N, N, C}, NULL},
    {"aarch64", "neoverse-v2", "neoverse-n1;neoverse-v2", {L, C}, NULL}, /* LLVM's has no AES */
    {"aarch64", "neoverse-v1", "neoverse-n1;neoverse-v2", {C, L}, NULL},
    {"aarch64", "neoverse-n1", "generic;cortex-a53;neoverse-n1;a64fx", {F, F, C, L}, NULL},
    {"aarch64", "apple-m1", "generic,+crypto;apple-m1;apple-m4", {F, C, L}, NULL},
    {"aarch64", "cortex-a53", "generic,+v8.2a", {L}, "needs: lse rdm"},
    {"riscv64", "spacemit-x60", "generic;generic,+v;spacemit-x60;sifive-x280", {N, N, C, L}, NULL},
};

static void the_best_target_is_taken(void **state)
{
    (void)state;
    for (const struct row *row = choices; row < choices + TN_COUNT(choices); row++) {
        struct tn_cpu cpu = machine(row->arch, row->machine);
        struct tn_cpu_parse_options options = {.size = sizeof options, .arch = cpu.arch};
        struct tn_cpu_targets *targets;
        struct tn_error err = {.text = ""};
        enum tn_cpu_verdict verdicts[8];
        size_t chosen = 99;
        assert_int_equal(tn_cpu_parse_targets(row->targets, &options, &targets, &err), 0);
        int code = tn_cpu_choose(&cpu, targets, verdicts, &chosen, &err);
        for (size_t i = 0; i < tn_cpu_target_count(targets); i++)
            if ((int)verdicts[i] != row->verdicts[i])
                fail_msg("%s, '%s': target %zu: %d, not %d: %s", row->machine, row->targets, i, verdicts[i],
                         row->verdicts[i], err.text);
        assert_int_equal(code, row->missing ? TN_ENOTSUP : 0);
        if (row->missing && !strstr(err.text, row->missing))
            fail_msg("%s, '%s': %s", row->machine, row->targets, err.text);
        if (!row->missing)
            assert_int_equal(verdicts[chosen], TN_CPU_CHOSEN);
        tn_cpu_targets_destroy(targets);
    }
}

/* Against the rule as it is written: over all pairs of names, on every CPU, what is taken fits and no fitting one is
 * better. */
static void nothing_better_is_left(void **state)
{
    const struct tn_cpu_arch *arch = tn_cpu_arch_find("x86-64");
    struct tn_cpu_set features;
    const char *name, *alias;
    char text[4096] = "";
    struct tn_cpu_targets *targets;
    struct tn_error err;
    (void)state;
    for (size_t i = 0; (name = tn_cpu_name_at(arch, i, &features, &alias)); i++) {
        strcat(text, i ? ";" : "");
        strcat(text, name);
    }
    struct tn_cpu_parse_options options = {.size = sizeof options, .arch = arch};
    assert_int_equal(tn_cpu_parse_targets(text, &options, &targets, &err), 0);
    for (size_t i = 0; (name = tn_cpu_name_at(arch, i, &features, &alias)); i++) {
        struct tn_cpu cpu = machine("x86-64", name);
        size_t chosen;
        assert_int_equal(tn_cpu_choose(&cpu, targets, NULL, &chosen, &err), 0);
        const struct tn_cpu_target *best = tn_cpu_target_at(targets, chosen);
        for (size_t t = 0; t < tn_cpu_target_count(targets); t++) {
            const struct tn_cpu_target *other = tn_cpu_target_at(targets, t);
            struct tn_cpu_set missing;
            tn_cpu_missing(&cpu, other, &missing);
            if (!tn__cpu_empty(&missing)) {
                assert_int_not_equal(t, chosen);
                continue;
            }
            size_t width = tn_cpu_vector_size(arch, &other->enabled),
                   best_width = tn_cpu_vector_size(arch, &best->enabled);
            assert_true(width <= best_width);
            assert_true(width < best_width || tn__cpu_count(&other->enabled) <= tn__cpu_count(&best->enabled));
        }
    }
    tn_cpu_targets_destroy(targets);
}

static void foreign_targets_are_refused(void **state)
{
    struct tn_cpu cpu = machine("aarch64", "generic");
    struct tn_cpu_parse_options options = {.size = sizeof options, .arch = tn_cpu_arch_find("x86-64")};
    struct tn_cpu_targets *targets;
    struct tn_error err;
    size_t chosen;
    (void)state;
    assert_int_equal(tn_cpu_parse_targets("generic", &options, &targets, &err), 0);
    assert_int_equal(tn_cpu_choose(&cpu, targets, NULL, &chosen, &err), TN_EINVAL);
    assert_string_equal(err.text, "targets for x86-64, but the CPU is aarch64");
    tn_cpu_targets_destroy(targets);
}

/* An image from the future: bits behind our table keep it away and are named by number. */
static void unknown_bits_are_missing(void **state)
{
    struct tn_cpu cpu = machine("x86-64", "znver5");
    struct tn_cpu_target target = {.size = sizeof target, .name = "znver6", .extra = ""};
    enum tn_cpu_verdict verdict;
    struct tn_error err;
    size_t chosen;
    (void)state;
    tn__cpu_add(&target.enabled, 300);
    assert_int_equal(tn__cpu_choose(&cpu, &target, 1, &verdict, &chosen, &err), TN_ENOTSUP);
    assert_string_equal(err.text, "no compatible target for this CPU (znver5)\n  target 0 (znver6) needs: #300");
    assert_int_equal(tn__cpu_choose(&cpu, &target, 0, &verdict, &chosen, &err), TN_ENOTSUP);
}

/* Of hypervisors only where cx16 is missing. */
static void other_features_are_not_hidden(void **state)
{
    struct tn_cpu cpu = machine("x86-64", "x86-64-v3");
    struct tn_cpu_parse_options options = {.size = sizeof options, .arch = cpu.arch};
    struct tn_cpu_targets *targets;
    struct tn_error err;
    size_t chosen;
    (void)state;
    assert_int_equal(tn_cpu_parse_targets("x86-64-v4;znver5", &options, &targets, &err), 0);
    assert_int_equal(tn_cpu_choose(&cpu, targets, NULL, &chosen, &err), TN_ENOTSUP);
    assert_null(strstr(err.text, "hypervisors"));
    tn_cpu_targets_destroy(targets);
}

/* ---- vectors ---- */

static void vectors_are_limited(void **state)
{
    static const struct {
        const char *arch, *cpu;
        size_t bytes, limit;
        const char *keeps, *loses;
    } rows[] = {
        {"x86-64", "znver4", 64, 64, "avx512f", ""},
        {"x86-64", "znver4", 64, 63, "avx2 vaes fma", "avx512f avx512bf16 avx512vl"},
        {"x86-64", "znver4", 64, 32, "avx2 vaes fma", "avx512f"},
        {"x86-64", "znver4", 64, 16, "sse4.2 aes bmi2", "avx avx2 vaes fma avx512f"},
        {"x86-64", "x86-64-v2", 16, 16, "sse4.2", ""},
        {"aarch64", "neoverse-v2", 256, 128, "sve neon", "sve2 sve2-bitperm"},
        {"aarch64", "neoverse-v2", 256, 16, "neon", "sve sve2"},
        {"riscv64", "sifive-x280", 64, 16, "v zvl128b", "zvl256b zvl512b"},
    };
    (void)state;
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        struct tn_cpu cpu = machine(rows[i].arch, rows[i].cpu);
        assert_int_equal(tn_cpu_vector_size(cpu.arch, &cpu.features), rows[i].bytes);
        tn_cpu_limit_vectors(cpu.arch, &cpu.features, rows[i].limit);
        assert_true(tn_cpu_vector_size(cpu.arch, &cpu.features) <= rows[i].limit);
        for (int keeps = 0; keeps < 2; keeps++)
            for (const char *at = keeps ? rows[i].keeps : rows[i].loses; *at;
                 at += strcspn(at, " "), at += *at == ' ') {
                size_t feature = tn__cpu_find_feature(cpu.arch, at, strcspn(at, " "));
                assert_int_not_equal(feature, 0);
                assert_int_equal(tn__cpu_has(&cpu.features, feature), keeps);
            }
    }
}

/* ---- a smaller CPU ---- */

static void a_cpu_is_limited(void **state)
{
    static const struct {
        const char *machine, *limit;
        const char *name, *best, *error; /* the best of x86-64;-v2;-v3;-v4, or what the error says */
    } rows[] = {
        {"znver4", NULL, "znver4", "x86-64-v4", NULL},
        {"znver4", "", "znver4", "x86-64-v4", NULL},
        {"znver4", "native", "znver4", "x86-64-v4", NULL},
        {"znver4", "znver3", "znver3", "x86-64-v3", NULL},
        {"znver4", "x86-64-v3", "x86-64-v3", "x86-64-v3", NULL},
        {"znver4", "haswell,-avx", "x86-64-v2", "x86-64-v2", NULL},
        {"znver4", "native,-avx512f", "x86-64-v3", "x86-64-v3", NULL},
        {"znver4", "generic", "x86-64", "x86-64", NULL},
        {"znver4", "generic,+sse3", "x86-64", "x86-64", NULL},
        {"znver4", "znver5", NULL, NULL,
         "the CPU (znver4) cannot be limited to 'znver5', which is more than it has: "
         "avx512vp2intersect avxvnni"},
        {"haswell", "native,+avx512f", NULL, NULL, "which is more than it has: avx512f"},
        {"haswell,-rdrnd", "native,+rdrnd", NULL, NULL, "which is more than it has: rdrnd"},
        {"haswell", "vax", NULL, NULL, "names that this version does not know"},
        {"haswell", "generic,+teleport", NULL, NULL, "names that this version does not know"},
        {"haswell", "native,-teleport", NULL, NULL, "names that this version does not know"},
        {"haswell", "native,+prefer-256-bit", NULL, NULL, "names that this version does not know"},
        {"haswell", "help", NULL, NULL, "names that this version does not know"},
        {"haswell", "generic;haswell", NULL, NULL, "column 9: several targets"},
        {"haswell", "generic,clone_all", NULL, NULL, "column 9: 'clone_all' is for images"},
    };
    struct tn_cpu_parse_options options = {.size = sizeof options, .arch = tn_cpu_arch_find("x86-64")};
    struct tn_cpu_targets *targets;
    struct tn_error err;
    (void)state;
    assert_int_equal(tn_cpu_parse_targets("x86-64;x86-64-v2;x86-64-v3;x86-64-v4", &options, &targets, &err), 0);
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        struct tn_cpu cpu = machine("x86-64", rows[i].machine), before = cpu;
        size_t chosen;
        int code = tn_cpu_limit(&cpu, rows[i].limit, &err);
        assert_int_equal(code, rows[i].error ? TN_EINVAL : 0);
        if (rows[i].error) {
            assert_memory_equal(&cpu, &before, sizeof cpu);
            if (!strstr(err.text, rows[i].error))
                fail_msg("%s: %s", rows[i].limit, err.text);
            continue;
        }
        struct tn_cpu_set more = tn__cpu_without(&cpu.features, &before.features);
        assert_true(tn__cpu_empty(&more));
        assert_string_equal(cpu.name, rows[i].name);
        assert_int_equal(tn_cpu_choose(&cpu, targets, NULL, &chosen, &err), 0);
        assert_string_equal(tn_cpu_target_at(targets, chosen)->name, rows[i].best);
    }
    tn_cpu_targets_destroy(targets);
}

/* What a name stands for without code using it is there on the smaller CPU as well: it may be asked for. */
static void a_limited_cpu_has_all_of_its_name(void **state)
{
    struct tn_cpu cpu = machine("x86-64", "znver4");
    struct tn_cpu_set before = cpu.features;
    struct tn_error err;
    (void)state;
    assert_int_equal(tn_cpu_limit(&cpu, "haswell", &err), 0);
    assert_true(tn__cpu_has(&cpu.features, tn__cpu_find_feature(cpu.arch, "rdrnd", 5)));
    assert_false(tn__cpu_has(&cpu.features, tn__cpu_find_feature(cpu.arch, "rdseed", 6)));
    assert_true(tn__cpu_has(&before, tn__cpu_find_feature(cpu.arch, "rdseed", 6)));
    assert_int_equal(tn_cpu_limit(&cpu, "haswell,+rdrnd", &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_target_is_taken),      cmocka_unit_test(nothing_better_is_left),
        cmocka_unit_test(foreign_targets_are_refused),   cmocka_unit_test(unknown_bits_are_missing),
        cmocka_unit_test(vectors_are_limited),           cmocka_unit_test(a_cpu_is_limited),
        cmocka_unit_test(other_features_are_not_hidden), cmocka_unit_test(a_limited_cpu_has_all_of_its_name),
    };
    return cmocka_run_group_tests_name("choose", tests, NULL, NULL);
}
