/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon run: compile what is IR, join everything in one library, call main, exit as it says. */

#include <stdlib.h>

#include "tool.h"

/* How many threads the option asks for. */
static bool parse_threads(const char *text, size_t *threads)
{
    char *end = NULL;
    unsigned long number = text ? strtoul(text, &end, 10) : 0;
    *threads = number;
    if (!text || (*text >= '0' && *text <= '9' && !*end && number <= 256))
        return true;
    return tool_fail(STATUS_USAGE, "option '--threads': '%s' is not a number up to 256", text), false;
}

int command_run(struct settings *settings)
{
    void *entry;
    size_t threads;
    if (!parse_threads(settings->threads, &threads) || !tool_check_cpu(settings))
        return STATUS_USAGE;
    tool_program.stats.command = "run";
    tool_program.stats.opt_level = settings->opt_level;
    if (!tool_watch(settings) || !tool_program_create(NULL, true, threads) ||
        !tool_observe(tool_program.session, settings) || !tool_provide_heap(tool_program.session, tool_program.library))
        return STATUS_FAILURE;
    if ((settings->lazy || threads) && !tool_program_use_jit(settings))
        return STATUS_FAILURE;
    for (int i = 0; i < settings->file_count; i++)
        if (!tool_program_add(settings->files[i], settings, 0))
            return STATUS_FAILURE;
    if (!tool_program_link(settings->entry ? settings->entry : "main", NULL, 0, &entry))
        return STATUS_FAILURE;
    exit(tool_program_call(settings, entry));
}
