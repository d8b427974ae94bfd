/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Refuses code that accesses thread-local variables directly while there are threads that would find them without their
 * initial values. */

#include <inttypes.h>

#include "base/thread.h"
#include "link/tls/tls.h"

int tn__tls_check_threads(const char *object, struct tn_error *err)
{
    uint32_t stranger;
    int error = tn__threads_find_stranger(&stranger);
    if (error)
        return tn__fail(err, TN_ENOTSUP, "%s: whether older threads use its thread-local variables is not known: %s",
                        object, strerror(error));
    if (!stranger)
        return 0;
    return tn__fail(err, TN_ENOTSUP,
                    "%s: thread %" PRIu32
                    " is not attached and would find thread-local variables without their initial "
                    "values; attach it (tn_thread_attach), link before it starts, or compile with -fPIC",
                    object, stranger);
}
