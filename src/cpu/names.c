/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Looks up names in the tables of an architecture. */

#include "cpu/cpu.h"

static bool is_word(const char *name, const char *word, size_t length)
{
    return strncmp(name, word, length) == 0 && !name[length];
}

size_t tn__cpu_find_feature(const struct tn_cpu_arch *arch, const char *name, size_t length)
{
    for (size_t f = 1; f < arch->feature_end; f++)
        if (is_word(arch->features[f].name, name, length))
            return f;
    return 0;
}

size_t tn__cpu_find_name(const struct tn_cpu_arch *arch, const char *name, size_t length)
{
    for (size_t c = 1; c < arch->cpu_end; c++)
        if (is_word(arch->cpus[c].name, name, length))
            return c;
    for (size_t a = 0; a < arch->alias_count; a++)
        if (is_word(arch->aliases[a].name, name, length))
            return arch->aliases[a].cpu;
    return 0;
}

bool tn__cpu_is_tuning(const struct tn_cpu_arch *arch, const char *name, size_t length)
{
    for (const char *at = arch->tuning; *at;) {
        at += 1;
        size_t size = strcspn(at, " ");
        if (size == length && memcmp(at, name, length) == 0)
            return length > 0;
        at += size;
    }
    return false;
}

struct tn_cpu_set tn__cpu_features_of(const struct tn_cpu_arch *arch, size_t cpu)
{
    struct tn_cpu_set set = {{0}};
    const struct tn__cpu_name *row = &arch->cpus[cpu];
    if (row->parent)
        set = tn__cpu_features_of(arch, row->parent);
    for (const int16_t *change = row->changes; *change; change++)
        if (*change > 0)
            tn__cpu_add(&set, (size_t)*change);
    tn__cpu_close_up(arch, &set);
    for (const int16_t *change = row->changes; *change; change++)
        if (*change < 0)
            tn__cpu_remove(&set, (size_t) - *change);
    return set;
}

const char *tn_cpu_name_at(const struct tn_cpu_arch *arch, size_t index, struct tn_cpu_set *features,
                           const char **alias_of)
{
    size_t names = arch->cpu_end - 1;
    if (index >= names + arch->alias_count)
        return NULL;
    const struct tn__cpu_alias *alias = index < names ? NULL : &arch->aliases[index - names];
    size_t cpu = alias ? alias->cpu : index + 1;
    *features = tn__cpu_features_of(arch, cpu);
    *alias_of = alias ? arch->cpus[cpu].name : NULL;
    return alias ? alias->name : arch->cpus[cpu].name;
}

size_t tn_cpu_feature_end(const struct tn_cpu_arch *arch)
{
    return arch->feature_end;
}

int tn_cpu_feature(const struct tn_cpu_arch *arch, size_t number, struct tn_cpu_feature *feature, struct tn_error *err)
{
    if (!arch || !feature)
        return tn__no_argument(err);
    if (!number || number >= arch->feature_end)
        return tn__fail(err, TN_EINVAL, "%s has no feature number %zu; they are 1 to %zu", arch->name, number,
                        arch->feature_end - 1);
    const struct tn__feature_row *row = &arch->features[number];
    struct tn_cpu_feature result = {.size = sizeof result, .name = row->name, .kind = row->kind};
    for (const int16_t *i = row->implies; *i; i++)
        tn__cpu_add(&result.implies, (size_t)*i);
    tn__give_stats(feature, sizeof result, &result);
    return 0;
}
