/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a CPU can do, what compiled code needs, and which of several versions of the code to use.
 *
 * Features have LLVM's names and are numbered per architecture; doc/CPU.md has the rules, `tenon cpu` prints the
 * tables. Decisions are based on features alone: the name of a CPU stands for a set of features, and breaks ties. All
 * architectures are known on every host. Everything here is immutable once created, so threads may share it. Errors as
 * in tenon.h. */

#ifndef TENON_CPU_H
#define TENON_CPU_H

#include "tenon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- features ---- */

/* Version of the feature tables. Feature numbers never change, because images store them; new features are appended. */
#define TN_CPU_TABLES 1

enum { TN_CPU_WORDS = 8 };

/* Feature n is bit n % 64 of words[n / 64]; no feature has number 0. */
struct tn_cpu_set {
    uint64_t words[TN_CPU_WORDS];
};

/* The tables of an architecture; static. */
struct tn_cpu_arch;

TN_API const struct tn_cpu_arch *tn_cpu_arch_host(void);
/* Finds an architecture by name ("x86-64", "aarch64", "riscv64") or triple ("x86_64-linux-gnu"). NULL: unknown. */
TN_API const struct tn_cpu_arch *tn_cpu_arch_find(const char *name);
TN_API const struct tn_cpu_arch *tn_cpu_arch_at(size_t index); /* NULL after the last */
TN_API const char *tn_cpu_arch_name(const struct tn_cpu_arch *arch);

/* How a feature takes part in matching targets to CPUs. */
enum tn_cpu_kind {
    TN_CPU_CODE = 1, /* used by code generators: a target with it fits only CPUs that have it */
    TN_CPU_ASKED =
        2, /* privileged, for saving state, or used by intrinsics only: ignored in what a CPU's name stands for, and
                         required only if the target string names it */
    TN_CPU_GROUP = 3, /* stands for the features that it implies, which replace it in targets */
};

struct tn_cpu_feature {
    size_t size; /* in: sizeof(struct tn_cpu_feature) as the caller knows it */
    const char *name;
    enum tn_cpu_kind kind;
    struct tn_cpu_set implies; /* directly */
};

/* Describes feature `number`. TN_EINVAL: there is no such feature. */
TN_API int tn_cpu_feature(const struct tn_cpu_arch *arch, size_t number, struct tn_cpu_feature *feature,
                          struct tn_error *err);
/* One more than the highest feature number. */
TN_API size_t tn_cpu_feature_end(const struct tn_cpu_arch *arch);

/* Writes the names of the features in `set`, by number, separated by spaces; numbers unknown to this version are
 * written as #N. Returns the full length, as snprintf does. */
TN_API size_t tn_cpu_format(const struct tn_cpu_arch *arch, const struct tn_cpu_set *set, char *text, size_t size);

/* Enumerates the names of CPUs, with their features closed under implication; *alias_of is NULL, or the name that this
 * one is an alias of. Returns NULL after the last. */
TN_API const char *tn_cpu_name_at(const struct tn_cpu_arch *arch, size_t index, struct tn_cpu_set *features,
                                  const char **alias_of);

/* ---- this machine ---- */

struct tn_cpu {
    size_t size; /* sizeof(struct tn_cpu) */
    const struct tn_cpu_arch *arch;
    const char *name; /* from the table: that of the model number if the features confirm it, else the best name that
                                   they allow; static */
    struct tn_cpu_set features; /* those that all cores have and the operating system lets programs use */
    uint64_t cores;             /* cores examined; 1 if the system or the CPU guarantees that all are alike */
};

/* Examines the CPU, which takes about 40 us in a virtual machine. If an x86-64 CPU reports that its cores differ, the
 * calling thread visits each core that it may run on. TN_EINVAL (size). */
TN_API int tn_cpu_host(struct tn_cpu *cpu, struct tn_error *err);

/* Restricts `cpu` to the features of `target`, such as "x86-64-v3" or "native,-avx512f", so that a program behaves as
 * if it ran on the lesser CPU. Programs that let users do this pass getenv("TENON_CPU"). Does nothing for NULL or "".
 * TN_EINVAL (malformed, or more than `cpu` has; the text lists that), TN_ENOMEM. */
TN_API int tn_cpu_limit(struct tn_cpu *cpu, const char *target, struct tn_error *err);

/* ---- target strings ---- */

enum {
    TN_CPU_CLONE_ALL = 2,     /* clone_all */
    TN_CPU_UNKNOWN_NAME = 32, /* a CPU unknown to this version: the target never fits */
    TN_CPU_OPT_SIZE = 64,     /* opt_size */
    TN_CPU_MIN_SIZE = 128,    /* min_size */
    TN_CPU_UNKNOWN_FEATURE =
        0x1000,           /* `extra` enables a feature that this version cannot detect: the target never fits */
    TN_CPU_HELP = 0x2000, /* "help" as name or item: the user wants to see the names */
};

struct tn_cpu_target {
    size_t size; /* of this struct */
    const char *name;
    const char *extra; /* features known only to LLVM, "+a,-b"; "" if there are none */
    uint64_t flags;    /* TN_CPU_... */
    size_t base;       /* index of the target whose code is used for functions that this one does not clone */
    /* What code may use, closed under implication; TN_CPU_ASKED features only if the string names them. */
    struct tn_cpu_set enabled;
    struct tn_cpu_set disabled; /* all others; for an unknown CPU, only those that the string disables */
    struct tn_cpu_set unasked;  /* TN_CPU_ASKED features of the named CPU; part of `disabled` */
};

struct tn_cpu_targets; /* opaque; immutable */

enum {
    TN_CPU_ONE_TARGET = 1, /* reject several targets, clone_all, base, opt_size and min_size */
};

struct tn_cpu_parse_options {
    size_t size;                    /* sizeof(struct tn_cpu_parse_options) */
    const struct tn_cpu_arch *arch; /* NULL: the host's */
    const struct tn_cpu *native;    /* what "native" means; NULL: "native" is an error */
    const char *image;              /* what "sysimage" as first target stands for; NULL: "sysimage" is an error */
    uint64_t flags;                 /* TN_CPU_ONE_TARGET */
};

/* Parses "NAME[,ITEM]...[;NAME[,ITEM]...]...", where ITEM is [+|-]FEATURE, clone_all, base(N), opt_size, min_size or
 * help; see doc/CPU.md. `options` may be NULL. TN_EINVAL (the text names the column and the mistake), TN_ENOMEM. */
TN_API int tn_cpu_parse_targets(const char *text, const struct tn_cpu_parse_options *options,
                                struct tn_cpu_targets **out, struct tn_error *err);
TN_API size_t tn_cpu_target_count(const struct tn_cpu_targets *targets);
/* Valid until the list is destroyed; `index` is less than the count. */
TN_API const struct tn_cpu_target *tn_cpu_target_at(const struct tn_cpu_targets *targets, size_t index);
TN_API const struct tn_cpu_arch *tn_cpu_targets_arch(const struct tn_cpu_targets *targets);
TN_API void tn_cpu_targets_destroy(struct tn_cpu_targets *targets); /* NULL is ignored */

/* Writes a target as a target string has it, "NAME,+a,-b,clone_all,base(1)": reading that gives the same one. With ';'
 * between them, those of an image are what "sysimage" stands for. Answers the length, as snprintf does. */
TN_API size_t tn_cpu_format_target(const struct tn_cpu_arch *arch, const struct tn_cpu_target *target, char *text,
                                   size_t size);

/* Writes "+a,-b..." for LLVM: given this and the target's name, a code generator uses exactly the enabled features and
 * `extra`, whatever it associates with the name. Returns the full length, as snprintf does. */
TN_API size_t tn_cpu_llvm_features(const struct tn_cpu_arch *arch, const struct tn_cpu_target *target, char *text,
                                   size_t size);

/* ---- choosing ---- */

enum tn_cpu_verdict {
    TN_CPU_CHOSEN = 0,
    TN_CPU_LACKS,    /* the CPU lacks features: see tn_cpu_missing */
    TN_CPU_UNKNOWN,  /* has a name or features unknown to this version */
    TN_CPU_NARROWER, /* fits, but the chosen target has wider vector registers */
    TN_CPU_FEWER,    /* fits, but the chosen target has more features */
    TN_CPU_RENAMED,  /* fits, but the chosen target has the name of this CPU */
    TN_CPU_EARLIER,  /* fits, but the chosen target comes later in the list */
};

/* Chooses the best target for `cpu`: among those whose features it has, the one with the widest vector registers, then
 * the most features, then the same name, then the last. `verdicts` (NULL, or room for one per target) receives the
 * reason for each. TN_ENOTSUP (none fits; the text lists what is missing for each), TN_EINVAL (targets for another
 * architecture). */
TN_API int tn_cpu_choose(const struct tn_cpu *cpu, const struct tn_cpu_targets *targets, enum tn_cpu_verdict *verdicts,
                         size_t *chosen, struct tn_error *err);

/* The enabled features that `cpu` lacks. */
TN_API void tn_cpu_missing(const struct tn_cpu *cpu, const struct tn_cpu_target *target, struct tn_cpu_set *missing);

/* The size in bytes of the widest vector registers with these features, by which targets are compared. */
TN_API size_t tn_cpu_vector_size(const struct tn_cpu_arch *arch, const struct tn_cpu_set *features);

/* Removes features with vector registers wider than `bytes`, and all that depend on them. For code that passes vectors
 * to code of a target with narrower registers, which must agree on the calling convention. */
TN_API void tn_cpu_limit_vectors(const struct tn_cpu_arch *arch, struct tn_cpu_set *features, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
