/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What links do for dynamic thread-local variables (link/tls/tls.h). Only programs that name tn__session_offer_dynamic
 * contain it. */

#ifndef TENON_DYNAMIC_H
#define TENON_DYNAMIC_H

#include "link/passes/reloc_loop.h"

#pragma GCC visibility push(hidden)

struct tn__dynamic_steps {
    /* Notes which objects have to be in the reserve, for a relocation against a thread-local symbol. TN_ERANGE. */
    int (*scan)(const struct tn__site *site, uint8_t flags);
    /* Changes slots with two words, which were filled, that stand for all variables of a dynamic object. */
    void (*fill_slots)(const struct tn__object *object);
    /* Applies a relocation whose value is out of range. TN_ERANGE: it is so here, too. */
    int (*apply)(const struct tn__site *site, uint64_t value, uint64_t S, uint64_t P);
};

/* Links that begin from now on may have such variables. */
void tn__session_offer_dynamic(struct tn_session *session) TN__LOCKED;

#pragma GCC visibility pop
#endif
