/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Formats targets as strings, the inverse of parse.c. */

#include "cpu/targets.h"

size_t tn_cpu_format_target(const struct tn_cpu_arch *arch, const struct tn_cpu_target *target, char *to, size_t size)
{
    static const struct {
        uint64_t flag;
        const char *word;
    } flags[] = {{TN_CPU_CLONE_ALL, "clone_all"}, {TN_CPU_OPT_SIZE, "opt_size"}, {TN_CPU_MIN_SIZE, "min_size"}};
    struct tn__cpu_text text = {to, size, 0};
    struct tn__cpu_wish wish = {.cpu = tn__cpu_find_name(arch, target->name, strlen(target->name))};
    struct tn_cpu_target plain = {.size = sizeof plain};
    tn__cpu_resolve(arch, &wish, NULL, &plain); /* the features of the name alone */
    struct tn_cpu_set more = tn__cpu_without(&target->enabled, &plain.enabled);
    struct tn_cpu_set less = tn__cpu_without(&plain.enabled, &target->enabled);
    tn__cpu_put(&text, "%s", target->name);
    tn__cpu_put_set(&text, arch, &more, '+');
    tn__cpu_put_set(&text, arch, &less, '-');
    if (*target->extra)
        tn__cpu_put(&text, ",%s", target->extra);
    for (size_t i = 0; i < TN_COUNT(flags); i++)
        if (target->flags & flags[i].flag)
            tn__cpu_put(&text, ",%s", flags[i].word);
    if (target->base)
        tn__cpu_put(&text, ",base(%zu)", target->base);
    return text.length;
}
