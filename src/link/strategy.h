/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How bytes get into memory that is never writable and executable at one address: one file per strategy. */

#ifndef TENON_STRATEGY_H
#define TENON_STRATEGY_H

#include "base/os.h"

#pragma GCC visibility push(hidden)

/* A piece of a window, or of one range where the strategy does not pack. Whole pages. */
struct tn__chunk {
    struct tn__chunk *next;
    uint64_t address;
    size_t size;
    uint8_t *alias; /* where it is written; NULL once that is over */
    int pid;        /* of the process that mapped `alias` */
    bool has_file;  /* `fd` is open: large pieces are written through it */
    int fd;
    struct tn__os_identity file;    /* `fd` as long as it is this one */
    const struct tn_memory *client; /* whose memory it is; NULL: the session's own */
};

struct tn__strategy {
    enum tn_strategy id;
    const char *name;
    const char *policy; /* what usually refuses it, for TN_EPERM */
    bool packs;  /* ranges may share pages and be written at any time; if not, each has its own and is written once */
    bool shared; /* parent and child of a fork would see each other's writes: new chunks after a fork */
    /* Both answer 0 or an errno value; or a code of enum tn_code, with `err` filled. `map` makes chunk->size bytes at
     * chunk->address writable through chunk->alias. */
    int (*map)(struct tn__chunk *chunk, enum tn__prot prot, struct tn_error *err);
    int (*publish)(struct tn__chunk *chunk, enum tn__prot prot, struct tn_error *err);
    void (*unmap)(struct tn__chunk *chunk, enum tn__prot prot);
    /* Ends writing, in this process or in the parent that it was forked from. NULL if `shared` is false. */
    void (*leave)(struct tn__chunk *chunk);
};

extern const struct tn__strategy tn__strategy_dual, tn__strategy_sealed, tn__strategy_mprotect;
/* Private memory that stays writable: the data zone of every strategy, */
extern const struct tn__strategy tn__strategy_data;
/* but for these, whose every zone is the client's. */
extern const struct tn__strategy tn__strategy_client, tn__strategy_client_packed;

/* What strategies that start from private memory share (strategy_data.c). */
int tn__chunk_map_private(struct tn__chunk *chunk, enum tn__prot prot, struct tn_error *err);
void tn__chunk_unmap_private(struct tn__chunk *chunk, enum tn__prot prot);

#pragma GCC visibility pop
#endif
