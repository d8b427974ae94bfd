/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How bytes get into memory that is never both writable and executable at one address. One file per strategy. */

#ifndef TENON_STRATEGY_H
#define TENON_STRATEGY_H

#include "base/os.h"

#pragma GCC visibility push(hidden)

/* A piece of a window; if the strategy does not pack, that of a single range. Whole pages. */
struct tn__chunk {
    uint64_t address;
    size_t size;
    uint8_t *alias;                 /* where it is written; NULL once it is final */
    int pid;                        /* the process that mapped `alias` */
    const struct tn_memory *client; /* the owner of the memory; NULL: the session */
};

struct tn__strategy_ops {
    enum tn_strategy id;
    const char *name;
    const char *policy; /* the usual reason for refusals, for TN_EPERM */
    bool packs;  /* ranges share pages and may be written at any time; otherwise each has its own pages, written once */
    bool files;  /* memory comes from memfds, which are subject to RLIMIT_FSIZE */
    bool shared; /* parent and child of a fork would see each other's writes, so both need new chunks */
    /* Both return 0, an errno value, or a code of enum tn_code with `err` filled in. `map` makes chunk->size bytes at
     * chunk->address writable through chunk->alias. */
    int (*map)(struct tn__chunk *chunk, enum tn__prot prot, struct tn_error *err);
    int (*publish)(struct tn__chunk *chunk, enum tn__prot prot, struct tn_error *err);
    void (*unmap)(struct tn__chunk *chunk, enum tn__prot prot);
    /* If `shared`: makes the alias inaccessible, or writable again; returns 0 or an errno value. */
    int (*protect)(const struct tn__chunk *chunk, bool writable);
    /* If `shared`: ends writing, after a fork or for good. */
    void (*leave)(struct tn__chunk *chunk);
};

extern const struct tn__strategy_ops tn__strategy_dual, tn__strategy_sealed, tn__strategy_mprotect;
/* Private memory that stays writable: the data zone of every strategy */
extern const struct tn__strategy_ops tn__strategy_data;
/* Private memory of links that share no pages with others (own_pages.c) */
extern const struct tn__strategy_ops tn__strategy_own;
/* except these, whose zones are all the client's. */
extern const struct tn__strategy_ops tn__strategy_client, tn__strategy_client_packed;

/* Shared by strategies that start from private memory (strategy_data.c). */
int tn__chunk_map_private(struct tn__chunk *chunk, enum tn__prot prot, struct tn_error *err);
void tn__chunk_unmap_private(struct tn__chunk *chunk, enum tn__prot prot);

#pragma GCC visibility pop
#endif
