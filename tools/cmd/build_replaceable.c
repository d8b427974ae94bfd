/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon build --replaceable: which functions the program may redirect. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/build_image.h"

static bool add(struct job *job, const char *name, size_t length)
{
    if (!length)
        return true;
    if (job->replaceable_count == job->replaceable_capacity) {
        size_t capacity = 2 * job->replaceable_capacity + 16;
        char **more = realloc(job->replaceable, capacity * sizeof *more);
        if (!more)
            return tool_fail(STATUS_FAILURE, "out of memory"), false;
        job->replaceable = more;
        job->replaceable_capacity = capacity;
    }
    char *copy = strndup(name, length);
    if (!copy)
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    job->replaceable[job->replaceable_count++] = copy;
    return true;
}

static bool read_file(struct job *job, const char *name)
{
    FILE *file = fopen(name, "r");
    if (!file)
        return tool_fail(STATUS_FAILURE, "cannot read '%s': %s", name, strerror(errno)), false;
    char *line = NULL;
    size_t space = 0;
    bool good = true;
    while (good && getline(&line, &space, file) >= 0)
        good = add(job, line, strcspn(line, "\n"));
    if (good && ferror(file))
        good = (tool_fail(STATUS_FAILURE, "cannot read '%s': %s", name, strerror(errno)), false);
    free(line);
    fclose(file);
    return good;
}

static bool read_list(struct job *job, const char *list)
{
    size_t before = job->replaceable_count;
    bool good = *list != '@' || read_file(job, list + 1);
    for (const char *at = list; *list != '@' && *at && good;) {
        size_t length = strcspn(at, ",");
        good = add(job, at, length);
        at += length + (at[length] == ',');
    }
    if (good && job->replaceable_count == before)
        return tool_fail(STATUS_USAGE, "--replaceable=%s names no function", list), false;
    return good;
}

bool tool_read_replaceable(struct job *job)
{
    const struct settings *settings = job->settings;
    for (int i = 0; i < settings->item_count; i++) {
        const char *list = settings->items[i].value;
        if (!tool_is_item(&settings->items[i], "--replaceable"))
            continue;
        if (strcmp(list, "*") == 0)
            job->options.all_replaceable = 1;
        else if (!read_list(job, list))
            return false;
    }
    job->options.replaceable = (const char *const *)job->replaceable;
    job->options.replaceable_count = job->replaceable_count;
    return true;
}

void tool_free_replaceable(struct job *job)
{
    for (size_t i = 0; i < job->replaceable_count; i++)
        free(job->replaceable[i]);
    free(job->replaceable);
}
