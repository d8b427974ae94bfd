/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Debuggers and profilers, for the commands that run what they link. */

#include "lib/tool.h"

bool tool_observe(struct tn_session *session, const struct settings *settings)
{
    struct tn_error error;
    int rc = settings->gdb ? tn_observe_gdb(session, &error) : 0;
    if (!rc && settings->perf)
        rc = tn_observe_perf(session, (enum tn_perf)(settings->perf - 1), settings->perf_folder, &error);
    if (rc)
        tool_fail(STATUS_FAILURE, "%s", error.text);
    return rc == 0;
}
