/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A parsed target string. */

#ifndef TENON_CPU_TARGETS_H
#define TENON_CPU_TARGETS_H

#include "cpu/cpu.h"

#pragma GCC visibility push(hidden)

struct tn_cpu_targets {
    struct tn__arena arena; /* holds all of it but this struct */
    const struct tn_cpu_arch *arch;
    struct tn_cpu_target *list;
    size_t count;
};

/* What one target of a string says, before its features are known. */
struct tn__cpu_wish {
    struct tn_cpu_set given, taken; /* by +FEATURE and by -FEATURE */
    size_t cpu;                     /* 0: native, or unknown */
};

/* Fills the sets of `target` from what was wished; `native` for that name, else NULL. Answers 0, or the number of a
 * feature that was given and cannot be, because something that it needs was taken. */
size_t tn__cpu_resolve(const struct tn_cpu_arch *arch, const struct tn__cpu_wish *wish, const struct tn_cpu *native,
                       struct tn_cpu_target *target);

#pragma GCC visibility pop
#endif
