/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* x86-64: the tables, and decoding of CPUID and XCR0. CPUID reports what the CPU supports, XCR0 which registers the
 * operating system saves; a feature needs both. Nothing here executes CPUID, so any CPU can be decoded on any host. */

#include "cpu/cpu.h"

/* CPUID registers: leaf, subleaf, register; E: extended leaves (0x80000000 and up). */
enum {
    L1_ECX = TN__CPU_GATES + 1,
    L1_EDX,
    L7_EBX,
    L7_ECX,
    L7_EDX,
    L7_1_EAX,
    L7_1_EDX,
    LD_1_EAX,
    L14_EBX,
    L19_EBX,
    L1E_1_EAX,
    AVX10, /* bit n: version n + 1 or later */
    E1_ECX,
    E1_EDX,
    E8_EBX,
    WORD_END,
    NOWHERE = TN__CPU_NOWHERE,
};
_Static_assert((int)WORD_END <= (int)TN__CPU_WORDS, "every register has a word");

/* Register states that the operating system has to save. */
enum { ANY = TN__CPU_GATE_ANY, YMM, ZMM, TILE, APX };

static const struct {
    uint8_t gate;
    uint64_t xcr0; /* Intel SDM volume 1, 13.1 */
} gates[] = {{YMM, 0x6}, {ZMM, 0xe6}, {TILE, 0x60000}, {APX, 0x80000}};

/* ---- tables ---- */

#define BIT TN__CPU_BIT

#define TABLES "cpu/x86_64.def"
#define FEATURE_ROW(name, word, mask, gate, kind, ...)                                                                 \
    {                                                                                                                  \
        name, (const int16_t[]){__VA_ARGS__, NONE}, mask, word, gate, TN_CPU_##kind                                    \
    }

enum { INTEL = 1, AMD };

/* One number of vendor, family and model; the latter two include their extended fields. */
#define MODEL_NUMBER(vendor, family, model) ((uint64_t)(vendor) << 32 | (uint64_t)(family) << 16 | (uint64_t)(model))
#define MODEL_ROW(vendor, family, first, last, id)                                                                     \
    {                                                                                                                  \
        MODEL_NUMBER(vendor, family, first), MODEL_NUMBER(vendor, family, last), id                                    \
    }

#include "cpu/tables.h"

static const struct tn__cpu_vector vectors[] = {{AVX, 32}, {AVX512F, 64}};

const struct tn_cpu_arch tn__cpu_x86_64 = {
    .name = "x86-64",
    .triple = "x86_64",
    TABLE_MEMBERS,
    .vectors = vectors,
    .vector_count = TN_COUNT(vectors),
    .narrowest = 16,
    .tuning =
        " "
        "allow-light-256-bit branch-hint branchfusion ermsb evex512 false-deps-getmant false-deps-lzcnt-tzcnt "
        "false-deps-mulc false-deps-mullq false-deps-perm false-deps-popcnt false-deps-range fast-11bytenop "
        "fast-15bytenop fast-7bytenop fast-bextr fast-dpwssd fast-gather fast-hops fast-imm16 fast-lzcnt fast-movbe "
        "fast-scalar-fsqrt fast-scalar-shift-masks fast-shld-rotate fast-variable-crosslane-shuffle "
        "fast-variable-perlane-shuffle fast-vector-fsqrt fast-vector-shift-masks faster-shift-than-shuffle fsrm "
        "harden-sls-ijmp harden-sls-ret idivl-to-divb idivq-to-divl inline-asm-use-gpr32 lea-sp lea-uses-ag lvi-cfi "
        "lvi-load-hardening macrofusion no-bypass-delay no-bypass-delay-blend no-bypass-delay-mov "
        "no-bypass-delay-shuffle pad-short-functions prefer-128-bit prefer-256-bit prefer-legacy-setcc "
        "prefer-mask-registers prefer-movmsk-over-vtest prefer-no-gather prefer-no-scatter retpoline "
        "retpoline-external-thunk retpoline-indirect-branches retpoline-indirect-calls sbb-dep-breaking seses "
        "slow-3ops-lea slow-incdec slow-lea slow-pmaddwd slow-pmulld slow-pmullq slow-shld slow-two-mem-ops "
        "slow-unaligned-mem-16 slow-unaligned-mem-32 soft-float sse-unaligned-mem tagged-globals "
        "tuning-fast-imm-vector-shift use-glm-div-sqrt-costs use-slm-arith-costs vzeroupper ",
};

/* ---- CPUID ---- */

#define LEAF_EXTENDED UINT32_C(0x80000000)
enum { OSXSAVE = 1 << 27, HYBRID = 1 << 15, HETEROGENEOUS = 1 << 30, HAS_AVX10 = 1 << 19 };

static struct tn__cpuid ask(const struct tn__cpuid_source *source, uint32_t last, uint32_t leaf, uint32_t subleaf)
{
    return leaf <= last ? source->cpuid(source->context, leaf, subleaf) : (struct tn__cpuid){0, 0, 0, 0};
}

static uint64_t open_gates(const struct tn__cpuid_source *source, uint32_t leaf_1_ecx)
{
    uint64_t open = BIT(ANY), xcr0 = leaf_1_ecx & OSXSAVE ? source->xcr0(source->context) : 0;
    for (size_t i = 0; i < TN_COUNT(gates); i++)
        if ((xcr0 & gates[i].xcr0) == gates[i].xcr0)
            open |= BIT(gates[i].gate);
    return open;
}

static uint64_t vendor_of(struct tn__cpuid leaf_0)
{
    static const struct {
        char text[13]; /* ebx, edx, ecx */
        uint64_t vendor;
    } vendors[] = {{"GenuineIntel", INTEL}, {"AuthenticAMD", AMD}};
    uint32_t text[3] = {leaf_0.ebx, leaf_0.edx, leaf_0.ecx};
    for (size_t i = 0; i < TN_COUNT(vendors); i++)
        if (memcmp(text, vendors[i].text, sizeof text) == 0)
            return vendors[i].vendor;
    return 0;
}

static uint64_t model_of(struct tn__cpuid leaf_0, uint32_t signature)
{
    uint64_t vendor = vendor_of(leaf_0), family = signature >> 8 & 0xf, model = signature >> 4 & 0xf;
    if (!vendor)
        return 0;
    if (family == 6 || family == 15)
        model |= (signature >> 16 & 0xf) << 4;
    if (family == 15)
        family += signature >> 20 & 0xff;
    return MODEL_NUMBER(vendor, family, model);
}

void tn__cpu_x86_64_see(const struct tn__cpuid_source *source, struct tn__cpu_seen *core)
{
    struct tn__cpuid leaf_0 = ask(source, 0, 0, 0);
    uint32_t last = leaf_0.eax, last_extended = ask(source, UINT32_MAX, LEAF_EXTENDED, 0).eax;
    struct tn__cpuid leaf_1 = ask(source, last, 1, 0), leaf_7 = ask(source, last, 7, 0);
    /* Some CPUs report data for subleaves that they do not have. */
    struct tn__cpuid leaf_7_1 = ask(source, leaf_7.eax ? last : 0, 7, 1);
    struct tn__cpuid extended_1 = ask(source, last_extended, LEAF_EXTENDED + 1, 0);
    uint32_t avx10_version = leaf_7_1.edx & HAS_AVX10 ? ask(source, last, 0x24, 0).ebx & 0xff : 0;
    uint64_t *words = core->words;
    memset(core, 0, sizeof *core);
    core->cores = 1;
    core->model = model_of(leaf_0, leaf_1.eax);
    core->mixed = (leaf_7.edx & HYBRID) || (ask(source, last_extended, LEAF_EXTENDED + 0x26, 0).eax & HETEROGENEOUS);
    words[TN__CPU_GATES] = open_gates(source, leaf_1.ecx);
    words[L1_ECX] = leaf_1.ecx;
    words[L1_EDX] = leaf_1.edx;
    words[L7_EBX] = leaf_7.ebx;
    words[L7_ECX] = leaf_7.ecx;
    words[L7_EDX] = leaf_7.edx;
    words[L7_1_EAX] = leaf_7_1.eax;
    words[L7_1_EDX] = leaf_7_1.edx;
    words[LD_1_EAX] = ask(source, last, 0xd, 1).eax;
    words[L14_EBX] = ask(source, last, 0x14, 0).ebx;
    words[L19_EBX] = ask(source, last, 0x19, 0).ebx;
    words[L1E_1_EAX] = ask(source, last, 0x1e, 1).eax;
    words[AVX10] = BIT(tn__min64(avx10_version, 63)) - 1;
    words[E1_ECX] = extended_1.ecx;
    words[E1_EDX] = extended_1.edx;
    words[E8_EBX] = ask(source, last_extended, LEAF_EXTENDED + 8, 0).ebx;
}
