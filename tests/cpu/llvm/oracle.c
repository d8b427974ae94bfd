/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM as the oracle: our tables of features and CPUs say what LLVM's say, code generated for a target may use
 * exactly the features that the target has, the host is seen alike, and "native" is what it has. What differs is
 * listed with the reason. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "codegen/target/target.h"
#include "cpu/cpu.h"
#include "llvm.h"

/* ---- what differs ---- */

/* Features that are neither rows nor tuning, so nothing is ever matched with them: prefixes, by architecture. */
static const struct {
    const char *arch, *prefix, *reason;
} unknown[] = {
    {"x86-64", "16bit-mode", "not a feature of 64-bit code"},
    {"x86-64", "32bit-mode", "not a feature of 64-bit code"},
    {"x86-64", "64bit-mode", "the mode is the triple's"},
    {"x86-64", "x32", "the ABI is the triple's"},
    {"aarch64", "all", "no CPU has everything"},
    {"aarch64", "call-saved-x", "changes the ABI"},
    {"aarch64", "reserve-x", "changes the ABI"},
    {"riscv64", "reserve-x", "changes the ABI"},
    {"riscv64", "32bit", "not a feature of 64-bit code"},
    {"riscv64", "rvi20u32", "not a feature of 64-bit code"},
    {"riscv64", "experimental", "may change with the next LLVM"},
    {"riscv64", "x", "vendors' extensions that no CPU of our table has"},
    {"riscv64", "zilsd-4byte-align", "promises something of an extension that nobody can see"},
};

/* Features that a CPU has according to one side only. */
static const struct {
    const char *arch, *cpu, *feature, *reason;
} differences[] = {
    {"x86-64", "amdfam10", "mmx", "LLVM forgets it with 3DNow!; every one has it"},
    {"x86-64", "barcelona", "mmx", "the same"},
    {"aarch64", "generic", "ete", "LLVM has these two in every generic CPU, for the assembler"},
    {"aarch64", "generic", "trbe", "the same"},
};

/* Whole CPUs: ours -> what LLVM calls the same. */
static const struct {
    const char *arch, *ours, *theirs, *reason;
} renamed[] = {
    {"x86-64", "generic", "x86-64", "LLVM's is any CPU since the 386 in 64-bit mode"},
    {"x86-64", "x86_64", "x86-64", "as the triple spells it"},
    {"riscv64", "generic", NULL, "LLVM's is RV64I, which no distribution is built for"},
    {"riscv64", "rv64gc", NULL, "a name of ours for generic"},
};

/* Features of hosts that LLVM does not report at all, besides names for several others; it has no bits for them. */
static const struct {
    const char *arch, *feature, *reason;
} unreported[] = {
    {"x86-64", "x87", "every CPU has it; CPUID 1 EDX bit 0 says so"},
    {"x86-64", "nopl", "every 64-bit CPU has it"},
};

static bool llvm_knows(const struct llvm_cpu *llvm, const char *cpu)
{
    const char *name;
    for (size_t i = 0; (name = llvm_name_at(llvm, i)); i++)
        if (!strcmp(name, cpu))
            return true;
    return false;
}

/* Also the features that LLVM tunes for a CPU by, which have the CPU's name. */
static bool is_unknown(const struct tn_cpu_arch *arch, const struct llvm_cpu *llvm, const char *feature)
{
    if (llvm_knows(llvm, feature))
        return true;
    for (size_t i = 0; i < TN_COUNT(unknown); i++)
        if (!strcmp(unknown[i].arch, arch->name) && !strncmp(feature, unknown[i].prefix, strlen(unknown[i].prefix)))
            return true;
    return false;
}

static bool may_differ(const struct tn_cpu_arch *arch, const char *cpu, const char *feature)
{
    for (size_t i = 0; i < TN_COUNT(differences); i++)
        if (!strcmp(differences[i].arch, arch->name) && !strcmp(differences[i].cpu, cpu) &&
            !strcmp(differences[i].feature, feature))
            return true;
    return false;
}

static const char *their_name(const struct tn_cpu_arch *arch, const char *name)
{
    for (size_t i = 0; i < TN_COUNT(renamed); i++)
        if (!strcmp(renamed[i].arch, arch->name) && !strcmp(renamed[i].ours, name))
            return renamed[i].theirs;
    return name;
}

/* ---- help ---- */

static struct llvm_cpu *open_llvm(const struct tn_cpu_arch *arch, const char *cpu, const char *features)
{
    char triple[64];
    snprintf(triple, sizeof triple, "%s-unknown-linux-gnu", arch->triple);
    return llvm_cpu(triple, cpu, features);
}

static size_t find(const struct tn_cpu_arch *arch, const char *feature)
{
    return tn__cpu_find_feature(arch, feature, strlen(feature));
}

static size_t find_theirs(const struct llvm_cpu *llvm, const char *feature)
{
    const char *name;
    for (size_t i = 0; (name = llvm_feature_at(llvm, i)); i++)
        if (!strcmp(name, feature))
            return i;
    fail_msg("LLVM does not know the feature '%s'", feature);
    return 0;
}

/* Calls `check` for each architecture that this LLVM has. */
static void each_arch(void (*check)(const struct tn_cpu_arch *arch, const struct llvm_cpu *llvm))
{
    for (size_t a = 0; tn_cpu_arch_at(a); a++) {
        const struct llvm_cpu *llvm = open_llvm(tn_cpu_arch_at(a), "", "");
        if (llvm)
            check(tn_cpu_arch_at(a), llvm);
    }
}

/* What differs is printed, all of it, before the test fails. */
static unsigned wrong;

static void compare_bits(const struct tn_cpu_arch *arch, const struct llvm_cpu *llvm, const char *cpu,
                         const struct tn_cpu_set *ours)
{
    const char *feature;
    for (size_t i = 0; (feature = llvm_feature_at(llvm, i)); i++) {
        size_t f = find(arch, feature);
        if (f && tn__cpu_has(ours, f) != llvm_has(llvm, i) && !may_differ(arch, cpu, feature)) {
            print_error("%s, %s: %s has %s\n", arch->name, cpu, llvm_has(llvm, i) ? "only LLVM" : "LLVM does not, ours",
                        feature);
            wrong++;
        }
    }
}

/* ---- tests ---- */

static void check_features(const struct tn_cpu_arch *arch, const struct llvm_cpu *llvm)
{
    const char *feature;
    for (size_t i = 0; (feature = llvm_feature_at(llvm, i)); i++) {
        bool row = find(arch, feature), tuning = tn__cpu_is_tuning(arch, feature, strlen(feature));
        if (row ? tuning : !tuning && !is_unknown(arch, llvm, feature)) {
            print_error("%s: LLVM's feature %s %s\n", arch->name, feature,
                        row ? "has a row, but is tuning too" : "has no row");
            wrong++;
        }
    }
    for (size_t f = 1; f < arch->feature_end; f++)
        find_theirs(llvm, arch->features[f].name);
}

static void every_feature_of_llvm_is_a_row_or_known_not_to_be(void **state)
{
    (void)state;
    wrong = 0;
    each_arch(check_features);
    assert_int_equal(wrong, 0);
}

static void check_implications(const struct tn_cpu_arch *arch, const struct llvm_cpu *llvm)
{
    for (size_t f = 1; f < arch->feature_end; f++) {
        size_t theirs = find_theirs(llvm, arch->features[f].name);
        struct tn_cpu_feature row = {.size = sizeof row};
        assert_int_equal(tn_cpu_feature(arch, f, &row, NULL), 0);
        for (size_t g = 1; g < arch->feature_end; g++) {
            bool implied = llvm_implies(llvm, theirs, find_theirs(llvm, arch->features[g].name));
            if (tn__cpu_has(&row.implies, g) != implied) {
                print_error("%s: %s > %s: %s says so\n", arch->name, row.name, arch->features[g].name,
                            implied ? "only LLVM" : "not LLVM, but our table");
                wrong++;
            }
        }
    }
}

static void features_imply_what_llvm_says(void **state)
{
    (void)state;
    wrong = 0;
    each_arch(check_implications);
    assert_int_equal(wrong, 0);
}

static void check_names(const struct tn_cpu_arch *arch, const struct llvm_cpu *llvm)
{
    struct tn_cpu_set features;
    const char *name, *alias;
    for (size_t i = 0; (name = tn_cpu_name_at(arch, i, &features, &alias)); i++) {
        const char *theirs = their_name(arch, name);
        if (!theirs)
            continue;
        /* Other words are spelt for products and need not be LLVM's, but what they stand for is. */
        if (!llvm_knows(llvm, theirs)) {
            assert_non_null(alias);
            continue;
        }
        compare_bits(arch, open_llvm(arch, theirs, ""), name, &features);
    }
}

static void cpus_have_what_llvm_says(void **state)
{
    (void)state;
    wrong = 0;
    each_arch(check_names);
    assert_int_equal(wrong, 0);
}

/* Features of a target, as text for LLVM, give a subtarget with these and no others. */
static void check_target(const struct tn_cpu_arch *arch, const char *text)
{
    char features[16384];
    struct tn_error err;
    struct tn_cpu_parse_options options = {.size = sizeof options, .arch = arch};
    struct tn_cpu_targets *targets;
    if (tn_cpu_parse_targets(text, &options, &targets, &err))
        fail_msg("%s: %s", text, err.text);
    const struct tn_cpu_target *target = tn_cpu_target_at(targets, 0);
    assert_true(tn_cpu_llvm_features(arch, target, features, sizeof features) < sizeof features);
    compare_bits(arch, open_llvm(arch, target->name, features), "", &target->enabled);
    tn_cpu_targets_destroy(targets);
}

static void check_targets(const struct tn_cpu_arch *arch, const struct llvm_cpu *llvm)
{
    struct tn_cpu_set features;
    const char *name, *alias;
    char text[128];
    (void)llvm;
    for (size_t i = 0; (name = tn_cpu_name_at(arch, i, &features, &alias)); i++)
        check_target(arch, name);
    for (size_t f = 1; f < arch->feature_end; f++) {
        snprintf(text, sizeof text, "generic,+%s", arch->features[f].name);
        check_target(arch, text);
        snprintf(text, sizeof text, "%s,-%s", arch->cpus[arch->cpu_end - 1].name, arch->features[f].name);
        check_target(arch, text);
    }
}

static void code_may_use_what_the_target_has(void **state)
{
    (void)state;
    wrong = 0;
    each_arch(check_targets);
    assert_int_equal(wrong, 0);
}

static bool is_unreported(const struct tn_cpu_arch *arch, size_t f)
{
    const char *feature = arch->features[f].name;
    if (arch->features[f].kind == TN_CPU_GROUP)
        return true;
    for (size_t i = 0; i < TN_COUNT(unreported); i++)
        if (!strcmp(unreported[i].arch, arch->name) && !strcmp(unreported[i].feature, feature))
            return true;
    return false;
}

static void the_host_is_seen_alike(void **state)
{
    struct tn_error err;
    struct tn_cpu host = {.size = sizeof host};
    char *theirs = LLVMGetHostCPUFeatures(), *name = LLVMGetHostCPUName();
    (void)state;
    wrong = 0;
    assert_int_equal(tn_cpu_host(&host, &err), 0);
    struct tn_cpu_set left = host.features; /* what LLVM says nothing of */
    for (char *at = strtok(theirs, ","); at; at = strtok(NULL, ",")) {
        size_t f = find(host.arch, at + 1);
        tn__cpu_remove(&left, f);
        if (!f || tn__cpu_has(&host.features, f) == (*at == '+'))
            continue;
        print_error("host: LLVM says %s\n", at);
        wrong++;
    }
    for (size_t f = 1; f < host.arch->feature_end; f++)
        if (tn__cpu_has(&left, f) && !is_unreported(host.arch, f)) {
            print_error("host: LLVM says nothing of %s\n", host.arch->features[f].name);
            wrong++;
        }
    print_message("host: CPU %s, LLVM says %s\n", host.name, name);
    LLVMDisposeMessage(theirs);
    LLVMDisposeMessage(name);
    assert_int_equal(wrong, 0);
}

/* ---- "native" for the code generator ---- */

/* The target that is opened for a CPU; NULL: this machine. To be closed. */
static struct tn__target open_native(const struct tn_cpu_arch *arch, const struct tn_cpu *native)
{
    char triple[64];
    snprintf(triple, sizeof triple, "%s-unknown-linux-gnu", arch->triple);
    struct tn_compile_options options = {.size = sizeof options, .triple = triple, .cpu = "native", .native = native};
    struct tn__target target = {.triple = NULL};
    struct tn_error err;
    if (tn__target_open(&target, &options, "", &err))
        fail_msg("%s", err.text);
    return target;
}

/* LLVM's own detection, feature by feature, also those that only tune. They follow the name, and ours is the level
 * that the features allow where they do not confirm the model's. */
static void native_is_what_llvm_sees(void **state)
{
    const struct tn_cpu_arch *arch = tn_cpu_arch_host();
    struct tn__target target = open_native(arch, NULL);
    char *features = LLVMGetHostCPUFeatures(), *name = LLVMGetHostCPUName();
    const struct llvm_cpu *ours = open_llvm(arch, target.cpu, target.cpu_features);
    const struct llvm_cpu *theirs = open_llvm(arch, name, features);
    const char *feature;
    (void)state;
    wrong = 0;
    for (size_t i = 0; (feature = llvm_feature_at(ours, i)); i++)
        if (llvm_has(ours, i) != llvm_has(theirs, i) && (find(arch, feature) || !strcmp(name, target.cpu))) {
            print_error("native: only %s %s\n", llvm_has(ours, i) ? "we have" : "LLVM has", feature);
            wrong++;
        }
    assert_int_equal(wrong, 0);
    tn__target_close(&target);
    LLVMDisposeMessage(features);
    LLVMDisposeMessage(name);
}

/* The CPU without one feature and what depends on it is taken for exactly that. Of what programs cannot see the name
 * decides, and groups follow their members. */
static void check_native(const struct tn_cpu_arch *arch, size_t number, size_t feature)
{
    struct tn_cpu cpu = {.size = sizeof cpu, .arch = arch, .name = arch->cpus[number].name, .cores = 1};
    cpu.features = tn__cpu_features_of(arch, number);
    tn__cpu_remove(&cpu.features, feature);
    tn__cpu_close_down(arch, &cpu.features);
    struct tn__target target = open_native(arch, &cpu);
    const struct llvm_cpu *llvm = open_llvm(arch, target.cpu, target.cpu_features);
    const char *name;
    for (size_t i = 0; (name = llvm_feature_at(llvm, i)); i++) {
        size_t f = find(arch, name);
        bool has = f && tn__cpu_has(&cpu.features, f);
        if (!f || arch->features[f].kind == TN_CPU_GROUP || (!has && arch->features[f].word == TN__CPU_NOWHERE))
            continue;
        if (llvm_has(llvm, i) != has) {
            print_error("%s, %s without %s: %s is %s\n", arch->name, cpu.name, arch->features[feature].name, name,
                        has ? "off" : "on");
            wrong++;
        }
    }
    tn__target_close(&target);
}

static void check_natives(const struct tn_cpu_arch *arch, const struct llvm_cpu *llvm)
{
    (void)llvm;
    for (size_t number = 1; number < arch->cpu_end; number++)
        check_native(arch, number, number % arch->feature_end);
    for (size_t f = 1; f < arch->feature_end; f += 3)
        check_native(arch, arch->cpu_end - 1, f);
}

static void any_cpu_can_be_native(void **state)
{
    (void)state;
    wrong = 0;
    each_arch(check_natives);
    assert_int_equal(wrong, 0);
}

/* A pattern as argument: the tests that match it only, as under an emulator of another CPU. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_feature_of_llvm_is_a_row_or_known_not_to_be),
        cmocka_unit_test(features_imply_what_llvm_says),
        cmocka_unit_test(cpus_have_what_llvm_says),
        cmocka_unit_test(code_may_use_what_the_target_has),
        cmocka_unit_test(the_host_is_seen_alike),
        cmocka_unit_test(native_is_what_llvm_sees),
        cmocka_unit_test(any_cpu_can_be_native),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("oracle", tests, NULL, NULL);
}
