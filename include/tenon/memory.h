/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code memory: where linked code and data are placed.
 *
 * A session reserves a window of address space near the program's text and packs objects into it, keeping code,
 * constants and data apart. No page is ever both writable and executable at one address; of three strategies that
 * guarantee this, the session picks the first that the system permits; doc/EMBEDDING.md compares what they protect
 * from. A client may instead supply memory of its own, in this process or for another one, and an allocator for
 * everything else.
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

/* How executable memory is obtained; tn_stats.strategy names the strategy in use. */
enum tn_strategy {
    TN_STRATEGY_AUTO = 0,     /* the first of these that the system permits */
    TN_STRATEGY_DUAL = 1,     /* a memfd mapped twice: writable here, executable there; private pages for large links */
    TN_STRATEGY_SEALED = 2,   /* a memfd written, sealed against writing, then mapped executable */
    TN_STRATEGY_MPROTECT = 3, /* pages written, then made executable and never writable again */
};

enum tn_zone { TN_ZONE_CODE = 0, TN_ZONE_RODATA, TN_ZONE_DATA, TN_ZONES };

enum {
    TN_MEMORY_ELSEWHERE = 1, /* belongs to another process: nothing linked runs, or is read, in this one */
    TN_MEMORY_PACKED = 2,    /* objects share pages: pieces are large and published in parts */
};

/* Client-supplied code memory: a window of address space, in this process or another one, divided into zones by
 * permission. The session maps, writes, publishes and unmaps pieces of it through the functions below, which must not
 * call the session. `map` and `publish` return 0, or a code of enum tn_code with which the link then fails; they may
 * fill in `err`, which is never NULL. `map` and `unmap` are called under the session's lock, `publish` without it and
 * by several threads at once. */
struct tn_memory {
    size_t size; /* sizeof(struct tn_memory) */
    void *context;
    uint64_t flags;          /* TN_MEMORY_... */
    uint64_t window_address; /* in the address space of the process that will run the code */
    size_t window_size;      /* in bytes, at most 1 GiB */
    size_t page_size;        /* alignment and granularity of pieces: a power of two, at most 4 MiB */
    /* Provides [address, address + length) for this zone, and sets *bytes to where in this process the linker reads and
     * writes the contents: anywhere, including at `address`. The initial contents do not matter. */
    int (*map)(void *context, enum tn_zone zone, uint64_t address, size_t length, void **bytes, struct tn_error *err);
    /* The bytes are final: makes them visible at `address` as executable code, read-only data, or data that the program
     * may modify from now on. Called once for a whole piece. With TN_MEMORY_PACKED it is called for parts of a piece,
     * bounded at multiples of 16, and again when a part is reused; neighbouring parts are in use meanwhile. */
    int (*publish)(void *context, enum tn_zone zone, uint64_t address, size_t length, const void *bytes,
                   struct tn_error *err);
    /* Releases a whole piece, published or not; it is no longer in use. */
    void (*unmap)(void *context, enum tn_zone zone, uint64_t address, size_t length, void *bytes);
};

/* The source of a session's memory other than the code and data of loaded objects. Sizes are in bytes; blocks are
 * aligned for any type; NULL means out of memory. Called concurrently by every thread that uses the session. The struct
 * is not copied: it must outlive the session. */
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
