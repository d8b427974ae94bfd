/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* RISC-V (RV64): the tables, and decoding of what hwprobe(2) reports for all cores or, on older kernels, of AT_HWCAP
 * and the ISA strings of /proc/cpuinfo. */

#include "cpu/cpu.h"

enum { BASE = TN__CPU_GATES + 1, IMA_EXT_0, VLEN, NOWHERE = TN__CPU_NOWHERE };

#define BIT TN__CPU_BIT

#define TABLES "cpu/riscv64.def"

#define MODEL_NUMBER(vendor, architecture) ((uint64_t)(vendor) << 32 | ((architecture)&0xffffffff))
#define MODEL_ROW(vendor, architecture, id)                                                                            \
    {                                                                                                                  \
        MODEL_NUMBER(vendor, architecture), MODEL_NUMBER(vendor, architecture), id                                     \
    }

#include "cpu/tables.h"

static const struct tn__cpu_vector vectors[] = {
    {ZVL32B, 4},     {ZVL64B, 8},     {ZVL128B, 16},    {ZVL256B, 32},     {ZVL512B, 64},     {ZVL1024B, 128},
    {ZVL2048B, 256}, {ZVL4096B, 512}, {ZVL8192B, 1024}, {ZVL16384B, 2048}, {ZVL32768B, 4096}, {ZVL65536B, 8192},
};

const struct tn_cpu_arch tn__cpu_riscv64 = {
    .name = "riscv64",
    .triple = "riscv64",
    TABLE_MEMBERS,
    .vectors = vectors,
    .vector_count = TN_COUNT(vectors),
    .narrowest = 0,
    .implies_what_runs = true, /* older kernels do not name the parts of C or A */
    .tuning =
        " "
        "add-load-fusion addi-load-fusion andes45 auipc-addi-fusion auipc-load-fusion bfext-fusion "
        "conditional-cmv-fusion disable-latency-sched-heuristic disable-misched-load-clustering "
        "disable-misched-store-clustering disable-postmisched-load-clustering disable-postmisched-store-clustering "
        "dlen-factor-2 enable-vsetvli-sched-heuristic exact-asm forced-atomics ld-add-fusion log-vrgather "
        "lui-addi-fusion lui-load-fusion no-default-unroll no-sink-splat-operands no-trailing-seq-cst-fence "
        "optimized-nf2-segment-load-store optimized-nf3-segment-load-store optimized-nf4-segment-load-store "
        "optimized-nf5-segment-load-store optimized-nf6-segment-load-store optimized-nf7-segment-load-store "
        "optimized-nf8-segment-load-store optimized-zero-stride-load permissive-zalrsc predictable-select-expensive "
        "prefer-vsetvli-over-read-vlenb prefer-w-inst relax save-restore shifted-zextw-fusion "
        "short-forward-branch-ialu short-forward-branch-iload short-forward-branch-iminmax "
        "short-forward-branch-imul shxadd-load-fusion sifive7 single-element-vec-fp64 tagged-globals "
        "unaligned-scalar-mem unaligned-vector-mem use-postra-scheduler ventana-veyron vl-dependent-latency "
        "vxrm-pipeline-flush zexth-fusion zextw-fusion ",
};

void tn__cpu_riscv64_see(const struct tn__cpu_riscv *probe, struct tn__cpu_seen *core)
{
    memset(core, 0, sizeof *core);
    core->cores = 1;
    core->model = MODEL_NUMBER(probe->vendor, probe->architecture);
    core->words[TN__CPU_GATES] = BIT(TN__CPU_GATE_ANY);
    core->words[BASE] = probe->base;
    core->words[IMA_EXT_0] = probe->extensions;
    for (unsigned doublings = 0; probe->vector_bytes >> doublings >= 4; doublings++)
        core->words[VLEN] |= BIT(doublings);
}

struct tn__cpu_riscv tn__cpu_riscv64_of_hwcap(uint64_t hwcap)
{
    static const struct {
        const char *letters; /* single-letter extensions, all required */
        uint64_t base, extensions;
    } rows[] = {{"ima", BIT(0), 0}, {"fd", 0, BIT(0)}, {"c", 0, BIT(1)}, {"v", 0, BIT(2)}};
    struct tn__cpu_riscv probe = {.base = 0};
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        bool all = true;
        for (const char *letter = rows[i].letters; *letter; letter++)
            all = all && (hwcap & BIT(*letter - 'a'));
        probe.base |= all ? rows[i].base : 0;
        probe.extensions |= all ? rows[i].extensions : 0;
    }
    return probe;
}

/* The hwprobe(2) bits of the multi-letter extensions in an ISA string: "_zba_zbb". */
static uint64_t extensions_of_words(const char *at)
{
    uint64_t extensions = 0;
    while (*at == '_') {
        size_t length = strcspn(++at, "_ \t\n");
        size_t feature = tn__cpu_find_feature(&tn__cpu_riscv64, at, length);
        extensions |= features[feature].word == IMA_EXT_0 ? features[feature].mask : 0;
        at += length;
    }
    return extensions;
}

/* Parses an ISA string such as "rv64imafdc_zba_zbb", up to the end of the line. */
static struct tn__cpu_riscv of_isa(const char *isa)
{
    uint64_t letters = 0;
    struct tn__cpu_riscv nothing = {.base = 0};
    if (strncmp(isa, "rv64", 4) != 0)
        return nothing;
    for (isa += 4; *isa >= 'a' && *isa <= 'z'; isa++)
        letters |= BIT(*isa - 'a');
    struct tn__cpu_riscv probe = tn__cpu_riscv64_of_hwcap(letters);
    probe.extensions |= extensions_of_words(isa);
    return probe;
}

struct tn__cpu_riscv tn__cpu_riscv64_of_cpuinfo(const char *text)
{
    struct tn__cpu_riscv all = {.base = 0};
    bool first = true;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *colon = line + strcspn(line, ":\n");
        if (*colon != ':' || strncmp(line, "isa", 3) != 0)
            continue;
        struct tn__cpu_riscv hart = of_isa(colon + 1 + strspn(colon + 1, " \t"));
        all.base = first ? hart.base : all.base & hart.base;
        all.extensions = first ? hart.extensions : all.extensions & hart.extensions;
        first = false;
    }
    return all;
}
