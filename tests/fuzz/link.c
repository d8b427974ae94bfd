/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Any bytes as an object, linked from first to last for another address space, so that nothing of it can run: all of
 * it, and then, in a library of its own, what is left when it is stripped. */

#include "bounds.h"
#include "fuzz.h"
#include "link/file/detached.h"

static void *anything(void *unused, const char *name)
{
    (void)unused;
    return (void *)(uintptr_t)(0x40000000U + strlen(name) * 16);
}

static void link_object(struct tn_session *session, const uint8_t *bytes, size_t size, bool strip)
{
    struct tn_library *library;
    struct tn_error err;
    struct tn_input input = {.size = sizeof input, .name = "fuzz.o", .bytes = bytes, .length = size};
    if (tn_library_create(session, "fuzz", &library, &err) || tn_add_resolver(library, anything, NULL, &err))
        return;
    if (tn_add_object(library, &input, &err))
        return;
    if (strip)
        tn_link_roots(library, NULL, 0, &err);
    else
        tn_link(library, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct tn__detached where = {.address = 0x10000000, .size = 64 << 20, .page_size = 4096};
    const struct tn_session_options options = {.size = sizeof options, .allocator = &bounds_allocator};
    struct tn_session *session;
    struct tn_error err;
    bounds_begin();
    if (tn__session_create_detached(&options, &where, &session, &err))
        return 0;
    link_object(session, bytes, size, false);
    link_object(session, bytes, size, true);
    tn_session_destroy(session);
    bounds_end(size);
    return 0;
}
