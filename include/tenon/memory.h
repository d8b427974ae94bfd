/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code memory: where linked code and data lie.
 *
 * A session reserves a window of address space near the program's text and packs objects into it, code, constants and data
 * apart; no page is ever writable and executable at one address. Which of three ways gets there is chosen by what the system
 * permits. A client may bring memory of its own instead, in this process or for another one; and the allocator that everything
 * else comes from.
 *
 *     struct tn_session_options options = {.size = sizeof options, .window_size = 64 << 20,
 *                                          .strategy = TN_STRATEGY_SEALED, .allocator = &counting};
 *     tn_session_create(&options, &session, &err); */

#ifndef TENON_API_MEMORY_H
#define TENON_API_MEMORY_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How executable memory is obtained; tn_stats.strategy tells which one was taken. */
enum tn_strategy {
    TN_STRATEGY_AUTO = 0,     /* the first of the following that the system permits */
    TN_STRATEGY_DUAL = 1,     /* a memfd mapped twice: writable here, executable there */
    TN_STRATEGY_SEALED = 2,   /* a memfd written, sealed against writing, then mapped executable */
    TN_STRATEGY_MPROTECT = 3, /* pages written, then made executable and never writable again */
};

enum tn_zone { TN_ZONE_CODE = 0, TN_ZONE_RODATA, TN_ZONE_DATA, TN_ZONES };

enum {
    TN_MEMORY_ELSEWHERE = 1, /* of another process: nothing of what is linked runs, or is read, in this one */
    TN_MEMORY_PACKED = 2,    /* objects share pages: pieces are large, and published in parts */
};

/* Where a session's code and data lie, if that is up to the client: a window of address space in this process or in another
 * one, divided into zones by permission. Pieces of it are mapped, written, published and unmapped, by functions that must not
 * call the session. `map` and `publish` answer 0 or a code of enum tn_code, with which the link fails; `err`, never NULL,
 * may be filled. `map` and `unmap` are called under the session's lock; `publish` without it, by several threads at once. */
struct tn_memory {
    size_t size; /* sizeof(struct tn_memory) */
    void *context;
    uint64_t flags;          /* TN_MEMORY_... */
    uint64_t window_address; /* in the address space of what will run, */
    size_t window_size;      /* in bytes, up to 1 GiB */
    size_t page_size;        /* pieces begin at multiples of it and are as long; a power of two up to 4 MiB */
    /* Makes [address, address + length) exist, for this zone, and answers in *bytes where the linker reads and writes in this
     * process what will lie there: anywhere, even at `address`, and whatever it holds. */
    int (*map)(void *context, enum tn_zone zone, uint64_t address, size_t length, void **bytes, struct tn_error *err);
    /* These bytes are final: lets them be seen at `address`, executable, read-only, or as data of which the program may now
     * change its copy. Called once for the whole piece; if TN_MEMORY_PACKED is set, for parts of it, whose bounds are
     * multiples of 16, and again when a part is used anew: what lies beside it is in use meanwhile. */
    int (*publish)(void *context, enum tn_zone zone, uint64_t address, size_t length, const void *bytes,
                   struct tn_error *err);
    /* Takes a whole piece back, published or not: nobody uses it any more. */
    void (*unmap)(void *context, enum tn_zone zone, uint64_t address, size_t length, void *bytes);
};

/* Where a session's memory comes from, code and data of loaded objects apart. Sizes are in bytes; blocks are aligned for
 * any type; NULL means that memory is out. Called by every thread that calls the session, at the same time. The struct is
 * not copied: it outlives the session. */
struct tn_allocator {
    void *context;
    void *(*allocate)(void *context, size_t size);
    void *(*reallocate)(void *context, void *block, size_t size); /* block may be NULL */
    void (*release)(void *context, void *block);
};

#ifdef __cplusplus
}
#endif
#endif
