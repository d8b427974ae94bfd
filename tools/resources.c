/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How many threads may compile: one for each core that this process may run on, as long as memory suffices: that of the system,
 * of the control groups that the process is in, and of its own limit. */

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/base.h"
#include "base/os.h"
#include "tool.h"

/* Measured: a shard of SQLite takes 36 MB, a large function more. */
enum { MEMORY_PER_THREAD = 64 << 20 };

/* The number behind `key`, at the beginning of a line; UINT64_MAX if there is none, or the word "max". */
static uint64_t number_in(const char *path, const char *key)
{
    FILE *file = fopen(path, "re");
    char line[256];
    uint64_t number = UINT64_MAX;
    while (file && number == UINT64_MAX && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) != 0 || sscanf(line + strlen(key), "%" SCNu64, &number) != 1)
            number = UINT64_MAX;
    if (file)
        fclose(file);
    return number;
}

static uint64_t room(uint64_t limit, uint64_t used)
{
    return limit == UINT64_MAX ? limit : limit > used ? limit - used : 0;
}

/* Both versions of control groups: how a line of /proc/self/cgroup begins, behind its number, and where the files are. */
static const struct hierarchy {
    const char *line, *folder, *limit, *used, *files;
} hierarchies[] = {
    {"::", "/sys/fs/cgroup", "memory.max", "memory.current", "file "},
    {":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache "},
};

static uint64_t number_of_group(const struct hierarchy *h, const char *group, const char *name, const char *key)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s%s/%s", h->folder, group, name);
    return number_in(path, key);
}

/* Memory that caches files is available. */
static uint64_t room_in_group(const struct hierarchy *h, const char *group)
{
    uint64_t limit = number_of_group(h, group, h->limit, ""), used = number_of_group(h, group, h->used, "");
    uint64_t files = number_of_group(h, group, "memory.stat", h->files);
    return used == UINT64_MAX ? used : room(limit, files < used ? used - files : 0);
}

/* The control group of this line, and those that contain it. */
static uint64_t room_in_line(char *line)
{
    uint64_t least = UINT64_MAX;
    char *rest = line + strspn(line, "0123456789");
    for (size_t i = 0; i < TN_COUNT(hierarchies); i++) {
        const struct hierarchy *h = &hierarchies[i];
        if (strncmp(rest, h->line, strlen(h->line)) != 0)
            continue;
        char *group = rest + strlen(h->line);
        for (char *end = group + strcspn(group, "\n"); end; end = strrchr(group, '/')) {
            *end = '\0';
            least = tn__min64(least, room_in_group(h, group));
        }
    }
    return least;
}

static uint64_t room_in_groups(void)
{
    char line[PATH_MAX];
    uint64_t least = UINT64_MAX;
    FILE *groups = fopen("/proc/self/cgroup", "re");
    while (groups && fgets(line, sizeof line, groups))
        least = tn__min64(least, room_in_line(line));
    if (groups)
        fclose(groups);
    return least;
}

static uint64_t room_in_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return UINT64_MAX;
    return room(limit.rlim_cur, number_in("/proc/self/statm", "") * (uint64_t)sysconf(_SC_PAGESIZE));
}

static uint64_t free_memory(void)
{
    uint64_t kilobytes = number_in("/proc/meminfo", "MemAvailable:");
    uint64_t system = kilobytes == UINT64_MAX ? kilobytes : kilobytes * 1024;
    return tn__min64(tn__min64(system, room_in_groups()), room_in_limit());
}

size_t tool_default_threads(void)
{
    cpu_set_t cores;
    bool known =
        sched_getaffinity(0, sizeof cores, &cores) == 0; /* not on machines with more cores than it has room for */
    size_t threads = known ? (size_t)CPU_COUNT(&cores) : tn__os_cores();
    return (size_t)tn__max64(1, tn__min64(threads, free_memory() / MEMORY_PER_THREAD));
}
