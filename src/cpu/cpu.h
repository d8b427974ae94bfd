/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The tables of an architecture and what is computed from them. An architecture is one .def file of rows and the .c
 * file next to it; both compile on every host. Only host_ARCH.c is specific to the host; the build picks it. */

#ifndef TENON_CPU_CPU_H
#define TENON_CPU_CPU_H

#include <stdio.h>

#include "base/base.h"
#include "tenon_cpu.h"

#pragma GCC visibility push(hidden)

/* ---- rows ---- */

/* What the hardware reports is laid out as words, which features refer to. Word 0 is common to all architectures: bit n
 * is set if gate n is open, that is if the operating system saves the registers that the features behind this gate
 * use. */
enum { TN__CPU_NOWHERE = 0, TN__CPU_GATES = 0, TN__CPU_WORDS = 20 };
enum { TN__CPU_GATE_ANY = 0 };

#define TN__CPU_BIT(n) (UINT64_C(1) << (n))

struct tn__feature_row {
    const char *name;
    const int16_t *implies; /* feature numbers, ended by 0 */
    uint64_t mask;          /* bits that must all be set in words[word] */
    uint8_t word;           /* TN__CPU_NOWHERE: programs cannot detect it */
    uint8_t gate;
    uint8_t kind; /* enum tn_cpu_kind */
};

/* A CPU: the features of `parent` (an index; 0: none), plus those in `changes`, minus the negative ones; ended by 0. */
struct tn__cpu_name {
    const char *name;
    const int16_t *changes;
    uint16_t parent;
};

struct tn__cpu_alias {
    const char *name;
    uint16_t cpu;
};

/* Maps model numbers to CPUs. The first row counts whose range holds the number and whose CPU's features are all
 * present. */
struct tn__cpu_model {
    uint64_t first, last;
    uint16_t cpu;
};

/* A feature with vector registers of this many bytes; the last one that is present counts. */
struct tn__cpu_vector {
    uint16_t feature;
    uint16_t bytes;
};

struct tn_cpu_arch {
    const char *name, *triple; /* the triple's first part */
    const struct tn__feature_row *features;
    const struct tn__cpu_name *cpus; /* [0] is no CPU */
    const struct tn__cpu_alias *aliases;
    const struct tn__cpu_model *models;
    const struct tn__cpu_vector *vectors;
    size_t feature_end, cpu_end, alias_count, model_count, vector_count;
    uint16_t narrowest;     /* bytes of a vector register if no row of `vectors` applies */
    bool implies_what_runs; /* a detected feature proves those it implies, even if they are not reported */
    const char *tuning;     /* LLVM's features that only tune: names, a space before and after each */
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

/* close_up adds implied features, of `hidden_only` those that programs cannot detect; close_down removes features that
 * lack one they imply. All until nothing changes. */
void tn__cpu_add_implied(const struct tn_cpu_arch *arch, struct tn_cpu_set *set, bool hidden_only);
void tn__cpu_close_down(const struct tn_cpu_arch *arch, struct tn_cpu_set *set);

static inline void tn__cpu_close_up(const struct tn_cpu_arch *arch, struct tn_cpu_set *set)
{
    tn__cpu_add_implied(arch, set, false);
}

struct tn_cpu_set tn__cpu_of_kind(const struct tn_cpu_arch *arch, enum tn_cpu_kind kind);

/* A text that is being written, for as long as there is space. tn__cpu_put appends to it as printf. */
struct tn__cpu_text {
    char *to;
    size_t size, length; /* `length` may exceed `size`, as with snprintf */
};

#define tn__cpu_put(text, ...)                                                                                         \
    ((text)->length +=                                                                                                 \
     (size_t)snprintf((text)->length < (text)->size ? (text)->to + (text)->length : NULL,                              \
                      (text)->length < (text)->size ? (text)->size - (text)->length : 0, __VA_ARGS__))

/* Appends "SIGN NAME" for each feature of the set, with commas between items of the text. */
void tn__cpu_put_set(struct tn__cpu_text *text, const struct tn_cpu_arch *arch, const struct tn_cpu_set *set,
                     char sign);

/* Appends " a b c" to the message that `err` already has. */
void tn__cpu_append_names(struct tn_error *err, const struct tn_cpu_arch *arch, const struct tn_cpu_set *set);

/* ---- names (names.c) ---- */

/* These return an index; 0: unknown. */
size_t tn__cpu_find_feature(const struct tn_cpu_arch *arch, const char *name, size_t length);
size_t tn__cpu_find_name(const struct tn_cpu_arch *arch, const char *name, size_t length);
bool tn__cpu_is_tuning(const struct tn_cpu_arch *arch, const char *name, size_t length);
struct tn_cpu_set tn__cpu_features_of(const struct tn_cpu_arch *arch, size_t cpu);

/* ---- the host (detect.c, host_ARCH.c) ---- */

/* What one core reports, or what all of them have in common. */
struct tn__cpu_seen {
    uint64_t words[TN__CPU_WORDS];
    uint64_t model;
    uint64_t cores; /* 0: nothing yet */
    bool mixed;     /* the core reports that others may differ */
};

/* Narrows `seen` to what this core has as well. If the cores' models differ, the result has no model. */
void tn__cpu_see(struct tn__cpu_seen *seen, const struct tn__cpu_seen *core);

/* The features that the words report. */
struct tn_cpu_set tn__cpu_detect(const struct tn_cpu_arch *arch, const struct tn__cpu_seen *seen);
/* True if `features` include all that code for that CPU uses. */
bool tn__cpu_may_be(const struct tn_cpu_arch *arch, const struct tn_cpu_set *features, size_t cpu);
const char *tn__cpu_name_of(const struct tn_cpu_arch *arch, const struct tn_cpu_set *features, uint64_t model);

/* The architecture of this program, and what its cores report. */
extern const struct tn_cpu_arch *const tn__cpu_host_arch;
void tn__cpu_look(struct tn__cpu_seen *seen);

/* ---- x86-64 (x86_64.c): CPUID is a callback, so tests can emulate any CPU on any host ---- */

struct tn__cpuid {
    uint32_t eax, ebx, ecx, edx;
};

struct tn__cpuid_source {
    struct tn__cpuid (*cpuid)(void *context, uint32_t leaf, uint32_t subleaf);
    uint64_t (*xcr0)(void *context); /* called only if CPUID reports that it can be read */
    void *context;
};

void tn__cpu_x86_64_see(const struct tn__cpuid_source *source, struct tn__cpu_seen *core);

/* ---- AArch64 (aarch64.c) ---- */

void tn__cpu_aarch64_see(uint64_t hwcap, uint64_t hwcap2, uint64_t hwcap3, uint64_t midr, struct tn__cpu_seen *core);

/* ---- RISC-V (riscv64.c) ---- */

/* The values of hwprobe(2) for its keys 0, 1, 3 and 4; zero if unknown. */
struct tn__cpu_riscv {
    uint64_t vendor, architecture, base, extensions;
    uint64_t vector_bytes; /* 0: no vectors */
};

void tn__cpu_riscv64_see(const struct tn__cpu_riscv *probe, struct tn__cpu_seen *core);
/* For kernels without hwprobe: the same from the letters of AT_HWCAP, or from what all "isa" lines of /proc/cpuinfo
 * share. */
struct tn__cpu_riscv tn__cpu_riscv64_of_hwcap(uint64_t hwcap);
struct tn__cpu_riscv tn__cpu_riscv64_of_cpuinfo(const char *text);

/* ---- choosing (choose.c) ---- */

/* tn_cpu_choose for targets in a plain array. */
int tn__cpu_choose(const struct tn_cpu *cpu, const struct tn_cpu_target *targets, size_t count,
                   enum tn_cpu_verdict *verdicts, size_t *chosen, struct tn_error *err);

#pragma GCC visibility pop
#endif
