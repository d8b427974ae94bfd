/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code memory: windows of reserved address space, divided into zones by permission, in which ranges are packed side by side.
 *
 * A window holds code, read-only data and writable data, each zone in chunks of growing size. How a chunk becomes writable in
 * one place and executable in another is up to the strategy (strategy.h). The first window is within reach of the program; a
 * second one below 2 GiB is created when an object needs 32-bit absolute addresses. codemem.c has the windows, zones.c what is
 * in them.
 *
 * Ranges are taken and given back under the session's lock, but filled and published without it. */

#ifndef TENON_CODEMEM_H
#define TENON_CODEMEM_H

#include "ranges.h"
#include "page_map.h"
#include "strategy.h"

#pragma GCC visibility push(hidden)

enum { TN__WINDOW_NEAR, TN__WINDOW_LOW, TN__WINDOWS };

/* A chunk and the ranges in it. */
struct tn__region {
    struct tn__list listed; /* in the zone */
    struct tn__chunk chunk;
    struct tn__ranges ranges;
    uint64_t touched_end; /* the chunk is populated up to here */
    bool abandoned;       /* shared with another process: nothing more is written there, and free pages leave it */
};

struct tn__zone {
    const struct tn__strategy *strategy;
    const struct tn_memory *client; /* the owner of the memory; NULL: the session */
    enum tn__prot prot;
    struct tn__list regions, abandoned; /* newest first */
    struct tn__range_pool pool;
    uint64_t base;       /* chunks lie from here on, if there is room */
    size_t chunk_size;   /* of the next chunk */
    uint64_t generation; /* the fork generation in which the regions were made */
    uint64_t used;       /* bytes handed out */
    uint64_t mappings;
};

struct tn__window {
    uint64_t start, end; /* 0, 0: there is no such window */
    size_t page_size;    /* chunks are aligned to it */
    bool elsewhere;      /* in another address space */
    struct tn__page_map map;
    struct tn__zone zones[TN_ZONES];
};

struct tn__codemem {
    const struct tn_allocator *from;
    const struct tn__strategy *strategy;
    struct tn_memory client; /* for the client strategies */
    struct tn__window windows[TN__WINDOWS];
    size_t low_size; /* of the low window, if it has to be created */
};

/* Reserves the near window and chooses the strategy. `size` 0: the default, or less if the system allows only less.
 * TN_EINVAL, TN_ENOMEM, TN_EPERM (the text names what was refused). */
int tn__codemem_open(struct tn__codemem *memory, const struct tn_allocator *from, size_t size, uint64_t near,
                     enum tn_strategy wanted, struct tn_error *err);
/* Sets up a window of client memory, without calling the client yet. TN_EINVAL. */
int tn__codemem_open_client(struct tn__codemem *memory, const struct tn_allocator *from, const struct tn_memory *given,
                            struct tn_error *err);
void tn__codemem_close(struct tn__codemem *memory);

/* Switches to private memory, if the system permits it: debuggers write breakpoints past page protection, but not into shared
 * mappings such as the views of a memfd, which perf moreover takes for files. TN_EINVAL: too late, something is linked. */
int tn__codemem_make_private(struct tn__codemem *memory, struct tn_error *err);

/* The window for objects that need absolute 32-bit addresses, created on first use. TN_ENOMEM. */
int tn__codemem_low_window(struct tn__codemem *memory, struct tn__window **window, struct tn_error *err);

/* ---- zones (zones.c) ---- */

enum { TN__FIRST_CHUNK = 4 << 20 };

/* `base`: from where on its chunks lie, if there is room. */
void tn__zone_open(struct tn__zone *zone, enum tn_zone kind, uint64_t base, const struct tn__strategy *strategy,
                   const struct tn_memory *client, const struct tn_allocator *from);
void tn__zone_close(struct tn__zone *zone);

/* Refusals by policy and lack of memory call for different errors. */
bool tn__is_refusal(int error);

/* Pages that filling a range will touch for the first time. Determined when it is taken, used when it is filled. */
struct tn__backing {
    uint64_t from, to;   /* addresses; equal if there are none */
    uint64_t file_start; /* the address that the chunk's file begins at */
    int fd;
    struct tn__os_identity file;
    bool has_file;
};

/* Takes `size` bytes in a zone, the first `touch` of which will be filled; they are written at range->write and visible at
 * range->address. TN_ENOMEM, TN_EPERM. */
int tn__codemem_take(struct tn__window *window, enum tn_zone kind, size_t size, size_t alignment, size_t touch,
                     struct tn__range **range, struct tn__backing *backing, struct tn_error *err);

/* Writes the pieces consecutively, starting at `offset` in the range; offsets must ascend from call to call. TN_ENOMEM. */
int tn__codemem_fill(const struct tn__window *window, enum tn_zone kind, const struct tn__range *range,
                     struct tn__backing *backing, size_t offset, const struct tn__piece *pieces, size_t count,
                     struct tn_error *err);

/* Makes the contents final: code becomes executable, read-only data read-only. TN_EPERM, TN_ENOMEM. */
int tn__codemem_publish(const struct tn__window *window, enum tn_zone kind, struct tn__range *range,
                        struct tn_error *err);

void tn__codemem_give(struct tn__window *window, enum tn_zone kind, struct tn__range *range);

/* True if every place in the window can reach `address` with a signed 32-bit displacement. */
bool tn__window_reaches(const struct tn__window *window, uint64_t address);

/* The number of mappings made and not released. */
uint64_t tn__codemem_mappings(const struct tn__codemem *memory);

#pragma GCC visibility pop
#endif
