/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A member of its own, so that only programs which ask for it have what reads the list of threads. */

#include "link/session/contents.h"
#include "link/tls/tls.h"

void tn_session_check_threads(struct tn_session *session)
{
    tn__session_lock(session);
    session->check_threads = tn__tls_check_threads;
    tn__session_unlock(session);
}
