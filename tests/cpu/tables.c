/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The tables of all architectures: what code relies on, and that numbers of features stay what they are. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cpu/cpu.h"

static void each_arch(void (*check)(const struct tn_cpu_arch *arch))
{
    for (size_t i = 0; tn_cpu_arch_at(i); i++)
        check(tn_cpu_arch_at(i));
}

static void check_features(const struct tn_cpu_arch *arch)
{
    for (size_t f = 1; f < arch->feature_end; f++) {
        const struct tn__feature_row *row = &arch->features[f];
        assert_int_equal(tn__cpu_find_feature(arch, row->name, strlen(row->name)), f); /* so no name is there twice */
        assert_in_range(row->kind, TN_CPU_CODE, TN_CPU_GROUP);
        assert_int_equal(row->word == TN__CPU_NOWHERE, row->mask == 0);
        assert_true(row->word < TN__CPU_WORDS);
        if (row->kind == TN_CPU_GROUP)
            assert_true(row->word == TN__CPU_NOWHERE && *row->implies);
        for (const int16_t *i = row->implies; *i; i++) {
            assert_in_range(*i, 1, arch->feature_end - 1);
            /* Else a name would lose what it has for the sake of what nobody asked for. */
            if (row->kind == TN_CPU_CODE)
                assert_int_equal(arch->features[*i].kind, TN_CPU_CODE);
        }
    }
}

static void features_are_sound(void **state)
{
    (void)state;
    each_arch(check_features);
}

static void check_names(const struct tn_cpu_arch *arch)
{
    struct tn_cpu_set features;
    const char *name, *alias;
    size_t count = 0;
    for (; (name = tn_cpu_name_at(arch, count, &features, &alias)); count++) {
        struct tn_cpu_set up = features, down = features;
        tn__cpu_close_up(arch, &up);
        tn__cpu_close_down(arch, &down);
        assert_memory_equal(&up, &features, sizeof up);
        assert_memory_equal(&down, &features, sizeof down);
        size_t cpu = tn__cpu_find_name(arch, name, strlen(name));
        assert_string_equal(arch->cpus[cpu].name, alias ? alias : name);
        assert_true(arch->cpus[cpu].parent < cpu); /* so parents come to an end */
    }
    assert_true(count > 30);
    assert_int_not_equal(tn__cpu_find_name(arch, "generic", 7), 0);
    assert_int_equal(tn__cpu_find_name(arch, "generi", 6), 0);
    assert_int_equal(tn__cpu_find_name(arch, "", 0), 0);
}

static void names_are_sound(void **state)
{
    (void)state;
    each_arch(check_names);
}

/* Both directions against their definition: every single feature, added to nothing and taken from everything. */
static void check_closures(const struct tn_cpu_arch *arch)
{
    struct tn_cpu_set all = {{0}};
    for (size_t f = 1; f < arch->feature_end; f++)
        tn__cpu_add(&all, f);
    for (size_t f = 1; f < arch->feature_end; f++) {
        struct tn_cpu_set up = {{0}}, down = all;
        tn__cpu_add(&up, f);
        tn__cpu_close_up(arch, &up);
        tn__cpu_remove(&down, f);
        tn__cpu_close_down(arch, &down);
        for (size_t g = 1; g < arch->feature_end; g++) {
            struct tn_cpu_set of_g = {{0}};
            tn__cpu_add(&of_g, g);
            tn__cpu_close_up(arch, &of_g);
            /* g is gone without f if and only if it needs f. */
            assert_int_equal(tn__cpu_has(&down, g), !tn__cpu_has(&of_g, f));
            for (const int16_t *i = arch->features[g].implies; *i && tn__cpu_has(&up, g); i++)
                assert_true(tn__cpu_has(&up, (size_t)*i));
        }
    }
}

static void closures_are_complete_and_minimal(void **state)
{
    (void)state;
    each_arch(check_closures);
}

/* FNV-1a over the names in order. Rows are only appended: then TN_CPU_TABLES grows by one, and these by three. */
static const struct {
    const char *arch;
    int tables;
    size_t end;
    uint64_t hash;
} published[] = {
    {"x86-64", 1, 119, 0x2cfe65398a6d0669},
    {"aarch64", 1, 173, 0x420021381671433c},
    {"riscv64", 1, 179, 0x7647461892bbe983},
};

static uint64_t hash_names(const struct tn_cpu_arch *arch, size_t end)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t f = 1; f < end; f++)
        for (const char *c = arch->features[f].name;; c++) {
            hash = (hash ^ (uint8_t)*c) * 0x100000001b3;
            if (!*c)
                break;
        }
    return hash;
}

static void numbers_stay(void **state)
{
    (void)state;
    for (size_t p = 0; p < TN_COUNT(published); p++) {
        const struct tn_cpu_arch *arch = tn_cpu_arch_find(published[p].arch);
        assert_in_range(published[p].end, 1, arch->feature_end);
        uint64_t hash = hash_names(arch, published[p].end);
        bool current = published[p].tables == TN_CPU_TABLES;
        if (hash != published[p].hash || (current && published[p].end != arch->feature_end))
            fail_msg("%s: features end at %zu, hash 0x%016llx", arch->name, arch->feature_end,
                     (unsigned long long)hash);
    }
    assert_int_equal(published[TN_COUNT(published) - 1].tables, TN_CPU_TABLES);
}

static void architectures_are_found(void **state)
{
    (void)state;
    const struct tn_cpu_arch *x86 = tn_cpu_arch_at(0);
    assert_ptr_equal(tn_cpu_arch_find("x86-64"), x86);
    assert_ptr_equal(tn_cpu_arch_find("x86_64"), x86);
    assert_ptr_equal(tn_cpu_arch_find("x86_64-linux-gnu"), x86);
    assert_null(tn_cpu_arch_find("x86_64h-apple"));
    assert_null(tn_cpu_arch_find("x86"));
    assert_null(tn_cpu_arch_find(""));
    assert_string_equal(tn_cpu_arch_name(tn_cpu_arch_find("aarch64-unknown-linux-musl")), "aarch64");
    assert_non_null(tn_cpu_arch_host());
    assert_null(tn_cpu_arch_at(3));
}

/* Numbers of a newer table are printed as numbers; short buffers are filled and ended; the length is the whole
 * one's. */
static void sets_are_printed(void **state)
{
    const struct tn_cpu_arch *arch = tn_cpu_arch_find("x86-64");
    struct tn_cpu_set set = {{0}};
    char text[32];
    (void)state;
    assert_int_equal(tn_cpu_format(arch, &set, text, sizeof text), 0);
    assert_string_equal(text, "");
    tn__cpu_add(&set, 1);
    tn__cpu_add(&set, tn__cpu_find_feature(arch, "avx2", 4));
    tn__cpu_add(&set, 511);
    assert_int_equal(tn_cpu_format(arch, &set, text, sizeof text), 13);
    assert_string_equal(text, "x87 avx2 #511");
    assert_int_equal(tn_cpu_format(arch, &set, text, 14), 13);
    assert_string_equal(text, "x87 avx2 #511");
    assert_int_equal(tn_cpu_format(arch, &set, text, 13), 13);
    assert_string_equal(text, "x87 avx2 #51");
    assert_int_equal(tn_cpu_format(arch, &set, text, 4), 13);
    assert_string_equal(text, "x87");
    assert_int_equal(tn_cpu_format(arch, &set, text, 1), 13);
    assert_string_equal(text, "");
    assert_int_equal(tn_cpu_format(arch, &set, NULL, 0), 13);
}

static void numbers_that_are_none_are_refused(void **state)
{
    const struct tn_cpu_arch *arch = tn_cpu_arch_find("x86-64");
    struct tn_cpu_feature feature = {.size = sizeof feature};
    struct tn_error err;
    (void)state;
    assert_int_equal(tn_cpu_feature(arch, 0, &feature, &err), TN_EINVAL);
    assert_int_equal(tn_cpu_feature(arch, tn_cpu_feature_end(arch), &feature, &err), TN_EINVAL);
    assert_int_equal(tn_cpu_feature(arch, tn_cpu_feature_end(arch) - 1, &feature, &err), 0);
    assert_int_equal(tn_cpu_feature(arch, 1, &feature, &err), 0);
    assert_string_equal(feature.name, "x87");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_are_sound),
        cmocka_unit_test(names_are_sound),
        cmocka_unit_test(closures_are_complete_and_minimal),
        cmocka_unit_test(numbers_stay),
        cmocka_unit_test(architectures_are_found),
        cmocka_unit_test(sets_are_printed),
        cmocka_unit_test(numbers_that_are_none_are_refused),
    };
    return cmocka_run_group_tests_name("tables", tests, NULL, NULL);
}
