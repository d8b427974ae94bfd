/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What links do for Mach-O objects alone. */

#include "link/passes/steps.h"

/* ---- bounds ---- */

/* Names of bounds in Mach-O: section$start$SEGMENT$SECTION and section$end$SEGMENT$SECTION are those of a section, and
 * segment$start$SEGMENT and segment$end$SEGMENT those of all sections of a segment. */

/* What follows the beginning of a name; NULL if it begins otherwise. */
static const char *behind(const char *name, const char *beginning)
{
    size_t length = strlen(beginning);
    return strncmp(name, beginning, length) ? NULL : name + length;
}

/* By the beginnings of their names. */
static const struct bound_name {
    const char *start, *end;
    uint8_t reach;
} bound_names[] = {
    {"\1section$start$", "\1section$end$", TN__GATHER_SECTION},
    {"\1segment$start$", "\1segment$end$", TN__GATHER_SEGMENT},
};

/* In files, the sections are called "__DATA,__data". */
static int set_wanted(struct tn__link *link, const char *name, uint8_t reach, struct tn__gather_pattern *wanted)
{
    size_t length = strlen(name);
    const char *dollar = strchr(name, '$');
    if (!length || (dollar != NULL) != (reach == TN__GATHER_SECTION))
        return 0;
    char *copy = tn__arena_alloc(&link->arena, length + 2);
    if (!copy)
        return tn__no_memory(link->err, NULL);
    memcpy(copy, name, length + 1);
    if (dollar)
        copy[dollar - name] = ',';
    else
        memcpy(copy + length, ",", 2);
    *wanted = (struct tn__gather_pattern){copy, length + !dollar, reach, .may_lack = true};
    return 0;
}

static int parse_bound(struct tn__link *link, const char *name, struct tn__gather_pattern *wanted, bool *is_end)
{
    for (size_t i = 0; i < TN_COUNT(bound_names); i++) {
        const char *start = behind(name, bound_names[i].start), *end = behind(name, bound_names[i].end);
        *is_end = !start;
        if (start || end)
            return set_wanted(link, start ? start : end, bound_names[i].reach, wanted);
    }
    return 0;
}

/* ---- the steps ---- */

const struct tn__steps tn__steps_macho = {TN__STEPS_FIELDS, .scan_sound = tn__scan_sound, .parse_bound = parse_bound};
