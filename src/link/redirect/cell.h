/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Cells: what leads the callers of a function that can be led elsewhere (doc/REDIRECT.md).
 *
 * A stub is immutable code that jumps through the word of its cell, in writable data, so only data ever changes. The
 * word of a function that has not been looked up leads to the entry, a part of the runtime written per architecture: it
 * saves every register that may hold an argument, asks tn__lazy_resolve where the call goes, and continues there as if
 * it had never intervened. Stubs are made in blocks; they are handed out and taken back one by one (stubs.c).
 *
 * A collector of managed objects is told of each call that waits for its function (base/lazy_frame.h). The entry
 * restores registers from the frame, so a collector that moves objects changes the frame.
 *
 * All of it is reached through session->lazy, so a program that names no function of lazy/lazy.c has none of it. */

#ifndef TENON_CELL_H
#define TENON_CELL_H

#include <stdatomic.h>

#include "base/lazy_frame.h"
#include "base/tree.h"
#include "link/passes/link.h"

#pragma GCC visibility push(hidden)

/* Called by the entry: links the function whose stub was called, and answers the address at which the call goes on,
 * that of the failure handler if there is no function. May call lazy stubs itself. */
uint64_t tn__lazy_resolve(struct tn__lazy_frame *frame);

/* ---- architectures ---- */

/* How vector registers are saved. Assembly reads the first two members. */
struct tn__lazy_way {
    uint64_t size;       /* of the save area in bytes; 0: not supported here, or not known yet */
    uint64_t components; /* of the state, where the processor numbers them */
    const char *name;
    const void *entry;
};

/* Everything specific to the processor. */
struct tn__lazy_machine {
    size_t stub_size;
    /* Writes a jump through the word of the cell that also passes the cell's address to the entry. */
    void (*write_stub)(uint8_t *out, uint64_t stub, uint64_t cell);
    /* From the way that every processor supports to the best; the entry of the best one is used. */
    struct tn__lazy_way *ways;
    size_t way_count;           /* 0: there are no stubs for this processor (host_none.c) */
    void (*look)(void);         /* fills in the sizes of the ways that are supported here; called once */
    uint32_t managed_registers; /* of the frame: those that may be named as references */
    const void *removed; /* target of stubs without a function: stops the program, with the stack as at the call */
    /* The contents of an unwind table's common entry, from its version on: how to unwind from a stub. */
    const uint8_t *unwind;
    size_t unwind_size;
};

extern const struct tn__lazy_machine tn__lazy_machine;

/* ---- cells (cell.c) ---- */

struct tn__lazy_pool;

/* Where a cell leads: the highest claim that holds. The first and the client's need no memory: the first is looked up,
 * and what the client says is in the word itself. */
enum tn__claim_kind {
    TN__CLAIM_FIRST,   /* what the function was defined as */
    TN__CLAIM_TIER,    /* a better body */
    TN__CLAIM_VERSION, /* of tn_jit_replace */
    TN__CLAIM_RESTING, /* the same, for as long as assumptions hold; these lie on each other */
    TN__CLAIM_CLIENT,  /* of tn_redirect */
};

/* The claims that somebody has laid to cells. */
struct tn__claims {
    struct tn__list listed; /* under the session's lock */
    atomic_size_t users;    /* the claimant, and the claims */
};

/* A claim that is stored, on a cell, whose it is. */
struct tn__claim {
    struct tn__cell *cell;
    struct tn__claim *below;
    uint64_t address;
    struct tn__cell_facts *to;     /* whose stub the address is; NULL: it is that of code */
    struct tn__claim *arrives_too; /* the next one that leads there */
    struct tn__claims *of;         /* NULL: it has ended, or nobody asks */
    struct tn__list listed;
    enum tn__claim_kind kind;
    /* Of a version. One that has ended stays as long as the stub that it led to: a call that is on its way there, and
     * fails, still finds the cell. */
    enum { TN__CLAIM_HOLDS, TN__CLAIM_HAS_FAILED, TN__CLAIM_HAS_ENDED } state;
};

/* In the memory that stubs read. */
struct tn__cell {
    _Atomic uint64_t word; /* where the stub jumps to */
    union {
        struct tn__cell_facts *facts;
        uint64_t next; /* without a function: the next free stub, or 0 */
    };
};

static inline uint64_t tn__cell_word(const struct tn__cell *cell) TN__LOCKED
{
    return atomic_load_explicit(&cell->word, memory_order_relaxed);
}

/* A claimant, which ends with `release`; NULL: out of memory. The claims stay. */
struct tn__claims *tn__claims_new(void);
static inline void tn__claims_release(struct tn__claims *claims)
{
    if (claims && atomic_fetch_sub(&claims->users, 1) == 1)
        tn__free(NULL, claims);
}
/* True if none is left, and so no cell leads there. */
static inline bool tn__claims_are_gone(const struct tn__claims *claims)
{
    return atomic_load(&claims->users) == 1;
}
/* Takes all of them back. */
void tn__claims_drop(struct tn__claims *claims) TN__LOCKED;

/* A claim for tn__cell_claim, or for tn__claim_free; NULL: out of memory. */
struct tn__claim *tn__claim_new(const struct tn_session *session, enum tn__claim_kind kind, uint64_t address,
                                struct tn__claims *of);
void tn__claim_free(const struct tn_session *session, struct tn__claim *claim);

/* The cell of a symbol's stub; NULL if it is another definition, perhaps one with the address of a stub. */
struct tn__cell *tn__cell_of(const struct tn__lazy_pool *pool, const struct tn__entry *entry) TN__LOCKED;
/* That of the lazy or redirectable function of this name; NULL: there is none. */
struct tn__cell *tn__cell_find(const struct tn_library *library, const char *name) TN__LOCKED;
/* Whether a version claims it that rests on nothing. */
bool tn__cell_has_version(const struct tn__cell *cell) TN__LOCKED;
/* TN_EINVAL: the address leads back to it. */
int tn__cell_check(const struct tn__cell *cell, uint64_t address, struct tn_error *err) TN__LOCKED;
/* Leads it by the first claim, or by the client's. TN_EINVAL as before. */
int tn__cell_lead(struct tn__cell *cell, uint64_t address, enum tn__claim_kind kind, struct tn_error *err) TN__LOCKED;
/* Lays a claim to it. A version takes the place of all others, a tier that of the one before. */
void tn__cell_claim(struct tn__cell *cell, struct tn__claim *claim) TN__LOCKED;
/* Ends the client's claim, and that of a tier. */
void tn__cell_reset(struct tn__cell *cell) TN__LOCKED;
/* The name, memory of the session's allocator, is looked up from now on, in place of what a tier claims: its body. No
 * call may be looking up such a name. */
void tn__cell_look_up_as(struct tn__cell *cell, char *name, uint8_t body) TN__LOCKED;
bool tn__cell_may_look_up_as(const struct tn__cell *cell) TN__LOCKED;
/* A call could not be led on from here: claims of other cells that lead here have failed. Returns the cell where such a
 * call goes on, at what lies below; NULL: there is none. */
struct tn__cell *tn__cell_fail(struct tn__cell *cell) TN__LOCKED;
/* Frees all claims on cells of the batch, and those that lead there: their stubs are about to be given back. */
void tn__cells_forget(struct tn__lazy_batch *batch) TN__LOCKED;
/* Notes that a word leads to this address from now on: removals that are under way may have to wait again. */
void tn__cell_note_target(const struct tn_session *session, uint64_t target) TN__LOCKED;

/* For the hooks (model/hooks.h). */
bool tn__cells_lead_away(struct tn_session *session, const struct tn__places *places) TN__LOCKED;
bool tn__cells_have(const struct tn_session *session, const struct tn__entry *entry) TN__LOCKED;
struct tn_tracker *const *tn__cells_owner(const struct tn_session *session, uint64_t address) TN__LOCKED;
/* Tells images that there are stubs (base/onward.h). */
void tn__cells_announce(void);

/* True for a name to look up that came later than the function: it is freed apart. */
static inline bool tn__cell_has_later_name(const struct tn__cell_facts *facts)
{
    return facts->looks_up && (uintptr_t)facts->looks_up - (uintptr_t)facts->batch >= facts->batch->size;
}

/* ---- stubs (stubs.c) ---- */

struct tn__lazy_pool {
    struct tn__lazy_hooks hooks;
    uint64_t entry;          /* the word of unresolved cells */
    struct tn__tree *blocks; /* by address of the first stub */
    uint64_t free;           /* the first free stub, or 0 */
    size_t free_count, count;
};

/* The session's, which exists. */
static inline struct tn__lazy_pool *tn__lazy_pool_of(const struct tn_session *session)
{
    return tn__container_of(session->lazy, struct tn__lazy_pool, hooks);
}

/* Ensures that `count` stubs are free. TN_ENOMEM, TN_EPERM. */
int tn__lazy_reserve(struct tn_session *session, size_t count, struct tn_error *err) TN__LOCKED;
/* Takes a free stub, which must exist, for a function. Returns its address. */
uint64_t tn__lazy_take(struct tn__lazy_pool *pool, struct tn__cell_facts *facts, uint64_t target);
void tn__lazy_give(struct tn__lazy_pool *pool, uint64_t stub);
/* The cell of the stub at this address, perhaps without a function; NULL if there is no stub. */
struct tn__cell *tn__cell_at(const struct tn__lazy_pool *pool, uint64_t address);
/* Calls `visit` for every cell; true if any of the calls returned true. */
typedef bool tn__cell_visit(const struct tn__lazy_pool *pool, struct tn__cell *cell, const void *context);
bool tn__cells_each(const struct tn__lazy_pool *pool, tn__cell_visit *visit, const void *context);

/* ---- first calls (first_call.c) ---- */

/* Frees what is known of functions that were removed; their libraries may be gone afterwards. */
void tn__lazy_free_batch(struct tn__lazy_batch *batch) TN__LOCKED;

/* ---- bodies of one function (raise.c) ---- */

/* A lazy function and a better body of it, by name and by number (struct tn__cell_facts). Another function may have the
 * name by now: `maker` tells whose this one is. */
struct tn__lazy_better {
    const char *name, *best;
    uint8_t body;
    const void *maker;
};

/* Makes the function lead to the body if it leads to a lesser one of its maker's, or was not called yet; *changed: it
 * did. All of this is one step: what the client redirects, and what is removed or replaced by now, stays as it is.
 * TN_EDUP: it leads elsewhere, or is not its maker's any more; TN_EUNDEF: the body is not there, or not linked;
 * TN_EREMOVED: the library is removed; TN_ENOMEM. */
int tn__lazy_raise(struct tn_library *library, const struct tn__lazy_better *better, bool *changed,
                   struct tn_error *err);

/* The function's cell, if it is still this maker's; NULL: it is not there, or another one has its name. */
struct tn__cell *tn__lazy_cell_of(const struct tn_library *library, const struct tn__lazy_better *better) TN__LOCKED;
/* Where a symbol is linked; 0: it is not, or is not this library's. */
uint64_t tn__lazy_linked_at(const struct tn_library *library, const char *name) TN__LOCKED;

/* ---- bodies that are not called any more (bodies.c) ---- */

/* A lazy function, the body that it is led to, and the names of its earlier ones. */
struct tn__lazy_bodies {
    struct tn__lazy_better better;
    const char **old;
};

/* Has these functions look up their best bodies from now on, whatever resets their cells, and frees the code of
 * `old_count` earlier ones of each once threads are quiescent, by the session's thread for that (reclaim.c). Earlier
 * bodies are defined by objects that define nothing else. TN_ENOTSUP: such an object stays, because addresses of its
 * constants may be kept, or a call is looking a function up; TN_EUNDEF: there is nothing to free; TN_EREMOVED,
 * TN_ENOMEM, TN_ECANCELLED. */
int tn__lazy_retire(struct tn_library *library, const struct tn__lazy_bodies *functions, size_t count, size_t old_count,
                    struct tn_error *err);

#pragma GCC visibility pop
#endif
