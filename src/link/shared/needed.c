/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a shared library needs, by DT_NEEDED, and the name that others need it by. */

#include "link/dl/dl.h"
#include "link/passes/dynamic.h"
#include "link/shared/libc.h"
#include "link/shared/shared.h"

int tn__shared_add(struct tn_library *library, struct tn__object_data *data, struct tn_error *err)
{
    const struct tn__shared *shared = tn__shared_of(data);
    int code = shared->soname && *shared->soname ? tn__dl_also_called(library, shared->soname, err) : 0;
    for (size_t i = 0; i < shared->needed_count && !code; i++)
        if (!tn__libc_of(shared->needed[i]))
            code = tn__dl_need(library, shared->needed[i], err);
    tn__session_lock(library->session);
    library->opened.is_kept |= !code && shared->stays;
    if (shared->tls_size)
        tn__session_offer_dynamic(library->session);
    tn__session_unlock(library->session);
    return code;
}
