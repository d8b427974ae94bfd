/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Work that no thread waits for, to be done while there are no materializers to run. */

#include "link/demand/promise.h"

enum tn_task_class tn_task_class(const struct tn_task *task)
{
    return task && task->idle ? TN_TASK_IDLE : TN_TASK_DEMANDED;
}

int tn_session_run_idle(struct tn_session *session, void (*run)(void *context, int is_cancelled), void *context,
                        struct tn_error *err)
{
    if (!session || !run)
        return tn__no_argument(err);
    if (!session->dispatch && !session->pool)
        return tn__fail(err, TN_ENOTSUP, "the session has no threads for idle tasks");
    if (tn__dispatch_task(&(struct tn_task){.session = session, .idle = run, .context = context}))
        return 0;
    return tn__fail(err, TN_ENOMEM, "no memory or no thread for an idle task");
}
