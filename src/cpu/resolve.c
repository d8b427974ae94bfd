/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Computes the features that code may use from a parsed target. */

#include "cpu/targets.h"

/* The first feature that the string enables but that is not enabled in the result. Groups are skipped: some of their
 * members may be disabled. */
static size_t find_lost(const struct tn_cpu_arch *arch, const struct tn_cpu_set *given,
                        const struct tn_cpu_set *enabled)
{
    for (size_t f = 1; f < arch->feature_end; f++)
        if (tn__cpu_has(given, f) && !tn__cpu_has(enabled, f) && arch->features[f].kind != TN_CPU_GROUP)
            return f;
    return 0;
}

static struct tn_cpu_set all_of(const struct tn_cpu_arch *arch)
{
    struct tn_cpu_set all = {{0}};
    for (size_t f = 1; f < arch->feature_end; f++)
        tn__cpu_add(&all, f);
    return all;
}

size_t tn__cpu_resolve(const struct tn_cpu_arch *arch, const struct tn__cpu_wish *wish, const struct tn_cpu *native,
                       struct tn_cpu_target *target)
{
    struct tn_cpu_set known = native ? native->features : tn__cpu_features_of(arch, wish->cpu);
    struct tn_cpu_set wanted = tn__cpu_union(&known, &wish->given);
    tn__cpu_close_up(arch, &wanted);
    wanted = tn__cpu_without(&wanted, &wish->taken);
    tn__cpu_close_down(arch, &wanted);

    struct tn_cpu_set reserved = tn__cpu_of_kind(arch, TN_CPU_ASKED);
    struct tn_cpu_set asked = tn__cpu_common(&wish->given, &reserved);
    tn__cpu_close_up(arch, &asked);
    reserved = tn__cpu_without(&reserved, &asked);
    target->unasked = tn__cpu_common(&wanted, &reserved);
    target->enabled = tn__cpu_without(&wanted, &reserved);
    tn__cpu_close_down(arch, &target->enabled);
    struct tn_cpu_set groups = tn__cpu_of_kind(arch, TN_CPU_GROUP);
    target->enabled = tn__cpu_without(&target->enabled, &groups);

    bool unknown = target->flags & TN_CPU_UNKNOWN_NAME;
    struct tn_cpu_set all = all_of(arch);
    target->disabled = unknown ? wish->taken : tn__cpu_without(&all, &target->enabled);
    return find_lost(arch, &wish->given, &target->enabled);
}

/* LLVM applies items from left to right: disabling a feature also disables those that depend on it, enabling one also
 * enables those that it implies. */
size_t tn_cpu_llvm_features(const struct tn_cpu_arch *arch, const struct tn_cpu_target *target, char *text, size_t size)
{
    struct tn__cpu_text out = {text, size, 0};
    tn__cpu_put(&out, "%s", "");
    tn__cpu_put_set(&out, arch, &target->disabled, '-');
    tn__cpu_put_set(&out, arch, &target->enabled, '+');
    if (*target->extra)
        tn__cpu_put(&out, "%s%s", out.length ? "," : "", target->extra);
    return out.length;
}
