/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The CPU that this runs on, as TENON_CPU lets it be seen. */

#include <stdio.h>
#include <stdlib.h>

#include "tenon_cpu.h"
#include "lib/tool.h"

const struct tn_cpu *tool_host(void)
{
    static struct tn_cpu host = {.size = sizeof host};
    static bool good;
    struct tn_error err;
    if (good)
        return &host;
    good = !tn_cpu_host(&host, &err) && !tn_cpu_limit(&host, getenv("TENON_CPU"), &err);
    if (good)
        return &host;
    tool_fail(STATUS_USAGE, "TENON_CPU: %s", err.text);
    return NULL;
}

/* A CPU that the tables do not know is left to LLVM, which will say so. */
bool tool_check_cpu(const struct settings *settings)
{
    char wish[4096], missing[4096];
    const struct tn_cpu *host = settings->cpu || settings->features ? tool_host() : NULL;
    if (!host)
        return !settings->cpu && !settings->features;
    int length = snprintf(wish, sizeof wish, "%s%s%s", settings->cpu ? settings->cpu : "native",
                          settings->features ? "," : "", settings->features ? settings->features : "");
    struct tn_cpu_parse_options options = {
        .size = sizeof options, .arch = host->arch, .native = host, .flags = TN_CPU_ONE_TARGET};
    struct tn_cpu_targets *targets = NULL;
    if (length >= (int)sizeof wish || tn_cpu_parse_targets(wish, &options, &targets, NULL))
        return true;
    struct tn_cpu_set lacks;
    tn_cpu_missing(host, tn_cpu_target_at(targets, 0), &lacks);
    tn_cpu_targets_destroy(targets);
    return !tn_cpu_format(host->arch, &lacks, missing, sizeof missing) ||
           (tool_fail(STATUS_USAGE, "code for '%s' cannot run on this CPU (%s), which lacks: %s", wish, host->name,
                      missing),
            false);
}
