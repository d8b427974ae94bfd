/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* From registers to features: CPUs that are not there, and the one that is. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/os.h"
#include "cpu/cpu.h"

static void check_words(const struct tn_cpu_arch *arch, const char *words, const struct tn_cpu_set *set, bool there)
{
    for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ') {
        size_t length = strcspn(at, " "), feature = tn__cpu_find_feature(arch, at, length);
        if (!feature || tn__cpu_has(set, feature) != there)
            fail_msg("%s: %.*s %s", arch->name, (int)length, at, there ? "is missing" : "is there");
    }
}

/* ---- x86-64 ---- */

enum { OSXSAVE = 1 << 27 };

/* A CPU as tables: leaf, subleaf, registers. Leaves that are not listed answer with ones, as if to mislead. */
struct cpu {
    struct {
        uint32_t leaf, subleaf;
        struct tn__cpuid r;
    } leaves[16];
    uint64_t xcr0;
    bool xcr0_asked;
};

static struct tn__cpuid cpuid(void *context, uint32_t leaf, uint32_t subleaf)
{
    const struct cpu *cpu = context;
    for (size_t i = 0; i < TN_COUNT(cpu->leaves); i++)
        if (cpu->leaves[i].leaf == leaf && cpu->leaves[i].subleaf == subleaf && (leaf || !i))
            return cpu->leaves[i].r;
    return (struct tn__cpuid){~0u, ~0u, ~0u, ~0u};
}

static uint64_t xcr0(void *context)
{
    struct cpu *cpu = context;
    cpu->xcr0_asked = true;
    return cpu->xcr0;
}

static struct tn_cpu_set see(struct cpu *cpu, struct tn__cpu_seen *seen)
{
    const struct tn__cpuid_source source = {cpuid, xcr0, cpu};
    struct tn__cpu_seen core;
    tn__cpu_x86_64_see(&source, &core);
    tn__cpu_see(seen, &core);
    return tn__cpu_detect(&tn__cpu_x86_64, seen);
}

static const char *name_of(const struct tn_cpu_set *set, const struct tn__cpu_seen *seen)
{
    return tn__cpu_name_of(&tn__cpu_x86_64, set, seen->model);
}

#define INTEL      0x756e6547, 0x6c65746e, 0x49656e69 /* ebx, ecx, edx */
#define EVERYTHING ~0u, ~0u, ~0u, ~0u

/* All bits set: what matters is what the system keeps. */
static struct cpu full(uint64_t xcr0, uint32_t leaf_1_ecx)
{
    return (struct cpu){.leaves = {{0, 0, {0x24, INTEL}},
                                   {1, 0, {0x000806f8, 0, leaf_1_ecx, ~0u}},
                                   {7, 0, {1, ~0u, ~0u, ~0u}},
                                   {7, 1, {EVERYTHING}},
                                   {0x24, 0, {0, 2, 0, 0}},
                                   {0x80000000, 0, {0x80000008, 0, 0, 0}}},
                        .xcr0 = xcr0};
}

static void registers_have_to_be_kept_by_the_system(void **state)
{
    static const struct {
        uint64_t xcr0;
        uint32_t ecx;
        const char *has, *lacks;
    } rows[] = {
        {0xe7, ~0u ^ OSXSAVE, "sse4.2 bmi2 gfni", "avx avx2 fma f16c vaes xsave avx512f amx-tile egpr"},
        {0, ~0u, "sse4.2 bmi2", "avx avx2 xsave avx512f"},
        {3, ~0u, "sse4.2", "avx avx2 xsave avx512f"},
        {5, ~0u, "sse4.2", "avx"}, /* only half of what AVX needs */
        {7, ~0u, "avx avx2 fma f16c vaes avxvnni sha512 xsave xsavec", "avx512f avx10.1 amx-tile egpr"},
        {0x67, ~0u, "avx2", "avx512f avx512vl"}, /* two of three */
        {0xe7, ~0u, "avx512f avx512vl avx512fp16 avx10.1 avx10.2", "amx-tile amx-int8 egpr"},
        {0xe1, ~0u, "sse4.2", "avx avx512f"},
        {0x200e7, ~0u, "avx512f", "amx-tile"},
        {0x600e7, ~0u, "avx512f amx-tile amx-fp16", "egpr"},
        {0x80007, ~0u, "egpr ndd zu avx2", "avx512f amx-tile"},
        {~0ull, ~0u, "egpr amx-tile avx512f avx10.2-512", ""},
    };
    (void)state;
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        struct cpu cpu = full(rows[i].xcr0, rows[i].ecx);
        struct tn__cpu_seen seen = {.cores = 0};
        struct tn_cpu_set set = see(&cpu, &seen);
        check_words(&tn__cpu_x86_64, rows[i].has, &set, true);
        check_words(&tn__cpu_x86_64, rows[i].lacks, &set, false);
        assert_int_equal(cpu.xcr0_asked, (rows[i].ecx & OSXSAVE) != 0); /* where it is not there it traps */
    }
}

/* Leaves behind the last are not asked, and neither are subleaves that leaf 7 does not announce. */
static void leaves_that_are_not_there_count_as_zero(void **state)
{
    struct cpu old = {.leaves = {{0, 0, {1, INTEL}}, {1, 0, {0x6fb, 0, 0x2201, ~0u}}, {0x80000000, 0, {0, 0, 0, 0}}}};
    struct tn__cpu_seen seen = {.cores = 0};
    struct tn_cpu_set set = see(&old, &seen);
    (void)state;
    check_words(&tn__cpu_x86_64, "sse2 sse3 ssse3 cx16", &set, true);
    check_words(&tn__cpu_x86_64, "64bit sahf lzcnt bmi avx2 sha512 xsaves ptwrite widekl amx-fp8 clzero avx10.1", &set,
                false);

    struct cpu no_subleaf = full(~0ull, ~0u);
    no_subleaf.leaves[2].r.eax = 0;
    memset(&seen, 0, sizeof seen);
    set = see(&no_subleaf, &seen);
    check_words(&tn__cpu_x86_64, "avx512f bmi", &set, true);
    check_words(&tn__cpu_x86_64, "avxvnni sha512 avx512bf16 egpr avx10.1", &set, false);
}

/* A feature whose ground is missing is not there, whatever its bit says. */
static void half_features_are_dropped(void **state)
{
    struct cpu cpu = full(~0ull, ~0u ^ (1u << 20) ^ (1u << 25)); /* no SSE4.2, no AES */
    struct tn__cpu_seen seen = {.cores = 0};
    struct tn_cpu_set set = see(&cpu, &seen);
    (void)state;
    check_words(&tn__cpu_x86_64, "sse4.1 bmi2 gfni", &set, true);
    check_words(&tn__cpu_x86_64, "sse4.2 crc32 avx avx2 fma avx512f aes vaes avx10.1", &set, false);
}

static void cores_are_intersected(void **state)
{
    struct cpu big = full(0xe7, ~0u), small = full(7, ~0u ^ (1u << 30));
    struct tn__cpu_seen seen = {.cores = 0};
    (void)state;
    struct tn_cpu_set set = see(&big, &seen);
    check_words(&tn__cpu_x86_64, "avx512f rdrnd", &set, true);
    assert_string_equal(name_of(&set, &seen), "sapphirerapids");
    set = see(&big, &seen);
    assert_string_equal(name_of(&set, &seen), "sapphirerapids"); /* alike */
    small.leaves[1].r.eax = 0x000b0671;
    set = see(&small, &seen);
    check_words(&tn__cpu_x86_64, "avx2 avxvnni", &set, true);
    check_words(&tn__cpu_x86_64, "avx512f rdrnd", &set, false);
    assert_string_equal(name_of(&set, &seen), "x86-64-v3"); /* two models */
    assert_int_equal(seen.cores, 3);
}

static void names_need_their_features(void **state)
{
    static const struct {
        uint32_t signature, leaf_7_ecx, leaf_7_1_eax;
        const char *name;
    } rows[] = {
        {0x00050657, ~0u, ~0u, "cooperlake"}, {0x00050657, ~0u, 0, "cascadelake"},
        {0x00050657, 0, 0, "skylake-avx512"}, {0x000806f8, ~0u, ~0u, "sapphirerapids"},
        {0x000806f8, ~0u, 0, "x86-64-v4"},                                         /* a hypervisor hides some */
        {0x000306c3, ~0u, ~0u, "haswell"},    {0x0003069c, ~0u, ~0u, "x86-64-v4"}, /* nobody */
        {0x00140000, ~0u, ~0u, "x86-64-v4"},
    };
    (void)state;
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        struct cpu cpu = full(0xe7, ~0u);
        struct tn__cpu_seen seen = {.cores = 0};
        cpu.leaves[1].r.eax = rows[i].signature;
        cpu.leaves[2].r.ecx = rows[i].leaf_7_ecx;
        cpu.leaves[3].r.eax = rows[i].leaf_7_1_eax;
        struct tn_cpu_set set = see(&cpu, &seen);
        assert_string_equal(name_of(&set, &seen), rows[i].name);
    }
}

/* The same numbers mean other CPUs elsewhere. */
static void models_belong_to_vendors(void **state)
{
    struct cpu cpu = full(7, ~0u);
    struct tn__cpu_seen seen = {.cores = 0};
    (void)state;
    cpu.leaves[0].r = (struct tn__cpuid){0x24, 0x68747541, 0x444d4163, 0x69746e65}; /* AuthenticAMD */
    cpu.leaves[1].r.eax = 0x00a20f10;
    struct tn_cpu_set set = see(&cpu, &seen);
    assert_string_equal(name_of(&set, &seen), "znver3");
    cpu.leaves[0].r.ecx++;
    memset(&seen, 0, sizeof seen);
    set = see(&cpu, &seen);
    assert_string_equal(name_of(&set, &seen), "x86-64-v3");
}

static void hybrids_say_so(void **state)
{
    struct cpu cpu = full(0xe7, ~0u);
    struct tn__cpu_seen core;
    const struct tn__cpuid_source source = {cpuid, xcr0, &cpu};
    (void)state;
    tn__cpu_x86_64_see(&source, &core);
    assert_true(core.mixed);
    cpu.leaves[2].r.edx = ~(1u << 15);
    tn__cpu_x86_64_see(&source, &core);
    assert_false(core.mixed);
    cpu.leaves[5].r.eax = 0x80000026; /* AMD's leaf, not listed: all ones */
    tn__cpu_x86_64_see(&source, &core);
    assert_true(core.mixed);
}

/* ---- the others ---- */

static void aarch64_reads_hwcaps(void **state)
{
    const struct tn_cpu_arch *arch = &tn__cpu_aarch64;
    struct tn__cpu_seen seen = {.cores = 0}, core;
    struct tn_cpu_set set;
    (void)state;
    /* A Neoverse N1; it has PMULL and AES, but only SHA1 of the pair that sha2 needs. */
    tn__cpu_aarch64_see(0x1119bfff ^ 1 << 6, 0, 0, 0x413fd0c1, &core);
    tn__cpu_see(&seen, &core);
    set = tn__cpu_detect(arch, &seen);
    check_words(arch, "neon aes lse fullfp16 dotprod crc rcpc v8a", &set, true);
    check_words(arch, "sha2 crypto sve pauth", &set, false);
    assert_string_equal(tn__cpu_name_of(arch, &set, seen.model), "generic");
    tn__cpu_aarch64_see(0x1119bfff, 0, 0, 0x413fd0c1, &seen);
    set = tn__cpu_detect(arch, &seen);
    check_words(arch, "sha2 crypto v8.1a v8.2a", &set, true);
    assert_string_equal(tn__cpu_name_of(arch, &set, seen.model), "neoverse-n1");
    /* big.LITTLE: the kernel shows the same features everywhere, the numbers differ. */
    tn__cpu_aarch64_see(0x1119bfff, 0, 0, 0x410fd050, &core);
    tn__cpu_see(&seen, &core);
    set = tn__cpu_detect(arch, &seen);
    assert_string_equal(tn__cpu_name_of(arch, &set, seen.model), "generic");
    tn__cpu_aarch64_see(~0ull, ~0ull, ~0ull, 0, &seen);
    set = tn__cpu_detect(arch, &seen);
    check_words(arch, "sve2p3 sme2p3 gcs chk v9.7a lse128", &set, true);
    check_words(arch, "pan el3 spe brbe", &set, false);
    assert_int_equal(tn_cpu_vector_size(arch, &set), 256);
}

static void riscv_reads_hwprobe_and_letters(void **state)
{
    const struct tn_cpu_arch *arch = &tn__cpu_riscv64;
    struct tn__cpu_riscv probe = {0x710, 0x8000000058000001, 1, 0x10000003f, 32};
    struct tn__cpu_seen seen;
    (void)state;
    tn__cpu_riscv64_see(&probe, &seen);
    struct tn_cpu_set set = tn__cpu_detect(arch, &seen);
    check_words(arch, "64bit i m a f d c v zba zbb zbs b zfa zca zaamo zmmul zicsr zve64d zvl256b", &set, true);
    check_words(arch, "zvl512b zfh zicond zcb zk", &set, false);
    assert_int_equal(tn_cpu_vector_size(arch, &set), 32);
    /* Vectors without the registers for them. */
    probe.vector_bytes = 0;
    tn__cpu_riscv64_see(&probe, &seen);
    set = tn__cpu_detect(arch, &seen);
    assert_int_equal(tn_cpu_vector_size(arch, &set), 16); /* V promises as much */

    static const struct {
        const char *letters, *has, *lacks;
    } rows[] = {
        {"imafdc", "64bit m a zalrsc f d c zca", "v zba"},
        {"imafdcv", "d v zvl128b", "zvl256b"},
        {"imafc", "m a c", "f d v"}, /* hwprobe has one word for both */
        {"iafdc", "c", "m a 64bit"},
        {"", "", "64bit i m a f d c v"},
    };
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        uint64_t hwcap = 0;
        for (const char *c = rows[i].letters; *c; c++)
            hwcap |= UINT64_C(1) << (*c - 'a');
        probe = tn__cpu_riscv64_of_hwcap(hwcap);
        tn__cpu_riscv64_see(&probe, &seen);
        set = tn__cpu_detect(arch, &seen);
        check_words(arch, rows[i].has, &set, true);
        check_words(arch, rows[i].lacks, &set, false);
    }
}

/* Linux before 6.4 says it in text. */
static void riscv_reads_isa_strings(void **state)
{
    const struct tn_cpu_arch *arch = &tn__cpu_riscv64;
    static const struct {
        const char *text, *has, *lacks;
    } rows[] = {
        {"processor\t: 0\nhart\t\t: 1\nisa\t\t: rv64imafdc_zicsr_zba_zbb_sstc\nmmu\t\t: sv39\n", "a d c zba zbb",
         "v zbs b"},
        {"isa\t: rv64imafdcv_zba_zbs\nuarch\t: x\n\nprocessor : 1\nisa\t: rv64imafdc_zba_zbb\n", "d zba", "v zbb zbs"},
        {"isa : rv64imac", "a c", "f d zba"}, /* no line's end */
        {"isa : rv64imafc_zb", "c", "f d zba zbb"},
        {"isa : rv32imafdc_zba\n", "", "64bit i zba"},
        {"flags : rv64imafdc_zba\nisa rv64imafdc\n", "", "64bit i zba"},
        {"", "", "64bit"},
    };
    (void)state;
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        struct tn__cpu_riscv probe = tn__cpu_riscv64_of_cpuinfo(rows[i].text);
        struct tn__cpu_seen seen;
        tn__cpu_riscv64_see(&probe, &seen);
        struct tn_cpu_set set = tn__cpu_detect(arch, &seen);
        check_words(arch, rows[i].has, &set, true);
        check_words(arch, rows[i].lacks, &set, false);
    }
}

/* ---- this machine ---- */

static void the_host_is_seen(void **state)
{
    struct tn_cpu cpu = {.size = sizeof cpu}, bad = {.size = 3};
    struct tn_error err;
    (void)state;
    assert_int_equal(tn_cpu_host(&cpu, &err), 0);
    assert_ptr_equal(cpu.arch, tn_cpu_arch_host());
    assert_true(cpu.cores >= 1);
    assert_true(tn__cpu_count(&cpu.features) > 2);
    assert_int_not_equal(tn__cpu_find_name(cpu.arch, cpu.name, strlen(cpu.name)), 0);
    assert_int_equal(tn_cpu_host(&bad, &err), TN_EINVAL);
}

static void texts_are_read(void **state)
{
    char text[8];
    (void)state;
    assert_int_equal(tn__os_read_text("/proc/self/status", text, sizeof text), 0);
    assert_memory_equal(text, "Name:\t", 6);
    assert_int_equal(strlen(text), 7);
    assert_int_equal(tn__os_read_text("/dev/null", text, sizeof text), 0);
    assert_string_equal(text, "");
    assert_int_not_equal(tn__os_read_text("/nowhere", text, sizeof text), 0);
    assert_int_not_equal(tn__os_read_text("/", text, sizeof text), 0); /* can be opened, but not read */
}

static void count(void *context)
{
    ++*(unsigned *)context;
}

static void all_cores_are_visited(void **state)
{
    unsigned visited = 0, again = 0;
    (void)state;
    tn__os_visit_cores(count, &visited);
    tn__os_visit_cores(count, &again); /* the thread may go where it might before */
    assert_true(visited >= 1);
    assert_int_equal(visited, again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers_have_to_be_kept_by_the_system),
        cmocka_unit_test(leaves_that_are_not_there_count_as_zero),
        cmocka_unit_test(half_features_are_dropped),
        cmocka_unit_test(cores_are_intersected),
        cmocka_unit_test(names_need_their_features),
        cmocka_unit_test(models_belong_to_vendors),
        cmocka_unit_test(hybrids_say_so),
        cmocka_unit_test(aarch64_reads_hwcaps),
        cmocka_unit_test(riscv_reads_hwprobe_and_letters),
        cmocka_unit_test(riscv_reads_isa_strings),
        cmocka_unit_test(the_host_is_seen),
        cmocka_unit_test(texts_are_read),
        cmocka_unit_test(all_cores_are_visited),
    };
    return cmocka_run_group_tests_name("detect", tests, NULL, NULL);
}
