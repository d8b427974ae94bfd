/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How much memory the process may use: what the machine has, what the control groups allow that the process is in
 * (cgroups(7), both versions), and its own limit of address space (getrlimit(2)). What cannot be read limits
 * nothing. */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "os.h"

enum { FILE_TEXT = 8192 }; /* memory.stat of version 2 takes 2 KB, and what is read of it comes first */

static const char *next_line(const char *text)
{
    const char *end = strchr(text, '\n');
    return end ? end + 1 : NULL;
}

/* The number behind `key` at the beginning of a line; UINT64_MAX if there is none, or the word "max". */
static uint64_t number_in(const char *path, const char *key)
{
    char text[FILE_TEXT], *end;
    if (tn__os_read_text(path, text, sizeof text) != 0)
        return UINT64_MAX;
    for (const char *line = text; line; line = next_line(line)) {
        const char *digits = line + strlen(key);
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        uint64_t number = strtoull(digits, &end, 10);
        return end == digits ? UINT64_MAX : number;
    }
    return UINT64_MAX;
}

static uint64_t rest_of(uint64_t limit, uint64_t used)
{
    return limit == UINT64_MAX ? limit : limit > used ? limit - used : 0;
}

/* The controller that a line of /proc/self/cgroup names, none for version 2, and where the group's files are. */
static const struct hierarchy {
    const char *controller, *folder, *limit, *used, *files;
} hierarchies[] = {
    {"", "/sys/fs/cgroup", "/memory.max", "/memory.current", "file "},
    {"memory", "/sys/fs/cgroup/memory", "/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_cache "},
};

/* Controllers of version 1 that are mounted together share a line; the system's folder of each leads to theirs. */
static bool has_controller(const char *list, const char *controller)
{
    for (size_t length;; list += length + 1) {
        length = strcspn(list, ",");
        if (length == strlen(controller) && memcmp(list, controller, length) == 0)
            return true;
        if (!list[length])
            return false;
    }
}

static uint64_t number_of_group(const struct hierarchy *h, const char *group, const char *name, const char *key)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s%s%s", h->folder, group, name);
    return length < (int)sizeof path ? number_in(path, key) : UINT64_MAX;
}

static void take_least(struct tn__os_memory *memory, uint64_t limit, uint64_t space)
{
    memory->limit = tn__min64(memory->limit, limit);
    memory->space = tn__min64(memory->space, tn__min64(limit, space));
}

/* Memory that caches files is available. */
static void visit_group(struct tn__os_memory *memory, const struct hierarchy *h, const char *group)
{
    uint64_t limit = number_of_group(h, group, h->limit, "");
    if (limit == UINT64_MAX)
        return;
    uint64_t used = number_of_group(h, group, h->used, ""), files = number_of_group(h, group, "/memory.stat", h->files);
    uint64_t kept = used == UINT64_MAX ? 0 : files == UINT64_MAX ? used : rest_of(used, files);
    take_least(memory, limit, rest_of(limit, kept));
}

/* The control group of this line (number:controllers:group), and those that contain it; the folder itself is the group
 * of a container. */
static void visit_line(struct tn__os_memory *memory, char *line)
{
    char *list = strchr(line, ':'), *group = list ? strchr(list + 1, ':') : NULL;
    if (!group)
        return;
    *group++ = '\0';
    for (size_t i = 0; i < TN_COUNT(hierarchies); i++) {
        if (!has_controller(list + 1, hierarchies[i].controller))
            continue;
        for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
            *end = '\0';
            visit_group(memory, &hierarchies[i], group);
        }
    }
}

static void visit_groups(struct tn__os_memory *memory)
{
    char text[FILE_TEXT];
    if (tn__os_read_text("/proc/self/cgroup", text, sizeof text) != 0)
        return;
    for (char *line = text, *next; line; line = next) {
        next = (char *)next_line(line);
        if (next)
            next[-1] = '\0';
        visit_line(memory, line);
    }
}

static uint64_t kilobytes(const char *key)
{
    uint64_t number = number_in("/proc/meminfo", key);
    return number < UINT64_MAX / 1024 ? number * 1024 : UINT64_MAX;
}

static uint64_t address_space(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    uint64_t pages = number_in("/proc/self/statm", "");
    return rest_of(limit.rlim_cur, pages == UINT64_MAX ? 0 : pages * tn__os_page_size());
}

void tn__os_memory(struct tn__os_memory *memory)
{
    *memory = (struct tn__os_memory){UINT64_MAX, UINT64_MAX, address_space()};
    take_least(memory, kilobytes("MemTotal:"), kilobytes("MemAvailable:"));
    visit_groups(memory);
}
