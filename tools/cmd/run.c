/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon run: compile what is IR, join everything in one library, call main, exit as it says. */

#include <stdlib.h>

#include "lib/tool.h"

enum { MOST_THREADS = 256 };

/* Options that mean nothing without others. */
static bool check_combinations(const struct settings *settings)
{
    const struct {
        bool is_wrong;
        const char *text;
    } rules[] = {{settings->profile && !settings->tiers, "'--profile' needs '--tiers'"},
                 {settings->orders && !settings->ahead, "'--orders' needs '--ahead' with another value than none"},
                 {settings->ahead >= AHEAD_ORDER && !settings->orders && !settings->cache,
                  "'--ahead': an order of calls needs --orders or --cache"}};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (rules[i].is_wrong)
            return tool_fail(STATUS_USAGE, "option %s", rules[i].text), false;
    return true;
}

int command_run(struct settings *settings)
{
    void *entry;
    size_t threads = 0;
    if (!tool_take_number("--threads", settings->threads, 0, MOST_THREADS, &threads) || !tool_check_cpu(settings) ||
        !check_combinations(settings))
        return STATUS_USAGE;
    threads = settings->ahead && !threads ? 1 : threads;
    settings->baseline = !settings->no_baseline && (!settings->opt_level || settings->tiers);
    tool_program.stats.command = "run";
    tool_program.stats.opt_level = settings->opt_level;
    if (!tool_isolate(settings) || !tool_watch(settings) || !tool_program_create(settings, NULL, true, threads) ||
        !tool_watch_crashes(tool_program.session) || !tool_observe(tool_program.session, settings) ||
        !tool_provide_heap(tool_program.session, tool_program.library) || !tool_offer_dl(settings))
        return STATUS_FAILURE;
    if ((settings->lazy || settings->tiers || threads || settings->cache) && !tool_program_use_jit(settings))
        return STATUS_FAILURE;
    for (int i = 0; i < settings->file_count; i++)
        if (!tool_program_add(settings->files[i], settings, 0))
            return STATUS_FAILURE;
    if (!tool_program_link(settings->entry ? settings->entry : "main", NULL, 0, &entry))
        return STATUS_FAILURE;
    exit(tool_program_call(settings, entry));
}
