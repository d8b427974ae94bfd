/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lazy stubs and redirectable functions.
 *
 * A stub is immutable code that jumps through its own slot in writable data, so only data ever changes. The slot of a
 * function that has not been looked up leads to the entry, a part of the runtime written per architecture: it saves
 * every register that may hold an argument, asks tn__lazy_resolve where the call goes, and continues there as if it had
 * never intervened. Stubs are made in blocks; they are handed out and taken back one by one (lazy_pool.c).
 *
 * A collector of managed objects is told of each call that waits for its function (base/lazy_frame.h). The entry
 * restores registers from the frame, so a collector that moves objects changes the frame.
 *
 * All of it is reached through session->lazy, so a program that names no function of lazy.c has none of it. */

#ifndef TENON_CELL_H
#define TENON_CELL_H

#include "base/lazy_frame.h"
#include "base/tree.h"
#include "link/core/link.h"

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
    /* Writes a jump through the slot that also passes the slot's address to the entry. */
    void (*write_stub)(uint8_t *out, uint64_t stub, uint64_t slot);
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

/* ---- stubs and their slots (lazy_pool.c) ---- */

struct tn__lazy_slot {
    _Atomic uint64_t target;
    union {
        struct tn__lazy_record *record;
        uint64_t next; /* without a function: the next free stub, or 0 */
    };
};

struct tn__lazy_pool {
    struct tn__lazy_hooks hooks;
    uint64_t entry;          /* the target of unresolved slots */
    struct tn__tree *blocks; /* by address of the first stub */
    uint64_t free;           /* the first free stub, or 0 */
    size_t free_count, count;
};

/* The session's, which exists. */
static inline struct tn__lazy_pool *tn__lazy_pool_of(const struct tn_session *session)
{
    return tn__container_of(session->lazy, struct tn__lazy_pool, hooks);
}

/* All under the session's lock. */

/* Ensures that `count` stubs are free. TN_ENOMEM, TN_EPERM. */
int tn__lazy_reserve(struct tn_session *session, size_t count, struct tn_error *err);
/* Takes a free stub, which must exist, for the function of the record. Returns its address. */
uint64_t tn__lazy_take(struct tn__lazy_pool *pool, struct tn__lazy_record *record, uint64_t target);
void tn__lazy_give(struct tn__lazy_pool *pool, uint64_t stub);
/* The slot of the stub at this address; NULL if there is no stub. */
struct tn__lazy_slot *tn__lazy_slot_at(const struct tn__lazy_pool *pool, uint64_t address);
/* Calls `visit` for every slot; true if any of the calls returned true. */
typedef bool tn__lazy_visit(const struct tn__lazy_pool *pool, struct tn__lazy_slot *slot,
                            const struct tn__places *places);
bool tn__lazy_each(const struct tn__lazy_pool *pool, tn__lazy_visit *visit, const struct tn__places *places);

/* ---- definitions (lazy.c) ---- */

/* Checks what a client gave. TN_EINVAL, TN_ENOTSUP. */
int tn__lazy_take_options(const struct tn_library *library, const struct tn_stub_options *given, bool may_fail,
                          struct tn_stub_options *options, struct tn_error *err);
/* A batch that leads to symbols of `targets`; NULL: out of memory. */
struct tn__lazy_batch *tn__lazy_new_batch(struct tn_library *library, const struct tn_lazy_symbol *symbols,
                                          size_t count, struct tn_library *targets,
                                          const struct tn_stub_options *options);
/* Under the lock: finds the entries of its names. Then, once no link holds one of these (it waits for that), defines
 * all or none; `target` 0: they are looked up. Errors as for tn_define_lazy. */
int tn__lazy_find_entries(struct tn__lazy_batch *batch, const struct tn_lazy_symbol *symbols, struct tn_error *err);
int tn__lazy_define(struct tn__lazy_batch *batch, const struct tn_lazy_symbol *symbols, uint64_t target,
                    struct tn_tracker *owner, struct tn_error *err);

/* Under the lock. The slot of a symbol's stub; NULL if it is another definition, perhaps one with the address of a
 * stub. Then: makes it lead to an address; TN_EINVAL: that leads back to it. */
struct tn__lazy_slot *tn__lazy_slot_of(const struct tn__lazy_pool *pool, const struct tn__entry *entry);
int tn__lazy_lead(const struct tn__lazy_pool *pool, struct tn__lazy_slot *slot, uint64_t address, struct tn_error *err);
/* Ends the client's redirection, if there is one: the stub leads to what is below. */
int tn__lazy_reset(const struct tn__lazy_pool *pool, struct tn__lazy_slot *slot, struct tn_error *err);

/* ---- bodies of one function (lazy_raise.c) ---- */

/* Bodies of a lazy function, the best one last. `is_current`, called under the lock: whether they are still those that
 * have these names. */
struct tn__lazy_better {
    const char *name, *const *bodies;
    size_t count;
    bool (*is_current)(const void *context);
    const void *context;
};

/* Makes the function lead to the best one if it leads to another one of these, or was not called yet; *changed: it did.
 * Its first call looks up one of them.
 * All of this is one step: what the client redirects, and what is removed or replaced by now, stays as it is. TN_EDUP:
 * it leads elsewhere; TN_EUNDEF: it or the best one is not there, or not linked; TN_EREMOVED: the library is removed,
 * or the bodies are not current. */
int tn__lazy_raise(struct tn_library *library, const struct tn__lazy_better *better, bool *changed,
                   struct tn_error *err);

/* Where a function, lazy or redirectable, leads unless the client redirects it. `cover`: to this version; *is_first:
 * there was none. TN_EUNDEF, TN_EREMOVED, TN_EINVAL (that leads back to it). `uncover`: to the version `to`, if it is
 * `from` by now; NULL: it looks up what it did at first. */
int tn__lazy_cover(struct tn_library *library, const char *name, const void *version, bool *is_first,
                   struct tn_error *err);
void tn__lazy_uncover(struct tn_library *library, const char *name, const void *from, const void *to);

/* The slot of the lazy or redirectable function of this name; NULL: there is none. Under the lock. */
struct tn__lazy_slot *tn__lazy_find_slot(const struct tn_library *library, const char *name);
/* Where a symbol is linked; 0: it is not, or is not this library's. Under the lock. */
uint64_t tn__lazy_linked_at(const struct tn_library *library, const char *name);

/* ---- bodies that are not called any more (lazy_retire.c) ---- */

/* A lazy function, which body it is led to, and its earlier ones. */
struct tn__lazy_bodies {
    const char *name, *best, **old;
};

/* Has these functions look up their best bodies from now on, whatever resets their stubs, and frees the code of
 * `old_count` earlier ones of each once threads are quiescent, by the session's thread for that (reclaim.c). Earlier
 * bodies are defined by objects that define nothing else. TN_ENOTSUP: such an object stays, because addresses of its
 * constants may be kept, or a call is looking a function up; TN_EUNDEF: there is nothing to free; TN_EREMOVED,
 * TN_ENOMEM, TN_ECANCELLED. */
int tn__lazy_retire(struct tn_library *library, const struct tn__lazy_bodies *functions, size_t count, size_t old_count,
                    struct tn_error *err);

/* True for a name to look up that came later than the function: it is freed apart. */
static inline bool tn__lazy_has_later_target(const struct tn__lazy_record *record)
{
    return record->target && (uintptr_t)record->target - (uintptr_t)record->batch >= record->batch->size;
}

/* ---- what observers are told (lazy_names.c) ---- */

/* Under the session's lock, when stubs have been taken for these records of one definition. TN_ENOMEM, or what an
 * observer answers; then it is as if none had been told. */
int tn__lazy_tell_defined(const struct tn_library *library, const struct tn__lazy_record *records, size_t count,
                          struct tn_error *err);
/* They are about to be given back. */
void tn__lazy_tell_removed(const struct tn_library *library, const struct tn__lazy_record *records, size_t count);

#pragma GCC visibility pop
#endif
