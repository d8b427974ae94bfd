/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Any bytes as an object of some formats, linked from first to last for another address space, so that nothing of it
 * can run: all of it, and then, in a library of its own, what is left when it is stripped. */

#ifndef FUZZ_LINKED_H
#define FUZZ_LINKED_H

#include "bounds.h"
#include "fuzz.h"
#include "link/file/detached.h"

static inline void *fuzz_anything(void *unused, const char *name)
{
    (void)unused;
    return (void *)(uintptr_t)(0x40000000U + strlen(name) * 16);
}

static inline void fuzz_link_object(struct tn_session *session, const uint8_t *bytes, size_t size, bool strip)
{
    struct tn_library *library;
    struct tn_error err;
    struct tn_input input = {.size = sizeof input, .name = "fuzz.o", .bytes = bytes, .length = size};
    if (tn_library_create(session, "fuzz", &library, &err) || tn_add_resolver(library, fuzz_anything, NULL, &err))
        return;
    if (tn_add_object(library, &input, &err))
        return;
    if (strip)
        tn_link_roots(library, NULL, 0, &err);
    else
        tn_link(library, &err);
}

/* The formats are of one machine, as those of a session have to be; NULL: of this one. */
static inline int fuzz_link(const struct tn_format *const *formats, const uint8_t *bytes, size_t size)
{
    struct tn__detached where = {.address = 0x10000000, .size = 64 << 20, .page_size = 4096};
    const struct tn_session_options options = {
        .size = sizeof options, .formats = formats, .allocator = &bounds_allocator};
    struct tn_session *session;
    struct tn_error err;
    bounds_begin();
    if (tn__session_create_detached(&options, &where, &session, &err))
        abort();
    fuzz_link_object(session, bytes, size, false);
    fuzz_link_object(session, bytes, size, true);
    tn_session_destroy(session);
    bounds_end(size);
    return 0;
}

#endif
