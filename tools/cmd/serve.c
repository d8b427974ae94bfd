/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon serve: a compile server for other processes. */

#include "base/base.h"
#include "lib/tool.h"
#include "tenon_remote.h"

int command_serve(struct settings *settings)
{
    struct tn_serve_options options = {.size = sizeof options, .address = settings->files[0]};
    struct tn_error error;
    size_t deadline = 0, workers = 0;
    if (!settings->compile)
        return tool_fail(STATUS_USAGE, "what to serve is missing; add --compile");
    if (settings->file_count != 1)
        return tool_fail(STATUS_USAGE, "one address at a time");
    if (!tool_take_number("--deadline", settings->deadline, 1, UINT32_MAX, &deadline) ||
        !tool_take_number("--workers", settings->workers, 1, UINT16_MAX, &workers) ||
        (settings->memory && !tool_number("--memory", settings->memory, &options.memory)))
        return STATUS_USAGE;
    options.deadline_ms = deadline;
    options.workers = workers;
    int code = tool_serve(&options, &error);
    return code ? tool_fail(code == TN_EINVAL ? STATUS_USAGE : STATUS_FAILURE, "%s", error.text) : STATUS_OK;
}
