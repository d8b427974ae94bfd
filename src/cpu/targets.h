/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A parsed target string. */

#ifndef TENON_CPU_TARGETS_H
#define TENON_CPU_TARGETS_H

#include "cpu/cpu.h"

#pragma GCC visibility push(hidden)

struct tn_cpu_targets {
    struct tn__arena arena; /* owns everything but this struct */
    const struct tn_cpu_arch *arch;
    struct tn_cpu_target *list;
    size_t count;
};

/* One target of a string as written, before its features are computed. */
struct tn__cpu_wish {
    struct tn_cpu_set given, taken; /* by +FEATURE and by -FEATURE */
    size_t cpu;                     /* 0: native, or unknown */
};

/* Computes the sets of `target` from the wish; `native`: the host if the CPU's name is "native", else NULL. Returns 0,
 * or the number of a feature that was given but cannot be enabled, because one that it implies was taken. */
size_t tn__cpu_resolve(const struct tn_cpu_arch *arch, const struct tn__cpu_wish *wish, const struct tn_cpu *native,
                       struct tn_cpu_target *target);

#pragma GCC visibility pop
#endif
