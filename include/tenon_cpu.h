/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a CPU can do, what compiled code needs, and which of several versions of code to take.
 *
 * Features carry LLVM's names and are numbered per architecture; doc/CPU.md has the rules, `tenon cpu` prints the tables.
 * Decisions are made by features alone: the name of a CPU stands for a set of them and breaks ties. All architectures are
 * known on every host. Nothing here is written to after it was created, so threads may share it. Errors as in tenon.h. */

#ifndef TENON_CPU_H
#define TENON_CPU_H

#include "tenon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- features ---- */

/* Numbers of features are kept for ever, because images store them: new ones are appended, and this number grows. */
#define TN_CPU_TABLES 1

enum { TN_CPU_WORDS = 8 };

/* Feature n is bit n % 64 of words[n / 64]; no feature has number 0. */
struct tn_cpu_set {
    uint64_t words[TN_CPU_WORDS];
};

/* The tables of one architecture; static. */
struct tn_cpu_arch;

TN_API const struct tn_cpu_arch *tn_cpu_arch_host(void);
/* By name ("x86-64", "aarch64", "riscv64") or triple ("x86_64-linux-gnu"); NULL: unknown. */
TN_API const struct tn_cpu_arch *tn_cpu_arch_find(const char *name);
TN_API const struct tn_cpu_arch *tn_cpu_arch_at(size_t index); /* NULL behind the last */
TN_API const char *tn_cpu_arch_name(const struct tn_cpu_arch *arch);

/* How a feature takes part in matching. */
enum tn_cpu_kind {
    TN_CPU_CODE = 1,  /* code generators use it: a target that has it fits only where it is */
    TN_CPU_ASKED = 2, /* privileged, saving state, or reached by intrinsics only: what a CPU's name says of it is left
                         away; it counts where the target string asks for it */
    TN_CPU_GROUP = 3, /* stands for the features that it implies, which take its place in targets */
};

struct tn_cpu_feature {
    size_t size; /* in: sizeof(struct tn_cpu_feature) as the caller knows it */
    const char *name;
    enum tn_cpu_kind kind;
    struct tn_cpu_set implies; /* directly */
};

/* TN_EINVAL: there is no such number. */
TN_API int tn_cpu_feature(const struct tn_cpu_arch *arch, size_t number, struct tn_cpu_feature *feature,
                          struct tn_error *err);
/* One more than the highest number. */
TN_API size_t tn_cpu_feature_end(const struct tn_cpu_arch *arch);

/* Writes the names in the order of their numbers, with spaces between; a number that this version does not know is written
 * as #N. Answers the length, as snprintf does. */
TN_API size_t tn_cpu_format(const struct tn_cpu_arch *arch, const struct tn_cpu_set *set, char *text, size_t size);

/* The names of CPUs with their features, closed under implication; *alias_of is NULL, or the name that this one is another
 * word for. Answers NULL behind the last. */
TN_API const char *tn_cpu_name_at(const struct tn_cpu_arch *arch, size_t index, struct tn_cpu_set *features,
                                  const char **alias_of);

/* ---- this machine ---- */

struct tn_cpu {
    size_t size; /* sizeof(struct tn_cpu) */
    const struct tn_cpu_arch *arch;
    const char *name;           /* of the table: what the model's number says if the features confirm it, else the best
                                   name that they allow; static */
    struct tn_cpu_set features; /* that all cores have and that the operating system lets programs use */
    uint64_t cores;             /* that were looked at; 1 where the system or the CPU vouches that they are alike */
};

/* Looks at the CPU; in a virtual machine that takes some 40 us. Where an x86-64 CPU says that its cores differ, the calling
 * thread visits all that it may run on. TN_EINVAL (size). */
TN_API int tn_cpu_host(struct tn_cpu *cpu, struct tn_error *err);

/* Takes away from `cpu` what `target` does not have, as in "x86-64-v3" or "native,-avx512f": a program shall behave as if
 * it ran on the smaller machine. Programs whose users may do that through TENON_CPU pass getenv("TENON_CPU"). NULL or "":
 * nothing is done. TN_EINVAL: the string is wrong, or asks for more than `cpu` has (the text lists what), TN_ENOMEM. */
TN_API int tn_cpu_limit(struct tn_cpu *cpu, const char *target, struct tn_error *err);

/* ---- target strings ---- */

enum {
    TN_CPU_CLONE_ALL = 2,            /* clone_all */
    TN_CPU_UNKNOWN_NAME = 32,        /* what this CPU has is not known here: nothing can be matched with it */
    TN_CPU_OPT_SIZE = 64,            /* opt_size */
    TN_CPU_MIN_SIZE = 128,           /* min_size */
    TN_CPU_UNKNOWN_FEATURE = 0x1000, /* `extra` enables something that this version cannot see on a host: the same */
    TN_CPU_HELP = 0x2000,            /* help, as name or item: somebody wants to see the names */
};

struct tn_cpu_target {
    size_t size; /* of this struct */
    const char *name;
    const char *extra; /* features that only LLVM knows, "+a,-b"; "" if there are none */
    uint64_t flags;    /* TN_CPU_... */
    size_t base;       /* index of the target that code is taken from where this one has none of its own */
    /* Closed under implication. What code may use; of TN_CPU_ASKED only what the string asks for. */
    struct tn_cpu_set enabled;
    struct tn_cpu_set disabled; /* the rest of the table; of an unknown CPU only what the string disables */
    struct tn_cpu_set unasked;  /* TN_CPU_ASKED features that the name stands for; part of `disabled` */
};

struct tn_cpu_targets; /* opaque; immutable */

enum {
    TN_CPU_ONE_TARGET = 1, /* several targets, clone_all, base, opt_size and min_size are errors */
};

struct tn_cpu_parse_options {
    size_t size;                    /* sizeof(struct tn_cpu_parse_options) */
    const struct tn_cpu_arch *arch; /* NULL: the host's */
    const struct tn_cpu *native;    /* what "native" means; NULL: it is an error */
    const char *image;              /* what "sysimage" as first target stands for; NULL: it is an error */
    uint64_t flags;                 /* TN_CPU_ONE_TARGET */
};

/* Reads "NAME[,ITEM]...[;NAME[,ITEM]...]..."; ITEM is [+|-]FEATURE, clone_all, base(N), opt_size, min_size or help; see
 * doc/CPU.md. `options` may be NULL. TN_EINVAL: the text says in which column what is wrong; TN_ENOMEM. */
TN_API int tn_cpu_parse_targets(const char *text, const struct tn_cpu_parse_options *options,
                                struct tn_cpu_targets **out, struct tn_error *err);
TN_API size_t tn_cpu_target_count(const struct tn_cpu_targets *targets);
/* Valid until the list is destroyed; `index` is less than the count. */
TN_API const struct tn_cpu_target *tn_cpu_target_at(const struct tn_cpu_targets *targets, size_t index);
TN_API const struct tn_cpu_arch *tn_cpu_targets_arch(const struct tn_cpu_targets *targets);
TN_API void tn_cpu_targets_destroy(struct tn_cpu_targets *targets); /* NULL is ignored */

/* Writes "+a,-b..." for LLVM: with it and the target's name a code generator has exactly the enabled features, whatever it
 * thinks of the name, and `extra`. Answers the length, as snprintf does. */
TN_API size_t tn_cpu_llvm_features(const struct tn_cpu_arch *arch, const struct tn_cpu_target *target, char *text,
                                   size_t size);

/* ---- choosing ---- */

enum tn_cpu_verdict {
    TN_CPU_CHOSEN = 0,
    TN_CPU_LACKS,    /* the CPU lacks features: tn_cpu_missing */
    TN_CPU_UNKNOWN,  /* name or features that this version does not know */
    TN_CPU_NARROWER, /* fits; the chosen one has wider vector registers */
    TN_CPU_FEWER,    /* ... has more features */
    TN_CPU_RENAMED,  /* ... has the name of this CPU */
    TN_CPU_EARLIER,  /* ... stands later in the list */
};

/* Picks the best target for `cpu`: of those whose features it all has the one with the widest vector registers, then with
 * the most features, then of the same name, then the last. `verdicts` (NULL, or room for one per target) tells of each why.
 * TN_ENOTSUP: none fits; the text lists for each what is missing. TN_EINVAL: they are for another architecture. */
TN_API int tn_cpu_choose(const struct tn_cpu *cpu, const struct tn_cpu_targets *targets, enum tn_cpu_verdict *verdicts,
                         size_t *chosen, struct tn_error *err);

/* The enabled features that `cpu` lacks. */
TN_API void tn_cpu_missing(const struct tn_cpu *cpu, const struct tn_cpu_target *target, struct tn_cpu_set *missing);

/* Bytes of the widest vector register that these features bring; what targets are compared by. */
TN_API size_t tn_cpu_vector_size(const struct tn_cpu_arch *arch, const struct tn_cpu_set *features);

/* Takes away what brings wider vector registers than `bytes`, with what depends on it: code that passes vectors to code of
 * a narrower target has to agree with it. */
TN_API void tn_cpu_limit_vectors(const struct tn_cpu_arch *arch, struct tn_cpu_set *features, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
