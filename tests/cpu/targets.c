/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Target strings: every error with its column, and what the good ones mean. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/os.h"
#include "cpu/cpu.h"

static const struct tn_cpu_arch *x86;
static struct tn_cpu native; /* a cascadelake whose system has all that one has */

static int setup(void **state)
{
    (void)state;
    x86 = tn_cpu_arch_find("x86-64");
    native = (struct tn_cpu){.size = sizeof native, .arch = x86, .name = "cascadelake", .cores = 1};
    native.features = tn__cpu_features_of(x86, tn__cpu_find_name(x86, "cascadelake", 11));
    return 0;
}

static struct tn_cpu_targets *parse(const char *text)
{
    struct tn_cpu_parse_options options = {sizeof options, x86, &native, "generic;haswell,clone_all", 0};
    struct tn_cpu_targets *targets = NULL;
    struct tn_error err;
    if (tn_cpu_parse_targets(text, &options, &targets, &err))
        fail_msg("%s: %s", text, err.text);
    return targets;
}

/* ---- errors ---- */

static const struct bad {
    const char *text;
    unsigned column;
    const char *words;
} bad[] = {
    {"", 1, "name of a CPU is missing"},
    {";", 1, "name of a CPU is missing"},
    {",avx2", 1, "name of a CPU is missing"},
    {"haswell;", 9, "name of a CPU is missing"},
    {"haswell;;znver2", 9, "name of a CPU is missing"},
    {"haswell,", 9, "a feature is missing"},
    {"haswell,,avx2", 9, "a feature is missing"},
    {"haswell,+", 9, "a feature is missing"},
    {"haswell,-;znver2", 9, "a feature is missing"},
    {" haswell", 1, "' ' cannot be part of a name"},
    {"haswell ", 8, "' ' cannot be part of a name"},
    {"haswell, avx2", 9, "' ' cannot be part of a name"},
    {"haswell,+-avx2", 0, NULL}, /* see below: '-' is part of names */
    {"haswell,++avx2", 10, "'+' cannot be part of a name"},
    {"haswell,avx2=1", 13, "'=' cannot be part of a name"},
    {"haswell,\xc3\xa4", 9, "byte 0xc3 cannot be part of a name"},
    {"haswell,-opt_size", 9, "cannot be switched off"},
    {"haswell,-min_size", 9, "cannot be switched off"},
    {"haswell,-help", 9, "cannot be switched off"},
    {"haswell;znver2,-base(0)", 16, "cannot be switched off"},
    {"haswell,opt_size,min_size", 18, "exclude one another"},
    {"haswell,min_size,+opt_size", 18, "exclude one another"},
    {"haswell,base", 13, "want base(N)"},
    {"haswell,-base", 9, "cannot be switched off"},
    {"haswell,base()", 14, "want base(N)"},
    {"haswell,base(", 14, "want base(N)"},
    {"haswell,base(0", 15, "want base(N)"},
    {"haswell,base(0)x", 15, "want base(N)"},
    {"haswell,base(-1)", 14, "want base(N)"},
    {"haswell,base(1)", 14, "no target before this one"},
    {"haswell;znver2,base(1)", 21, "no target before this one"},
    {"haswell;znver2,base(18446744073709551616)", 21, "no target before this one"},
    {"haswell;znver2;znver3,base(1)", 28, "target 1 (znver2) is not clone_all"},
    {"haswell;znver2,clone_all,-clone_all;znver3,base(1)", 49, "target 1 (znver2) is not clone_all"},
    {"haswell,+avx2,-avx", 9, "'avx2' cannot be"},
    {"haswell,-avx,avx2", 14, "'avx2' cannot be"},
    {"haswell,avx2,-avx2", 9, "'avx2' cannot be"},
    {"znver2;haswell,-fma,+avx512f;znver3", 21, "'avx512f' cannot be"},
    {"haswell;sysimage", 9, "stands alone"},
    {"sysimage,avx2", 1, "stands alone"},
    {"sysimage;sysimage", 10, "stands alone"},
};

static void every_error_names_its_column(void **state)
{
    (void)state;
    for (const struct bad *row = bad; row < bad + TN_COUNT(bad); row++) {
        struct tn_cpu_parse_options options = {sizeof options, x86, &native, "generic;haswell,clone_all", 0};
        struct tn_cpu_targets *targets = NULL;
        struct tn_error err;
        char place[64];
        int code = tn_cpu_parse_targets(row->text, &options, &targets, &err);
        if (!row->words) {
            assert_int_equal(code, 0);
            assert_int_equal(tn_cpu_target_at(targets, 0)->flags, TN_CPU_UNKNOWN_FEATURE);
            tn_cpu_targets_destroy(targets);
            continue;
        }
        assert_null(targets);
        snprintf(place, sizeof place, "target string, column %u: ", row->column);
        if (code != TN_EINVAL || strncmp(err.text, place, strlen(place)) != 0 || !strstr(err.text, row->words))
            fail_msg("'%s': %d, %s", row->text, code, code ? err.text : "");
    }
}

static void what_is_for_images_is_refused_elsewhere(void **state)
{
    static const struct bad rows[] = {
        {"haswell;znver2", 9, "several targets"}, {"haswell,clone_all", 9, "'clone_all'"},
        {"haswell,-clone_all", 9, "'clone_all'"}, {"haswell,opt_size", 9, "'opt_size'"},
        {"haswell,+min_size", 9, "'min_size'"},   {"haswell,base(0)", 9, "'base(0)'"},
    };
    struct tn_cpu_parse_options options = {sizeof options, x86, &native, NULL, TN_CPU_ONE_TARGET};
    struct tn_cpu_targets *targets = NULL;
    struct tn_error err;
    (void)state;
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        char start[64];
        snprintf(start, sizeof start, "target string, column %u: %s", rows[i].column, rows[i].words);
        assert_int_equal(tn_cpu_parse_targets(rows[i].text, &options, &targets, &err), TN_EINVAL);
        assert_memory_equal(err.text, start, strlen(start));
        assert_non_null(strstr(err.text, "for images"));
    }
    assert_int_equal(tn_cpu_parse_targets("native,-avx2", &options, &targets, &err), 0);
    tn_cpu_targets_destroy(targets);
}

/* native, sysimage and errors inside of what that stands for. */
static void what_is_not_known_here_is_refused(void **state)
{
    struct tn_cpu_targets *targets;
    struct tn_error err;
    struct tn_cpu_parse_options none = {.size = sizeof none, .arch = x86};
    struct tn_cpu_parse_options foreign = {sizeof foreign, tn_cpu_arch_find("riscv64"), &native, NULL, 0};
    struct tn_cpu_parse_options broken = {sizeof broken, x86, NULL, "generic;;", 0};
    struct tn_cpu_parse_options nested = {sizeof nested, x86, NULL, "sysimage", 0};
    struct tn_cpu_parse_options flags = {sizeof flags, x86, NULL, NULL, 6};
    (void)state;
    assert_int_equal(tn_cpu_parse_targets("native", &none, &targets, &err), TN_EINVAL);
    assert_int_equal(tn_cpu_parse_targets("native", &foreign, &targets, &err), TN_EINVAL);
    assert_string_equal(err.text, "target string, column 1: 'native' is not known to be a CPU of riscv64");
    assert_int_equal(tn_cpu_parse_targets("sysimage", &none, &targets, &err), TN_EINVAL);
    assert_string_equal(err.text, "target string, column 1: 'sysimage': there is no image");
    assert_int_equal(tn_cpu_parse_targets("sysimage;haswell", &broken, &targets, &err), TN_EINVAL);
    assert_string_equal(err.text, "target string of the image, column 9: the name of a CPU is missing");
    assert_int_equal(tn_cpu_parse_targets("sysimage", &nested, &targets, &err), TN_EINVAL);
    assert_int_equal(tn_cpu_parse_targets("haswell", &flags, &targets, &err), TN_EINVAL);
}

/* ---- what they mean ---- */

static const struct good {
    const char *text;
    const char *names;
    uint64_t flags;
    size_t base;
    const char *has, *lacks, *extra; /* of the last target */
} good[] = {
    {"haswell", "haswell", 0, 0, "avx2 fma bmi2 64bit sse2 x87", "xsave xsaveopt rdrnd invpcid fsgsbase", ""},
    {"core-avx2", "haswell", 0, 0, "avx2", "avx512f", ""},
    {"generic", "x86-64", 0, 0, "sse2 64bit cmov mmx fxsr cx8", "sse3 cx16", ""},
    {"x86_64;x86-64-v2", "x86-64 x86-64-v2", 0, 0, "cx16 sse4.2 popcnt", "avx", ""},
    {"generic,avx512bw", "x86-64", 0, 0, "avx512bw avx512f avx2 fma f16c avx sse4.2 sse3", "avx512vl bmi", ""},
    {"generic,+fma4", "x86-64", 0, 0, "fma4 avx sse4a", "xop", ""},
    {"skylake-avx512,-avx", "skylake-avx512", 0, 0, "sse4.2 bmi2 aes", "avx avx2 fma f16c avx512f avx512vl", ""},
    {"znver4,-sse4.1", "znver4", 0, 0, "ssse3 sse4a aes", "sse4.1 sse4.2 avx avx2 avx512f vaes", ""},
    {"haswell,+rtm", "haswell", 0, 0, "rtm avx2", "xsave rdrnd", ""},
    {"haswell,+xsaves", "haswell", 0, 0, "xsaves xsave", "xsaveopt", ""},
    {"skylake,+xsave", "skylake", 0, 0, "xsave", "xsaves xsavec", ""},
    {"haswell,-rdrnd,clone_all", "haswell", TN_CPU_CLONE_ALL, 0, "avx2", "rdrnd", ""},
    {"haswell,clone_all,-clone_all", "haswell", 0, 0, "avx2", "rdrnd", ""},
    {"haswell,+opt_size,+opt_size", "haswell", TN_CPU_OPT_SIZE, 0, "avx2", "rdrnd", ""},
    {"haswell,base(0),min_size", "haswell", TN_CPU_MIN_SIZE, 0, "avx2", "rdrnd", ""},
    {"a;b,clone_all;haswell,base(1)", "a b haswell", 0, 1, "avx2", "rdrnd", ""},
    {"a;b,clone_all;znver1,base(1);haswell", "a b znver1 haswell", 0, 0, "avx2", "sse4a", ""}, /* base is reset */
    {"a;b,clone_all;znver1,base(1),base(0)", "a b znver1", 0, 0, "avx2", "xop", ""},
    {"native", "cascadelake", 0, 0, "avx512vnni avx512vl adx", "xsaves rdseed pku", ""},
    {"native,-avx512f", "cascadelake", 0, 0, "avx2 fma", "avx512f avx512vnni", ""},
    {"sysimage", "x86-64 haswell", TN_CPU_CLONE_ALL, 0, "avx2", "rdrnd", ""},
    {"sysimage;znver2,base(1)", "x86-64 haswell znver2", 0, 1, "avx2 sse4a", "fma4", ""},
    {"haswell,+prefer-256-bit,-slow-3ops-lea", "haswell", 0, 0, "avx2", "", "+prefer-256-bit,-slow-3ops-lea"},
    {"haswell,-nothing-of-ours", "haswell", 0, 0, "avx2", "", "-nothing-of-ours"},
    {"haswell,a-new-one,+avx2,-b", "haswell", TN_CPU_UNKNOWN_FEATURE, 0, "avx2", "", "+a-new-one,-b"},
    {"vax,+avx2", "vax", TN_CPU_UNKNOWN_NAME, 0, "avx2 avx sse4.2", "", ""},
    {"help", "x86-64", TN_CPU_HELP, 0, "sse2", "", ""},
    {"haswell,help", "haswell", TN_CPU_HELP, 0, "avx2", "", ""},
};

/* Whether all, or none, of the words name features of the set. */
static void check_words(const struct tn_cpu_arch *arch, const char *words, const struct tn_cpu_set *set, bool there,
                        const char *text)
{
    for (const char *at = words; at && *at; at += strcspn(at, " "), at += *at == ' ') {
        size_t length = strcspn(at, " "), feature = tn__cpu_find_feature(arch, at, length);
        if (!feature || tn__cpu_has(set, feature) != there)
            fail_msg("'%s': %.*s %s", text, (int)length, at, there ? "is missing" : "is there");
    }
}

static void good_ones_mean_what_they_say(void **state)
{
    (void)state;
    for (const struct good *row = good; row < good + TN_COUNT(good); row++) {
        struct tn_cpu_targets *targets = parse(row->text);
        char names[128] = "";
        size_t count = tn_cpu_target_count(targets);
        for (size_t i = 0; i < count; i++) {
            strcat(names, i ? " " : "");
            strcat(names, tn_cpu_target_at(targets, i)->name);
        }
        const struct tn_cpu_target *last = tn_cpu_target_at(targets, count - 1);
        assert_string_equal(names, row->names);
        assert_int_equal(last->flags, row->flags);
        assert_int_equal(last->base, row->base);
        assert_string_equal(last->extra, row->extra);
        check_words(x86, row->has, &last->enabled, true, row->text);
        check_words(x86, row->lacks, &last->enabled, false, row->text);
        if (!(last->flags & TN_CPU_UNKNOWN_NAME))
            check_words(x86, row->lacks, &last->disabled, true, row->text);
        tn_cpu_targets_destroy(targets);
    }
}

/* What is not asked for is remembered, and nothing is enabled and disabled at once. */
static void sets_fit_together(void **state)
{
    struct tn_cpu_targets *targets = parse("haswell;haswell,+rdrnd;skylake,-xsave");
    (void)state;
    for (size_t i = 0; i < tn_cpu_target_count(targets); i++) {
        const struct tn_cpu_target *target = tn_cpu_target_at(targets, i);
        struct tn_cpu_set both = tn__cpu_common(&target->enabled, &target->disabled);
        struct tn_cpu_set all = tn__cpu_union(&target->enabled, &target->disabled);
        assert_true(tn__cpu_empty(&both));
        assert_int_equal(tn__cpu_count(&all), x86->feature_end - 1);
        both = tn__cpu_without(&target->unasked, &target->disabled);
        assert_true(tn__cpu_empty(&both));
    }
    check_words(x86, "rdrnd xsave xsaveopt", &tn_cpu_target_at(targets, 0)->unasked, true, "0");
    check_words(x86, "rdrnd", &tn_cpu_target_at(targets, 1)->unasked, false, "1");
    check_words(x86, "xsave xsavec xsaves xsaveopt", &tn_cpu_target_at(targets, 2)->unasked, false, "2");
    tn_cpu_targets_destroy(targets);
}

/* Words for several features give way to them, also where some of these cannot be seen by anybody. */
static void groups_give_way_to_their_members(void **state)
{
    static const struct {
        const char *arch, *text, *has, *lacks;
    } rows[] = {
        {"aarch64", "generic,+crypto", "aes sha2 neon", "crypto sha3"},
        {"aarch64", "generic,+v8.2a", "lse crc rdm", "v8.2a v8a pan ras ccpp fullfp16"},
        {"aarch64", "generic,+v8.2a,+pan", "lse pan", "v8.2a ras"},
        {"riscv64", "generic,+b,-zbs", "zba zbb", "b zbs"},
        {"riscv64", "generic,+zk", "zbkb zknh zkt", "zk zkn zkr"},
        {"x86-64", "generic,+avx10.2-512", "avx10.1 avx10.2 avx512fp16", "avx10.1-512 avx10.2-512"},
    };
    struct tn_error err;
    (void)state;
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        struct tn_cpu_parse_options options = {.size = sizeof options, .arch = tn_cpu_arch_find(rows[i].arch)};
        struct tn_cpu_targets *targets;
        assert_int_equal(tn_cpu_parse_targets(rows[i].text, &options, &targets, &err), 0);
        check_words(options.arch, rows[i].has, &tn_cpu_target_at(targets, 0)->enabled, true, rows[i].text);
        check_words(options.arch, rows[i].lacks, &tn_cpu_target_at(targets, 0)->enabled, false, rows[i].text);
        tn_cpu_targets_destroy(targets);
    }
}

/* What is written of a target means the same target; and every length is counted, however little room there is. */
static void targets_are_written(void **state)
{
    static const char *const rows[][2] = {
        {"x86-64",
         "x86-64;haswell,-fma,clone_all;znver4,+rtm,opt_size;core-avx2,base(1);icelake-server,-avx512f,min_size"},
        {"x86-64", "vax,+avx2,-foo;generic,+prefer-256-bit,-sse3;haswell,-xsave"},
        {"aarch64", "generic,+v8.2a,+pan;neoverse-n1,-lse;apple-m1,+sve,clone_all;generic,+crypto"},
        {"riscv64", "generic,+b,-zbs;generic-rv64,+zk;generic,+v,+zvl256b"},
    };
    struct tn_error err;
    (void)state;
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        struct tn_cpu_parse_options options = {.size = sizeof options, .arch = tn_cpu_arch_find(rows[i][0])};
        struct tn_cpu_targets *targets, *again;
        char text[4096];
        size_t length = 0;
        assert_int_equal(tn_cpu_parse_targets(rows[i][1], &options, &targets, &err), 0);
        for (size_t t = 0; t < tn_cpu_target_count(targets); t++) {
            const struct tn_cpu_target *target = tn_cpu_target_at(targets, t);
            char small[8];
            if (t)
                text[length++] = ';';
            size_t size = tn_cpu_format_target(options.arch, target, text + length, sizeof text - length);
            assert_int_equal(tn_cpu_format_target(options.arch, target, NULL, 0), size);
            assert_int_equal(tn_cpu_format_target(options.arch, target, small, sizeof small), size);
            assert_memory_equal(small, text + length, size < 7 ? size : 7);
            length += size;
        }
        assert_int_equal(tn_cpu_parse_targets(text, &options, &again, &err), 0);
        assert_int_equal(tn_cpu_target_count(again), tn_cpu_target_count(targets));
        for (size_t t = 0; t < tn_cpu_target_count(targets); t++) {
            const struct tn_cpu_target *one = tn_cpu_target_at(targets, t), *other = tn_cpu_target_at(again, t);
            assert_string_equal(one->name, other->name);
            assert_string_equal(one->extra, other->extra);
            assert_memory_equal(&one->enabled, &other->enabled, sizeof one->enabled);
            assert_true(one->flags == other->flags && one->base == other->base);
        }
        tn_cpu_targets_destroy(again);
        tn_cpu_targets_destroy(targets);
    }
    const struct tn_cpu_arch *arch = tn_cpu_arch_find("x86-64");
    struct tn_cpu_targets *targets = parse("x86-64;haswell,-avx2,+rtm,clone_all;k8,base(1)");
    char text[100];
    tn_cpu_format_target(arch, tn_cpu_target_at(targets, 1), text, sizeof text);
    assert_string_equal(text, "haswell,+rtm,-avx2,clone_all");
    tn_cpu_format_target(arch, tn_cpu_target_at(targets, 2), text, sizeof text);
    assert_string_equal(text, "k8,base(1)");
    tn_cpu_targets_destroy(targets);
}

/* Long and many; memory stays in proportion. */
static void long_strings_are_read(void **state)
{
    enum { ITEMS = 20000 };
    char *text = malloc(ITEMS * 4 + 16), *at = text + sprintf(text, "haswell");
    (void)state;
    for (int i = 0; i < ITEMS; i++)
        at += sprintf(at, ",zz%c", 'a' + i % 26);
    struct tn_cpu_targets *targets = parse(text);
    assert_int_equal(strlen(tn_cpu_target_at(targets, 0)->extra), ITEMS * 5 - 1);
    tn_cpu_targets_destroy(targets);
    at = text;
    for (int i = 0; i < ITEMS; i++)
        at += sprintf(at, "k8;");
    at[-1] = 0;
    targets = parse(text);
    assert_int_equal(tn_cpu_target_count(targets), ITEMS);
    tn_cpu_targets_destroy(targets);
    free(text);
}

/* Every allocation fails once. */
static void memory_may_run_out(void **state)
{
    struct tn_cpu_parse_options options = {sizeof options, x86, &native, "generic;haswell,clone_all", 0};
    struct tn_cpu_targets *targets;
    struct tn_error err;
    int code = TN_ENOMEM, tries = 0;
    (void)state;
    for (; code; tries++) {
        char plan[16];
        snprintf(plan, sizeof plan, "a%d", tries + 1);
        assert_int_equal(tn__os_set_faults(plan), 0);
        code =
            tn_cpu_parse_targets("sysimage;vax,+new;native,-a,-b;znver2;znver3;znver4;k8;k9", &options, &targets, &err);
        assert_true(code == 0 || code == TN_ENOMEM);
    }
    tn__os_set_faults(NULL);
    tn_cpu_targets_destroy(targets);
    assert_true(tries > 4);
}

/* Text for LLVM: what is disabled comes first, so that nothing enabled is lost. */
static void llvm_is_told_everything(void **state)
{
    char text[8192], small[8];
    struct tn_cpu_targets *targets = parse("haswell,+prefer-256-bit");
    const struct tn_cpu_target *target = tn_cpu_target_at(targets, 0);
    (void)state;
    size_t length = tn_cpu_llvm_features(x86, target, text, sizeof text);
    assert_int_equal(length, strlen(text));
    assert_true(strstr(text, "-avx512f,") && strstr(text, ",+avx2,") == strstr(text, "+avx2,") - 1);
    assert_true(strstr(text, "-avx512f") < strstr(text, "+x87"));
    assert_string_equal(text + length - strlen(",+prefer-256-bit"), ",+prefer-256-bit");
    assert_int_equal(tn_cpu_llvm_features(x86, target, small, sizeof small), length);
    assert_memory_equal(small, text, sizeof small - 1);
    tn_cpu_targets_destroy(targets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_names_its_column),
        cmocka_unit_test(what_is_for_images_is_refused_elsewhere),
        cmocka_unit_test(what_is_not_known_here_is_refused),
        cmocka_unit_test(good_ones_mean_what_they_say),
        cmocka_unit_test(sets_fit_together),
        cmocka_unit_test(groups_give_way_to_their_members),
        cmocka_unit_test(targets_are_written),
        cmocka_unit_test(long_strings_are_read),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(llvm_is_told_everything),
    };
    return cmocka_run_group_tests_name("targets", tests, setup, NULL);
}
