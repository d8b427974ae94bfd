/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Linking for another address space, and looking at the result: memory of a client (struct tn_memory) that shows it nowhere,
 * and places of the client's choice for single sections. The same phases with the same code; what would touch this process
 * is left out: nothing is mapped at the window's addresses, no unwind table is registered, no thread-local image is written,
 * no resolver of an indirect function and no initializer runs.
 *
 *  - The pointer of an indirect function holds the address of its resolver; whoever loads the result replaces it by what the
 *    resolver answers.
 *  - Thread-local data lies below the thread pointer, the first object's nearest to it, as in a program of its own.
 *  - __tls_get_addr is a symbol like any other, and TLS descriptors are refused: their functions would be this process's. */

#ifndef TENON_DETACHED_H
#define TENON_DETACHED_H

#include "link.h"

#pragma GCC visibility push(hidden)

/* A section that is to lie at a certain address, wherever the window is. The GOT counts as a section ".got". */
struct tn__pin {
    const char *file; /* the object's name, or what follows its last slash */
    const char *section;
    uint64_t address;
};

struct tn__detached {
    uint64_t address; /* of the window */
    size_t size, page_size;
    const struct tn__pin *pins;
    size_t pin_count;
    uint64_t tls_size; /* handed out so far */
};

/* `where` outlives the session; options that concern the window are ignored. Errors as tn_session_create. */
int tn__session_create_detached(const struct tn_session_options *options, struct tn__detached *where,
                                struct tn_session **out, struct tn_error *err);

/* Gives pinned sections their addresses, and memory to be written in that lasts as long as the link. TN_ENOMEM. */
int tn__detached_pin(struct tn__link *link, struct tn__object *object);

/* Takes thread-local storage; *offset is its distance from the thread pointer. */
void tn__detached_take_tls(struct tn__detached *where, const struct tn__plan *plan, uint64_t *offset);

#pragma GCC visibility pop
#endif
