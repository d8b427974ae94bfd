/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon run: compile what is IR, join everything in one library, call main, exit as it says. */

#include <stdlib.h>

#include "tool.h"

int command_run(struct settings *settings)
{
    void *entry;
    tool_program.stats.command = "run";
    tool_program.stats.opt_level = settings->opt_level;
    if (!tool_watch(settings) || !tool_program_create(NULL, true) || !tool_observe(tool_program.session, settings))
        return STATUS_FAILURE;
    for (int i = 0; i < settings->file_count; i++)
        if (!tool_program_add(settings->files[i], settings, 0))
            return STATUS_FAILURE;
    if (!tool_program_link(settings->entry ? settings->entry : "main", NULL, 0, &entry))
        return STATUS_FAILURE;
    exit(tool_program_call(settings, entry));
}
