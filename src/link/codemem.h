/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code memory: windows of reserved address space, divided into zones by permission, packed side by side.
 *
 * A window holds code from its low end upwards, read-only and writable data from its high end downwards, in chunks that
 * grow. How a chunk becomes writable here and executable there is the strategy's business (strategy.h). The first window
 * lies within reach of the program; a second one below 2 GiB is made when an object needs 32-bit absolute addresses.
 *
 * The session's lock covers taking and giving back; what was taken is filled and published without it. */

#ifndef TENON_CODEMEM_H
#define TENON_CODEMEM_H

#include "ranges.h"
#include "strategy.h"

#pragma GCC visibility push(hidden)

enum { TN__WINDOW_NEAR, TN__WINDOW_LOW, TN__WINDOWS };

struct tn__zone {
    const struct tn__strategy *strategy;
    const struct tn_memory *client; /* whose memory it is; NULL: the session's own */
    enum tn__prot prot;
    struct tn__ranges ranges;
    size_t chunk_size;    /* of the next chunk */
    uint64_t touched_end; /* the newest chunk is backed by pages up to here */
    uint64_t generation;  /* of forks, when the newest chunk was made */
    struct tn__chunk *chunks;
};

struct tn__window {
    uint64_t start, end; /* 0, 0: not there */
    uint64_t low, high;  /* what is still free in the middle */
    size_t page_size;    /* zones begin at multiples of it */
    bool elsewhere;      /* in another address space */
    struct tn__zone zones[TN_ZONES];
};

struct tn__codemem {
    const struct tn_allocator *from;
    const struct tn__strategy *strategy;
    struct tn_memory client; /* if the strategy is the client's */
    struct tn__window windows[TN__WINDOWS];
    size_t low_size; /* of the low window, when it has to be made */
};

/* Reserves the near window and picks the strategy. `size` 0: a default that shrinks where the system allows less.
 * TN_EINVAL, TN_ENOMEM, TN_EPERM (the text names what refused). */
int tn__codemem_open(struct tn__codemem *memory, const struct tn_allocator *from, size_t size, uint64_t near,
                     enum tn_strategy wanted, struct tn_error *err);
/* A window of the client's memory; nothing is asked of it yet. TN_EINVAL. */
int tn__codemem_open_client(struct tn__codemem *memory, const struct tn_allocator *from, const struct tn_memory *given,
                            struct tn_error *err);
void tn__codemem_close(struct tn__codemem *memory);

/* Goes over to memory that is this process's own, if the system permits it. Debuggers write breakpoints behind the back of
 * page protection, but not into what is shared, as the views of a memfd are; and perf takes those for files. TN_EINVAL: too
 * late, something is linked. */
int tn__codemem_make_private(struct tn__codemem *memory, struct tn_error *err);

/* The window for objects that need absolute 32-bit addresses, made on first use. TN_ENOMEM. */
int tn__codemem_low_window(struct tn__codemem *memory, struct tn__window **window, struct tn_error *err);

/* Pages that whoever fills a range is the first to touch. Decided when it is taken, used when it is filled. */
struct tn__backing {
    uint64_t from, to;   /* addresses; nothing to do if they are equal */
    uint64_t file_start; /* the address at the beginning of the chunk's file */
    int fd;
    struct tn__os_identity file;
    bool has_file;
};

/* Takes `size` bytes in a zone, of which the first `touch` will be filled; they are written at range->write and seen at
 * range->address. TN_ENOMEM, TN_EPERM. */
int tn__codemem_take(struct tn__window *window, enum tn_zone kind, size_t size, size_t alignment, size_t touch,
                     struct tn__range **range, struct tn__backing *backing, struct tn_error *err);

/* Writes the pieces one after the other from `offset` of the range on; offsets ascend from call to call. TN_ENOMEM. */
int tn__codemem_fill(const struct tn__window *window, enum tn_zone kind, const struct tn__range *range,
                     struct tn__backing *backing, size_t offset, const struct tn__piece *pieces, size_t count,
                     struct tn_error *err);

/* Makes what was written final: code becomes executable, read-only data read-only. TN_EPERM, TN_ENOMEM. */
int tn__codemem_publish(const struct tn__window *window, enum tn_zone kind, struct tn__range *range,
                        struct tn_error *err);

void tn__codemem_give(struct tn__window *window, enum tn_zone kind, struct tn__range *range);

/* True if every place in the window reaches `address` with a signed 32-bit displacement. */
bool tn__window_reaches(const struct tn__window *window, uint64_t address);

/* Mappings this memory has made and not given back. */
uint64_t tn__codemem_mappings(const struct tn__codemem *memory);

#pragma GCC visibility pop
#endif
