/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Sets of features and their closure under implication. */

#include "cpu/cpu.h"

bool tn__cpu_empty(const struct tn_cpu_set *set)
{
    uint64_t any = 0;
    for (size_t i = 0; i < TN_CPU_WORDS; i++)
        any |= set->words[i];
    return !any;
}

size_t tn__cpu_count(const struct tn_cpu_set *set)
{
    size_t count = 0;
    for (size_t i = 0; i < TN_CPU_WORDS; i++)
        count += (size_t)__builtin_popcountll(set->words[i]);
    return count;
}

struct tn_cpu_set tn__cpu_union(const struct tn_cpu_set *a, const struct tn_cpu_set *b)
{
    struct tn_cpu_set result;
    for (size_t i = 0; i < TN_CPU_WORDS; i++)
        result.words[i] = a->words[i] | b->words[i];
    return result;
}

struct tn_cpu_set tn__cpu_common(const struct tn_cpu_set *a, const struct tn_cpu_set *b)
{
    struct tn_cpu_set result;
    for (size_t i = 0; i < TN_CPU_WORDS; i++)
        result.words[i] = a->words[i] & b->words[i];
    return result;
}

struct tn_cpu_set tn__cpu_without(const struct tn_cpu_set *a, const struct tn_cpu_set *b)
{
    struct tn_cpu_set result;
    for (size_t i = 0; i < TN_CPU_WORDS; i++)
        result.words[i] = a->words[i] & ~b->words[i];
    return result;
}

void tn__cpu_add_implied(const struct tn_cpu_arch *arch, struct tn_cpu_set *set, bool hidden_only)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t f = 1; f < arch->feature_end; f++)
            for (const int16_t *i = arch->features[f].implies; *i && tn__cpu_has(set, f); i++) {
                bool hidden = arch->features[*i].word == TN__CPU_NOWHERE;
                if (!tn__cpu_has(set, (size_t)*i) && (hidden || !hidden_only)) {
                    tn__cpu_add(set, (size_t)*i);
                    changed = true;
                }
            }
    }
}

void tn__cpu_close_down(const struct tn_cpu_arch *arch, struct tn_cpu_set *set)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t f = 1; f < arch->feature_end; f++)
            for (const int16_t *i = arch->features[f].implies; *i && tn__cpu_has(set, f); i++)
                if (!tn__cpu_has(set, (size_t)*i)) {
                    tn__cpu_remove(set, f);
                    changed = true;
                }
    }
}

struct tn_cpu_set tn__cpu_of_kind(const struct tn_cpu_arch *arch, enum tn_cpu_kind kind)
{
    struct tn_cpu_set set = {{0}};
    for (size_t f = 1; f < arch->feature_end; f++)
        if (arch->features[f].kind == kind)
            tn__cpu_add(&set, f);
    return set;
}

/* The name of a feature. Features unknown to this version are formatted as #N in `number`. */
static const char *name_of(const struct tn_cpu_arch *arch, size_t feature, char *number, size_t size)
{
    if (feature && feature < arch->feature_end)
        return arch->features[feature].name;
    snprintf(number, size, "#%zu", feature);
    return number;
}

size_t tn_cpu_format(const struct tn_cpu_arch *arch, const struct tn_cpu_set *set, char *text, size_t size)
{
    char number[24];
    struct tn__cpu_text out = {text, size, 0};
    tn__cpu_put(&out, "%s", "");
    for (size_t f = 0; f < 64 * TN_CPU_WORDS; f++)
        if (tn__cpu_has(set, f))
            tn__cpu_put(&out, "%s%s", out.length ? " " : "", name_of(arch, f, number, sizeof number));
    return out.length;
}

void tn__cpu_put_set(struct tn__cpu_text *text, const struct tn_cpu_arch *arch, const struct tn_cpu_set *set, char sign)
{
    for (size_t f = 1; f < arch->feature_end; f++)
        if (tn__cpu_has(set, f))
            tn__cpu_put(text, "%s%c%s", text->length ? "," : "", sign, arch->features[f].name);
}

void tn__cpu_append_names(struct tn_error *err, const struct tn_cpu_arch *arch, const struct tn_cpu_set *set)
{
    char number[24];
    for (size_t f = 0; f < 64 * TN_CPU_WORDS; f++)
        if (tn__cpu_has(set, f))
            tn__append(err, " %s", name_of(arch, f, number, sizeof number));
}
