/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Linking for another address space, to examine the result: client memory (struct tn_memory) that is never visible at
 * its addresses, and chosen places for single sections. The phases and their code are the same; what would touch this
 * process is left out: nothing is mapped at the window's addresses, no unwind table is registered, no thread-local
 * image is written, and no resolver of an indirect function and no initializer runs.
 *
 *  - The pointer of an indirect function holds the address of its resolver; the loader of the result has to call that.
 *  - Thread-local data lies next to the thread pointer, that of the first object nearest to it, as in a program.
 *  - __tls_get_addr is a symbol like any other, and TLS descriptors are refused where the code cannot do without:
 *    their functions would be this process's. */

#ifndef TENON_DETACHED_H
#define TENON_DETACHED_H

#include "link/passes/link.h"

#pragma GCC visibility push(hidden)

/* A section with a fixed address, wherever the window is. The GOT counts as a section ".got". */
struct tn__pin {
    const char *file; /* the object's name, or what follows its last slash */
    const char *section;
    uint64_t address;
};

/* `where` must outlive the session; options concerning the window are ignored. Errors as for tn_session_create. */
int tn__session_create_detached(const struct tn_session_options *options, struct tn__detached *where,
                                struct tn_session **out, struct tn_error *err);

#pragma GCC visibility pop
#endif
