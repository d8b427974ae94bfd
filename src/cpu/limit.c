/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Restricts a CPU to the features of a target. */

#include "cpu/targets.h"

static int limit_to(struct tn_cpu *cpu, const struct tn_cpu_target *target, const char *text, struct tn_error *err)
{
    if (target->flags & (TN_CPU_UNKNOWN_NAME | TN_CPU_UNKNOWN_FEATURE | TN_CPU_HELP) || *target->extra)
        return tn__fail(err, TN_EINVAL,
                        "the CPU cannot be limited to '%s': it has names that this version does not know", text);
    struct tn_cpu_set missing;
    tn_cpu_missing(cpu, target, &missing);
    if (!tn__cpu_empty(&missing)) {
        int code = tn__fail(err, TN_EINVAL,
                            "the CPU (%s) cannot be limited to '%s', which is more than it has:", cpu->name, text);
        tn__cpu_append_names(err, cpu->arch, &missing);
        return code;
    }
    struct tn_cpu_set left = tn__cpu_union(&target->enabled, &target->unasked);
    cpu->features = tn__cpu_common(&cpu->features, &left);
    tn__cpu_close_down(cpu->arch, &cpu->features);
    size_t name = tn__cpu_find_name(cpu->arch, target->name, strlen(target->name));
    bool fits = tn__cpu_may_be(cpu->arch, &cpu->features, name);
    cpu->name = fits ? cpu->arch->cpus[name].name : tn__cpu_name_of(cpu->arch, &cpu->features, 0);
    return 0;
}

int tn_cpu_limit(struct tn_cpu *cpu, const char *text, struct tn_error *err)
{
    if (!cpu)
        return tn__no_argument(err);
    struct tn_cpu_parse_options options = {sizeof options, cpu->arch, cpu, NULL, TN_CPU_ONE_TARGET};
    struct tn_cpu_targets *targets;
    if (!text || !*text)
        return 0;
    int code = tn_cpu_parse_targets(text, &options, &targets, err);
    if (code)
        return code;
    code = limit_to(cpu, &targets->list[0], text, err);
    tn_cpu_targets_destroy(targets);
    return code;
}
