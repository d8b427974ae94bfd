/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Collections as text, for logs. */

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "gc/threads/threads.h"

/* Each is written as " name=value". */
#define M(member)                                                                                                      \
    {                                                                                                                  \
#member, offsetof(struct tn_collection, member)                                                                \
    }
static const struct {
    const char *name;
    size_t at;
} members[] = {
    M(number), M(full),  M(begin_ns), M(stop_ns), M(pause_ns), M(before), M(after),    M(committed), M(moved),
    M(pinned), M(young), M(survived), M(marked),  M(swept),    M(holes),  M(cycle_ns), M(workers),
};
#undef M

static const char *const phases[TN_COLLECTION_COUNT] = {
    [TN_COLLECTION_STOP] = "stop",
    [TN_COLLECTION_YOUNG_ROOTS] = "young_roots",
    [TN_COLLECTION_YOUNG] = "young",
    [TN_COLLECTION_REMEMBERED] = "remembered",
    [TN_COLLECTION_YOUNG_WEAK] = "young_weak",
    [TN_COLLECTION_ROOTS] = "roots",
    [TN_COLLECTION_TRACE] = "trace",
    [TN_COLLECTION_WEAK] = "weak",
    [TN_COLLECTION_SWEEP] = "sweep",
    [TN_COLLECTION_TRIM] = "trim",
    [TN_COLLECTION_RESUME] = "resume",
    [TN_COLLECTION_VERIFY] = "verify",
};

const char *tn_collection_phase_name(unsigned phase)
{
    return phase < TN_COLLECTION_COUNT ? phases[phase] : NULL;
}

static void append(char *text, size_t size, size_t *length, const char *suffix, const char *name, uint64_t value)
{
    size_t space = *length < size ? size - *length : 0;
    *length +=
        (size_t)snprintf(space ? text + *length : NULL, space, " %s%s=%llu", name, suffix, (unsigned long long)value);
}

size_t tn_collection_write(const struct tn_collection *collection, char *text, size_t size)
{
    size_t length = (size_t)snprintf(text, size, "gc");
    for (size_t i = 0; i < TN_COUNT(members); i++)
        append(text, size, &length, "", members[i].name, tn__get64((const char *)collection + members[i].at));
    for (size_t i = TN_COLLECTION_STOP + 1; i < TN_COLLECTION_COUNT; i++) /* that one is a member of its own */
        if (collection->phase_ns[i])
            append(text, size, &length, "_ns", phases[i], collection->phase_ns[i]);
    return length;
}

static void set(struct tn_collection *collection, const char *name, size_t length, uint64_t value)
{
    for (size_t i = 0; i < TN_COUNT(members); i++)
        if (strlen(members[i].name) == length && strncmp(members[i].name, name, length) == 0)
            tn__put64((char *)collection + members[i].at, value);
    for (size_t i = 0; i < TN_COLLECTION_COUNT; i++)
        if (strlen(phases[i]) + 3 == length && strncmp(phases[i], name, length - 3) == 0 &&
            strncmp(name + length - 3, "_ns", 3) == 0)
            collection->phase_ns[i] = value;
}

int tn_collection_read(const char *line, struct tn_collection *collection, struct tn_error *err)
{
    if (!line || !collection)
        return tn__no_argument(err);
    *collection = (struct tn_collection){.size = sizeof *collection};
    const char *at = strstr(line, "gc number=");
    for (at = at ? at + 2 : ""; *at == ' ';) {
        const char *name = at + 1, *equals = strpbrk(name, "= \n");
        char *end;
        if (!equals || *equals != '=' || equals[1] < '0' || equals[1] > '9')
            break;
        uint64_t value = strtoull(equals + 1, &end, 10);
        set(collection, name, (size_t)(equals - name), value);
        at = end;
    }
    if (!collection->number || (*at && *at != '\n' && *at != '\r'))
        return tn__fail(err, TN_EFORMAT, "this is no line about a collection");
    return 0;
}
