/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A member of its own, so that only programs which ask for it have what reads the list of threads. */

#include "link/passes/reloc_loop.h"
#include "link/session/contents.h"
#include "link/tls/tls.h"

/* The local-exec and initial-exec models. Of the program's own variables, and of those that begin as zeros, every
 * thread has what it needs. */
static void note_direct_tls(const struct tn__site *site, uint8_t flags)
{
    if (!(site->row->flags & TN__R_PROGRAM) && site->row->slot != TN__SLOT_ADDRESS)
        return;
    const struct tn__object_data *data = site->object->data;
    const struct tn__symbol *symbol = &data->symbols[site->reloc->symbol];
    bool here = flags & TN__SYMBOL_OWN && symbol->place == TN__PLACE_SECTION;
    bool zero = here && data->sections[symbol->section].kind == TN__SECTION_TLS_ZERO;
    if (!zero && !(flags & TN__SYMBOL_GIVEN))
        site->link->direct_tls = site->object->name;
}

void tn_session_check_threads(struct tn_session *session)
{
    static const struct tn__threads_check functions = {note_direct_tls, tn__tls_check_threads};
    tn__session_lock(session);
    session->check_threads = &functions;
    tn__session_unlock(session);
}
