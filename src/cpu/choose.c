/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Chooses the target to use on a CPU. Features decide; names only break ties. */

#include "cpu/cpu.h"
#include "cpu/targets.h"

size_t tn_cpu_vector_size(const struct tn_cpu_arch *arch, const struct tn_cpu_set *features)
{
    size_t bytes = arch->narrowest;
    for (size_t i = 0; i < arch->vector_count; i++)
        if (tn__cpu_has(features, arch->vectors[i].feature))
            bytes = arch->vectors[i].bytes;
    return bytes;
}

void tn_cpu_limit_vectors(const struct tn_cpu_arch *arch, struct tn_cpu_set *features, size_t bytes)
{
    for (size_t i = 0; i < arch->vector_count; i++)
        if (arch->vectors[i].bytes > bytes)
            tn__cpu_remove(features, arch->vectors[i].feature);
    tn__cpu_close_down(arch, features);
}

void tn_cpu_missing(const struct tn_cpu *cpu, const struct tn_cpu_target *target, struct tn_cpu_set *missing)
{
    *missing = tn__cpu_without(&target->enabled, &cpu->features);
}

static enum tn_cpu_verdict fits(const struct tn_cpu *cpu, const struct tn_cpu_target *target)
{
    struct tn_cpu_set missing;
    tn_cpu_missing(cpu, target, &missing);
    if (!tn__cpu_empty(&missing))
        return TN_CPU_LACKS;
    return target->flags & (TN_CPU_UNKNOWN_NAME | TN_CPU_UNKNOWN_FEATURE) ? TN_CPU_UNKNOWN : TN_CPU_CHOSEN;
}

/* Why `target` is not chosen when `best` can be (both fit); TN_CPU_CHOSEN if `target` is the better one. */
static enum tn_cpu_verdict compare_targets(const struct tn_cpu *cpu, const struct tn_cpu_target *target,
                                           const struct tn_cpu_target *best)
{
    size_t bytes = tn_cpu_vector_size(cpu->arch, &target->enabled);
    size_t best_bytes = tn_cpu_vector_size(cpu->arch, &best->enabled);
    if (bytes != best_bytes)
        return bytes < best_bytes ? TN_CPU_NARROWER : TN_CPU_CHOSEN;
    size_t count = tn__cpu_count(&target->enabled), best_count = tn__cpu_count(&best->enabled);
    if (count != best_count)
        return count < best_count ? TN_CPU_FEWER : TN_CPU_CHOSEN;
    bool named = strcmp(target->name, cpu->name) == 0, best_named = strcmp(best->name, cpu->name) == 0;
    if (named != best_named)
        return best_named ? TN_CPU_RENAMED : TN_CPU_CHOSEN;
    return target < best ? TN_CPU_EARLIER : TN_CPU_CHOSEN;
}

static const struct tn_cpu_target *find_best(const struct tn_cpu *cpu, const struct tn_cpu_target *targets,
                                             size_t count)
{
    const struct tn_cpu_target *best = NULL;
    for (size_t i = 0; i < count; i++)
        if (fits(cpu, &targets[i]) == TN_CPU_CHOSEN &&
            (!best || compare_targets(cpu, &targets[i], best) == TN_CPU_CHOSEN))
            best = &targets[i];
    return best;
}

/* Older hypervisors hide cx16, which every CPU name since x86-64-v2 includes. If that rules out all targets, the error
 * begins with it: a reader would miss it in the lists of missing features. */
static void explain_common(const struct tn_cpu *cpu, const struct tn_cpu_target *targets, size_t count,
                           struct tn_error *err)
{
    size_t cx16 = tn__cpu_find_feature(cpu->arch, "cx16", 4);
    for (size_t i = 0; i < count; i++)
        if (!cx16 || !tn__cpu_has(&targets[i].enabled, cx16) || tn__cpu_has(&cpu->features, cx16))
            return;
    tn__append(err, "; every target needs cx16, which some hypervisors hide");
}

static int none_fits(const struct tn_cpu *cpu, const struct tn_cpu_target *targets, size_t count, struct tn_error *err)
{
    int code = tn__fail(err, TN_ENOTSUP, "no compatible target for this CPU (%s)", cpu->name);
    explain_common(cpu, targets, count, err);
    for (size_t i = 0; i < count; i++) {
        struct tn_cpu_set missing;
        tn_cpu_missing(cpu, &targets[i], &missing);
        tn__append(err, "\n  target %zu (%s)", i, targets[i].name);
        if (!tn__cpu_empty(&missing)) {
            tn__append(err, " needs:");
            tn__cpu_append_names(err, cpu->arch, &missing);
        }
        if (targets[i].flags & TN_CPU_UNKNOWN_NAME)
            tn__append(err, " is a CPU that this version does not know");
        if (targets[i].flags & TN_CPU_UNKNOWN_FEATURE)
            tn__append(err, " has features that this version does not know: %s", targets[i].extra);
    }
    return code;
}

int tn__cpu_choose(const struct tn_cpu *cpu, const struct tn_cpu_target *targets, size_t count,
                   enum tn_cpu_verdict *verdicts, size_t *chosen, struct tn_error *err)
{
    const struct tn_cpu_target *best = find_best(cpu, targets, count);
    for (size_t i = 0; verdicts && i < count; i++) {
        verdicts[i] = fits(cpu, &targets[i]);
        if (verdicts[i] == TN_CPU_CHOSEN && &targets[i] != best)
            verdicts[i] = compare_targets(cpu, &targets[i], best);
    }
    if (!best)
        return none_fits(cpu, targets, count, err);
    *chosen = (size_t)(best - targets);
    return 0;
}

int tn_cpu_choose(const struct tn_cpu *cpu, const struct tn_cpu_targets *targets, enum tn_cpu_verdict *verdicts,
                  size_t *chosen, struct tn_error *err)
{
    if (!cpu || !targets || !chosen)
        return tn__no_argument(err);
    if (targets->arch != cpu->arch)
        return tn__fail(err, TN_EINVAL, "targets for %s, but the CPU is %s", targets->arch->name, cpu->arch->name);
    return tn__cpu_choose(cpu, targets->list, targets->count, verdicts, chosen, err);
}
