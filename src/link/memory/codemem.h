/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code memory: windows of reserved address space, divided into zones by permission, in which ranges are packed side by
 * side.
 *
 * A window holds code, read-only data and writable data, each zone in chunks of growing size. How a chunk becomes
 * writable in one place and executable in another is up to the strategy (strategy.h). The first window is within reach
 * of the program; a second one below 2 GiB is created when an object needs 32-bit absolute addresses. codemem.c has the
 * windows, zones.c what is in them.
 *
 * Ranges are taken and given back under the session's lock, but filled and published without it. */

#ifndef TENON_CODEMEM_H
#define TENON_CODEMEM_H

#include "base/locked.h"
#include "link/memory/ranges.h"
#include "link/memory/page_map.h"
#include "link/memory/strategy.h"

#pragma GCC visibility push(hidden)

enum { TN__WINDOW_NEAR, TN__WINDOW_LOW, TN__WINDOWS };

/* A chunk and the ranges in it. */
struct tn__region {
    struct tn__list listed; /* in the zone */
    struct tn__code_zone *zone;
    struct tn__chunk chunk;
    struct tn__ranges ranges;
    uint64_t touched_end; /* the chunk is populated up to here */
    bool abandoned;       /* shared with another process: nothing more is written there, and free pages leave it */
    /* If the strategy has an alias: */
    bool sealed;        /* it is inaccessible */
    bool full;          /* nothing more is taken, until much has been given back */
    bool seal_wanted;   /* as soon as there are no writers */
    size_t writers;     /* ranges that were taken and are not settled */
    uint64_t used_then; /* when it became full */
};

struct tn__code_zone {
    enum tn_zone kind;
    bool permitted, refused; /* pages of the own kind: known once they were tried */
    const struct tn__strategy_ops *strategy;
    const struct tn_memory *client; /* the owner of the memory; NULL: the session */
    enum tn__prot prot;
    struct tn__list regions, abandoned; /* newest first */
    struct tn__range_pool pool;
    uint64_t base;     /* chunks lie from here on, if there is space */
    size_t chunk_size; /* of the next chunk */
    size_t first_chunk, largest_chunk;
    uint64_t generation; /* the fork generation in which the regions were made */
    uint64_t used;       /* bytes handed out */
    uint64_t mappings;
    uint64_t holes; /* in own pages: free pieces that were made writable again */
};

struct tn__window {
    uint64_t start, end; /* 0, 0: there is no such window */
    size_t page_size;    /* chunks are aligned to it */
    bool elsewhere;      /* in another address space */
    struct tn__page_map map;
    struct tn__code_zone zones[TN_ZONES];
    struct tn__code_zone own[TN_ZONES]; /* of large links; without a strategy if there are none */
    struct tn__run *runs[TN_ZONES];     /* ranges are taken from these first */
};

struct tn__codemem {
    const struct tn_allocator *from;
    const struct tn__strategy_ops *strategy;
    struct tn_memory client; /* for the client strategies */
    struct tn__window windows[TN__WINDOWS];
    size_t low_size; /* of the low window, if it has to be created */
    uint64_t random; /* what addresses depend on, apart from those of aliases */
};

/* Reserves the near window and chooses the strategy. `size` 0: the default, or less if the system allows only less.
 * TN_EINVAL, TN_ENOMEM, TN_EPERM (the text names what was refused). */
int tn__codemem_open(struct tn__codemem *memory, const struct tn_allocator *from, size_t size, uint64_t near,
                     enum tn_strategy wanted, struct tn_error *err);
/* Sets up a window of client memory, without calling the client yet. TN_EINVAL. */
int tn__codemem_open_client(struct tn__codemem *memory, const struct tn_allocator *from, const struct tn_memory *given,
                            struct tn_error *err);
void tn__codemem_close(struct tn__codemem *memory);

/* Switches to private memory, if the system permits it: debuggers write breakpoints past page protection, but not into
 * shared mappings such as the views of a memfd, which perf moreover takes for files. TN_EINVAL: too late, something is
 * linked. */
int tn__codemem_make_private(struct tn__codemem *memory, struct tn_error *err);

/* The window for objects that need absolute 32-bit addresses, created on first use. TN_ENOMEM. */
int tn__codemem_low_window(struct tn__codemem *memory, struct tn__window **window, struct tn_error *err);

/* ---- zones (zones.c) ---- */

enum { TN__FIRST_CHUNK = 4 << 20 };

/* `base`: from where on its chunks lie, if there is space. */
void tn__zone_open(struct tn__code_zone *zone, const struct tn__window *window, enum tn_zone kind, uint64_t base,
                   const struct tn__strategy_ops *strategy, const struct tn_memory *client,
                   const struct tn_allocator *from);
void tn__zone_close(struct tn__code_zone *zone);

/* Refusals by policy and lack of memory call for different errors. */
bool tn__is_refusal(int error);
/* Turns what a strategy's function returned into TN_EPERM or TN_ENOMEM. */
int tn__zone_fail(struct tn_error *err, int error, const struct tn__strategy_ops *strategy, enum tn_zone kind);

/* Takes a range of an existing region, or of a new one. */
int tn__zone_take(struct tn__window *window, struct tn__code_zone *zone, size_t size, size_t alignment,
                  struct tn__mem_range **range, struct tn_error *err);

/* Pages that filling a range will touch for the first time. Determined when it is taken, used when it is filled. */
struct tn__backing {
    uint64_t from, to; /* addresses; equal if there are none */
};

/* Takes `size` bytes in a zone, the first `touch` of which will be filled; they are written at range->write and visible
 * at range->address. TN_ENOMEM, TN_EPERM. */
int tn__codemem_take(struct tn__window *window, enum tn_zone kind, size_t size, size_t alignment, size_t touch,
                     struct tn__mem_range **range, struct tn__backing *backing, struct tn_error *err) TN__LOCKED;

/* Writes the pieces consecutively, starting at `offset` in the range; offsets must ascend from call to call. */
void tn__codemem_fill(const struct tn__mem_range *range, struct tn__backing *backing, size_t offset,
                      const struct tn__piece *pieces, size_t count);

/* Makes the contents final: code becomes executable, read-only data read-only. TN_EPERM, TN_ENOMEM. */
int tn__codemem_publish(const struct tn__window *window, struct tn__mem_range *range, struct tn_error *err);

/* The range, which may be NULL, will not be written any more, except by the program. Every range has to be settled
 * unless it is given back. TN_EPERM, TN_ENOMEM: its alias cannot be made inaccessible, which was due. */
int tn__codemem_settle(struct tn__mem_range *range, struct tn_error *err) TN__LOCKED;

void tn__codemem_give(struct tn__window *window, struct tn__mem_range *range) TN__LOCKED;

/* Makes all aliases inaccessible, each once no range is written through it. TN_EPERM, TN_ENOMEM. */
int tn__codemem_seal(struct tn__codemem *memory, struct tn_error *err) TN__LOCKED;

/* ---- links that share no pages with others (own_pages.c) ---- */

/* From this size on, the code and constants of a link are written to private anonymous pages of its own, which then
 * become executable or read-only. That costs two system calls per zone, and less than the pages of a memfd. */
enum { TN__LARGE_LINK = 64 << 10 };

struct tn__run {
    uint64_t address;
    size_t size;                /* 0: there is none, and ranges are taken as usual */
    struct tn__mem_range *rest; /* of which ranges are taken */
};

/* Begins to take the ranges of one link: from such pages, if the zone has them and they are permitted. `size`: what the
 * ranges occupy together, in the order in which they will be taken; `alignment`: the largest of theirs. */
void tn__run_begin(struct tn__window *window, enum tn_zone kind, size_t size, size_t alignment,
                   struct tn__run *run) TN__LOCKED;
/* Takes a range from the current run; NULL if there is none, or no space in it. */
struct tn__mem_range *tn__run_take(struct tn__window *window, enum tn_zone kind, size_t size,
                                   size_t alignment) TN__LOCKED;
/* Gives back a range of a run that may be over. */
void tn__run_give(const struct tn__window *window, struct tn__mem_range *range) TN__LOCKED;
/* All ranges are taken. */
void tn__run_end(struct tn__window *window, enum tn_zone kind) TN__LOCKED;
/* Makes the contents of all its ranges final. TN_EPERM, TN_ENOMEM. */
int tn__run_publish(struct tn__window *window, enum tn_zone kind, const struct tn__run *run, struct tn_error *err);

/* The bytes in use in a zone. */
uint64_t tn__window_used(const struct tn__window *window, enum tn_zone kind);

/* True if no place in the window is further from `address` than `limit`. */
bool tn__window_reaches(const struct tn__window *window, uint64_t address, uint64_t limit);

/* The number of mappings made and not released. */
uint64_t tn__codemem_mappings(const struct tn__codemem *memory);

#pragma GCC visibility pop
#endif
