/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What an image is to keep: symbols that were named, and the functions of a compile trace. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "build_image.h"

static bool out_of_memory(void)
{
    return tool_fail(STATUS_FAILURE, "out of memory"), false;
}

static bool add_root(struct job *job, const char *name, size_t length)
{
    if (job->root_count == job->root_capacity) {
        size_t capacity = 2 * job->root_capacity + 16;
        char **roots = realloc(job->roots, capacity * sizeof *roots);
        if (!roots)
            return out_of_memory();
        job->roots = roots;
        job->root_capacity = capacity;
    }
    job->roots[job->root_count] = strndup(name, length);
    return job->roots[job->root_count++] || out_of_memory();
}

/* A line is precompile("NAME"...) and what else is known of it. */
static bool read_trace_line(struct job *job, const char *line, size_t number)
{
    static const char start[] = "precompile(\"";
    if (*line == '\n' || *line == '#')
        return true;
    const char *name = line + sizeof start - 1;
    const char *end = strncmp(line, start, sizeof start - 1) == 0 ? strchr(name, '"') : NULL;
    if (!end)
        return tool_fail(STATUS_FAILURE, "'%s', line %zu: not a line of a compile trace", job->settings->trace, number),
               false;
    return add_root(job, name, (size_t)(end - name));
}

static bool read_trace(struct job *job)
{
    FILE *trace = fopen(job->settings->trace, "r");
    if (!trace)
        return tool_fail(STATUS_FAILURE, "cannot read '%s': %s", job->settings->trace, strerror(errno)), false;
    char *line = NULL;
    size_t room = 0, number = 0;
    bool good = true;
    while (good && getline(&line, &room, trace) >= 0)
        good = read_trace_line(job, line, ++number);
    if (good && ferror(trace))
        good = (tool_fail(STATUS_FAILURE, "cannot read '%s': %s", job->settings->trace, strerror(errno)), false);
    free(line);
    fclose(trace);
    return good;
}

bool tool_read_roots(struct job *job)
{
    const struct settings *settings = job->settings;
    for (int i = 0; i < settings->item_count; i++) {
        const struct item *item = &settings->items[i];
        if (item->option && strcmp(item->option, "--root") == 0 && !add_root(job, item->value, strlen(item->value)))
            return false;
    }
    job->asked_for = job->root_count;
    return !settings->trace || read_trace(job);
}

void tool_free_roots(struct job *job)
{
    for (size_t i = 0; i < job->root_count; i++)
        free(job->roots[i]);
    free(job->roots);
}

/* A trace may be of more than these files. Who builds one shard of many leaves it to the last step to say so. */
int tool_unknown_root(void *context, size_t index)
{
    struct job *job = context;
    if (index < job->asked_for)
        return 1;
    if (!job->settings->shard)
        tool_fail(STATUS_OK, "warning: '%s' of the trace is not in the input", job->roots[index]);
    job->unknown++;
    return 0;
}

void tool_warn_unknown_roots(const struct job *job)
{
    if (job->unknown && !job->settings->shard)
        tool_fail(STATUS_OK, "warning: %zu of %zu functions of the trace are not in the input", job->unknown,
                  job->root_count - job->asked_for);
}
