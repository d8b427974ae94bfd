/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Computes features and a name from what the cores of a machine report. */

#include "cpu/cpu.h"

void tn__cpu_see(struct tn__cpu_seen *seen, const struct tn__cpu_seen *core)
{
    if (!seen->cores++) {
        memcpy(seen->words, core->words, sizeof seen->words);
        seen->model = core->model;
        return;
    }
    for (size_t i = 0; i < TN__CPU_WORDS; i++)
        seen->words[i] &= core->words[i];
    if (seen->model != core->model)
        seen->model = 0;
}

static bool shows(const struct tn__feature_row *row, const struct tn__cpu_seen *seen)
{
    return row->word != TN__CPU_NOWHERE && (seen->words[TN__CPU_GATES] & TN__CPU_BIT(row->gate)) &&
           (seen->words[row->word] & row->mask) == row->mask;
}

/* A group is present if all its members are, except for those that programs cannot detect. */
static bool has_group(const struct tn_cpu_arch *arch, const struct tn_cpu_set *set, size_t group)
{
    for (const int16_t *i = arch->features[group].implies; *i; i++) {
        const struct tn__feature_row *member = &arch->features[*i];
        bool hidden = member->word == TN__CPU_NOWHERE && member->kind == TN_CPU_ASKED;
        if (!hidden && !tn__cpu_has(set, (size_t)*i))
            return false;
    }
    return true;
}

static void add_groups(const struct tn_cpu_arch *arch, struct tn_cpu_set *set)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t f = 1; f < arch->feature_end; f++)
            if (arch->features[f].kind == TN_CPU_GROUP && !tn__cpu_has(set, f) && has_group(arch, set, f)) {
                tn__cpu_add(set, f);
                changed = true;
            }
    }
}

struct tn_cpu_set tn__cpu_detect(const struct tn_cpu_arch *arch, const struct tn__cpu_seen *seen)
{
    struct tn_cpu_set set = {{0}};
    for (size_t f = 1; f < arch->feature_end; f++)
        if (shows(&arch->features[f], seen))
            tn__cpu_add(&set, f);
    /* A feature that programs cannot detect is present if one that implies it is. On some architectures this holds for
     * every implied feature. */
    tn__cpu_add_implied(arch, &set, !arch->implies_what_runs);
    tn__cpu_close_down(arch, &set);
    add_groups(arch, &set);
    return set;
}

bool tn__cpu_may_be(const struct tn_cpu_arch *arch, const struct tn_cpu_set *features, size_t cpu)
{
    struct tn_cpu_set needs = tn__cpu_features_of(arch, cpu);
    struct tn_cpu_set code = tn__cpu_of_kind(arch, TN_CPU_CODE);
    needs = tn__cpu_common(&needs, &code);
    needs = tn__cpu_without(&needs, features);
    return tn__cpu_empty(&needs);
}

const char *tn__cpu_name_of(const struct tn_cpu_arch *arch, const struct tn_cpu_set *features, uint64_t model)
{
    for (size_t m = 0; m < arch->model_count; m++) {
        const struct tn__cpu_model *row = &arch->models[m];
        if (model >= row->first && model <= row->last && tn__cpu_may_be(arch, features, row->cpu))
            return arch->cpus[row->cpu].name;
    }
    return "generic";
}

const struct tn_cpu_arch *tn_cpu_arch_host(void)
{
    return tn__cpu_host_arch;
}

const char *tn_cpu_arch_name(const struct tn_cpu_arch *arch)
{
    return arch->name;
}

int tn_cpu_host(struct tn_cpu *cpu, struct tn_error *err)
{
    if (!cpu)
        return tn__no_argument(err);
    if (!tn__size_is_possible(cpu->size))
        return tn__fail(err, TN_EINVAL, "struct tn_cpu has size %zu; it has to be sizeof(struct tn_cpu), here %zu",
                        cpu->size, sizeof *cpu);
    struct tn__cpu_seen seen = {.cores = 0};
    tn__cpu_look(&seen);
    struct tn_cpu result = {.arch = tn__cpu_host_arch, .cores = seen.cores};
    result.features = tn__cpu_detect(result.arch, &seen);
    result.name = tn__cpu_name_of(result.arch, &result.features, seen.model);
    tn__give_stats(cpu, sizeof result, &result);
    return 0;
}
