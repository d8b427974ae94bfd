/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A member of its own, so that only programs which ask for it have what blocks signals. */

#include "base/os.h"
#include "link/session/contents.h"

void tn_session_defer_signals(struct tn_session *session)
{
    static const struct tn__signals signals = {tn__os_defer_signals, tn__os_deliver_signals};
    tn__session_lock(session);
    session->signals = &signals;
    tn__session_unlock(session);
}
