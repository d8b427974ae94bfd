/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The tables of an architecture and what is made of them. An architecture is one .def file of rows and one .c file beside
 * it; both compile on every host. Only host_ARCH.c runs on its own architecture, and the build picks it. */

#ifndef TENON_CPU_CPU_H
#define TENON_CPU_CPU_H

#include "base/base.h"
#include "tenon_cpu.h"

#pragma GCC visibility push(hidden)

/* ---- rows ---- */

/* Where features are seen is laid out as words. Word 0 is the same everywhere: bit n is set if gate n is open, that is if
 * the operating system keeps the registers that features behind this gate use. */
enum { TN__CPU_NOWHERE = 0, TN__CPU_GATES = 0, TN__CPU_WORDS = 20 };
enum { TN__CPU_GATE_ANY = 0 };

#define TN__CPU_BIT(n) (UINT64_C(1) << (n))

struct tn__cpu_feature {
    const char *name;
    const int16_t *implies; /* numbers, ended by 0 */
    uint64_t mask;          /* bits that all have to be set in words[word] */
    uint8_t word;           /* TN__CPU_NOWHERE: no program can see it */
    uint8_t gate;
    uint8_t kind; /* enum tn_cpu_kind */
};

/* What another one (`parent`, an index; 0: none) has, with some more and, negative, some less; ended by 0. */
struct tn__cpu_name {
    const char *name;
    const int16_t *changes;
    uint16_t parent;
};

struct tn__cpu_alias {
    const char *name;
    uint16_t cpu;
};

/* Which CPU has a model's number. The first row is taken that holds the number and whose features are all there. */
struct tn__cpu_model {
    uint64_t first, last;
    uint16_t cpu;
};

/* A feature that brings vector registers of so many bytes; the last that is there counts. */
struct tn__cpu_vector {
    uint16_t feature;
    uint16_t bytes;
};

struct tn_cpu_arch {
    const char *name, *triple; /* the triple's first part */
    const struct tn__cpu_feature *features;
    const struct tn__cpu_name *cpus; /* [0] is nobody */
    const struct tn__cpu_alias *aliases;
    const struct tn__cpu_model *models;
    const struct tn__cpu_vector *vectors;
    size_t feature_end, cpu_end, alias_count, model_count, vector_count;
    uint16_t narrowest;     /* bytes of a vector register without any of `vectors` */
    bool implies_what_runs; /* what a feature implies is there with it, even if it is not reported */
    const char *tuning;     /* LLVM's features that change no instruction set: names, a space before and behind each */
};

extern const struct tn_cpu_arch tn__cpu_x86_64, tn__cpu_aarch64, tn__cpu_riscv64;

/* ---- sets (set.c) ---- */

static inline bool tn__cpu_has(const struct tn_cpu_set *set, size_t feature)
{
    return set->words[feature / 64] >> feature % 64 & 1;
}

static inline void tn__cpu_add(struct tn_cpu_set *set, size_t feature)
{
    set->words[feature / 64] |= TN__CPU_BIT(feature % 64);
}

static inline void tn__cpu_remove(struct tn_cpu_set *set, size_t feature)
{
    set->words[feature / 64] &= ~TN__CPU_BIT(feature % 64);
}

bool tn__cpu_empty(const struct tn_cpu_set *set);
size_t tn__cpu_count(const struct tn_cpu_set *set);
struct tn_cpu_set tn__cpu_union(const struct tn_cpu_set *a, const struct tn_cpu_set *b);
struct tn_cpu_set tn__cpu_common(const struct tn_cpu_set *a, const struct tn_cpu_set *b);
struct tn_cpu_set tn__cpu_without(const struct tn_cpu_set *a, const struct tn_cpu_set *b);

/* Adds what is implied, or removes what lacks something that it implies; both until nothing changes. */
void tn__cpu_close_up(const struct tn_cpu_arch *arch, struct tn_cpu_set *set);
void tn__cpu_close_down(const struct tn_cpu_arch *arch, struct tn_cpu_set *set);

struct tn_cpu_set tn__cpu_of_kind(const struct tn_cpu_arch *arch, enum tn_cpu_kind kind);

/* Appends " a b c" to a text that already is an error's. */
void tn__cpu_append_names(struct tn_error *err, const struct tn_cpu_arch *arch, const struct tn_cpu_set *set);

/* ---- names (names.c) ---- */

/* 0: unknown. */
size_t tn__cpu_find_feature(const struct tn_cpu_arch *arch, const char *name, size_t length);
size_t tn__cpu_find_name(const struct tn_cpu_arch *arch, const char *name, size_t length);
bool tn__cpu_is_tuning(const struct tn_cpu_arch *arch, const char *name, size_t length);
struct tn_cpu_set tn__cpu_features_of(const struct tn_cpu_arch *arch, size_t cpu);

/* ---- the host (detect.c, host_ARCH.c) ---- */

/* What was seen of one core, or of all. */
struct tn__cpu_seen {
    uint64_t words[TN__CPU_WORDS];
    uint64_t model;
    uint64_t cores; /* 0: nothing yet */
    bool mixed;     /* says that other cores may differ */
};

/* Narrows `seen` to what this core has as well. Cores of several models have none. */
void tn__cpu_see(struct tn__cpu_seen *seen, const struct tn__cpu_seen *core);

/* What it amounts to. */
struct tn_cpu_set tn__cpu_detect(const struct tn_cpu_arch *arch, const struct tn__cpu_seen *seen);
/* True if it has what code for that CPU uses. */
bool tn__cpu_may_be(const struct tn_cpu_arch *arch, const struct tn_cpu_set *features, size_t cpu);
const char *tn__cpu_name_of(const struct tn_cpu_arch *arch, const struct tn_cpu_set *features, uint64_t model);

/* The architecture of this program, and what its cores show. */
extern const struct tn_cpu_arch *const tn__cpu_host_arch;
void tn__cpu_look(struct tn__cpu_seen *seen);

/* ---- x86-64 (x86_64.c): CPUID as a function, so that any CPU can be looked at anywhere ---- */

struct tn__cpuid {
    uint32_t eax, ebx, ecx, edx;
};

struct tn__cpuid_source {
    struct tn__cpuid (*cpuid)(void *context, uint32_t leaf, uint32_t subleaf);
    uint64_t (*xcr0)(void *context); /* asked only where CPUID says that it can be read */
    void *context;
};

void tn__cpu_x86_64_see(const struct tn__cpuid_source *source, struct tn__cpu_seen *core);

/* ---- AArch64 (aarch64.c) ---- */

void tn__cpu_aarch64_see(uint64_t hwcap, uint64_t hwcap2, uint64_t hwcap3, uint64_t midr, struct tn__cpu_seen *core);

/* ---- RISC-V (riscv64.c) ---- */

/* What hwprobe(2) answers by its keys 0, 1, 3 and 4; zero where it does not know. */
struct tn__cpu_riscv {
    uint64_t vendor, architecture, base, extensions;
    uint64_t vector_bytes; /* 0: no vectors */
};

void tn__cpu_riscv64_see(const struct tn__cpu_riscv *probe, struct tn__cpu_seen *core);
/* For kernels without hwprobe: the same from the letters of AT_HWCAP, and what the "isa" lines of /proc/cpuinfo all say. */
struct tn__cpu_riscv tn__cpu_riscv64_of_hwcap(uint64_t hwcap);
struct tn__cpu_riscv tn__cpu_riscv64_of_cpuinfo(const char *text);

/* ---- choosing (choose.c) ---- */

/* tn_cpu_choose for who has the targets in an array of his own. */
int tn__cpu_choose(const struct tn_cpu *cpu, const struct tn_cpu_target *targets, size_t count,
                   enum tn_cpu_verdict *verdicts, size_t *chosen, struct tn_error *err);

#pragma GCC visibility pop
#endif
