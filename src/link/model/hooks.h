/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The ways up: functions of upper rooms that core and session call. A session reaches them through pointers, which are
 * set when the upper room is first used: a program that names no function of a room contains nothing of it. */

#ifndef TENON_HOOKS_H
#define TENON_HOOKS_H

#include "base/base.h"
#include "base/locked.h"

#pragma GCC visibility push(hidden)

struct tn__entry;
struct tn__link;
struct tn__pin;

/* ---- observers (observe/observer.c) ---- */

/* A session's observers. Without any, the functions are NULL. They are called under the session's lock. */
struct tn__observers {
    struct tn_observer *items;
    size_t count, capacity;
    int (*linked)(struct tn__link *link);      /* everything is in place; an error is the link's */
    void (*removed)(struct tn_tracker *owner); /* its objects are about to be removed */
};

/* model/observers.c. These describe objects to each observer. If one refuses them, those that had accepted them are
 * told of their removal. */
int tn__observers_tell(struct tn_session *session, const struct tn_linked_object *const *objects, size_t count,
                       struct tn_error *err) TN__LOCKED;
void tn__observers_tell_removed(struct tn_session *session, const struct tn_linked_object *const *objects,
                                size_t count) TN__LOCKED;

/* ---- lazy and redirectable functions (lazy/lazy.c, redirect/cell.c) ---- */

/* The places of code to be removed; sorted, without overlaps. */
struct tn__places {
    struct tn_range *items;
    size_t count;
};

struct tn__lazy_hooks {
    /* Removes the tracker's stubs with their names. */
    void (*forget)(struct tn_tracker *owner);
    /* Resets every cell that leads to one of these places, or to a stub whose names are hidden: its next call looks the
     * function up again. True if there was such a cell. */
    bool (*lead_away)(struct tn_session *session, const struct tn__places *places);
    /* Whether the entry's definition is a stub. */
    bool (*is_stub)(const struct tn_session *session, const struct tn__entry *entry);
    /* The owner, which may change, of the stub at this address; NULL: there is none. */
    struct tn_tracker *const *(*owner_of)(const struct tn_session *session, uint64_t address);
};

/* ---- lookups with a handle (demand/cancel.c) ---- */

struct tn__handle_hooks {
    void (*after_fork)(struct tn_session *session); /* in the child, under the lock */
    void (*close)(struct tn_session *session);      /* the session ends, and all lookups have */
};

/* ---- removals that do not wait (session/reclaim.c) ---- */

struct tn__reclaim_hooks {
    void (*after_fork)(struct tn_session *session); /* in the child, under the lock */
    void (*stop)(struct tn_session *session);       /* the session ends: the thread that finishes removals does, too; */
    void (*close)(struct tn_session *session);      /* then what it has left is removed */
};

/* ---- libraries that are opened and closed (dl/open.c) ---- */

struct tn__dl_hooks {
    void *(*find)(const char *name); /* as a resolver, before all others; may be NULL */
    /* TN_EINVAL: it is open, or it was loaded for dlopen and goes. */
    int (*check_closed)(const struct tn_library *library, bool goes, struct tn_error *err);
    void (*after_fork)(struct tn_session *session); /* in the child, under the lock */
    void (*close)(struct tn_session *session);      /* the session ends */
};

/* ---- code instances (instance/instance.c) ---- */

/* A round of a removal of published code, by numbers of publications: code published in (since, until] was or is
 * withdrawn in this round. All zero before the first. */
struct tn__withdrawal {
    uint64_t since, until;
};

/* These functions take their own locks; session locks may be held. */
struct tn__instances {
    /* Begins the next round. */
    void (*begin)(struct tn__withdrawal *round);
    /* The first step of a removal: points every instance with code of the tracker at its generic entry. True if threads
     * may be running such code, even if other code has replaced it by now: then tn_quiesce, `clear` and another round
     * must follow before the code is freed. */
    bool (*withdraw)(struct tn_tracker *tracker, const struct tn__withdrawal *round);
    /* The last step of a round: allows the instances to get other code. Does nothing if code of the tracker was
     * published in the round: some of that may have been withdrawn since, and threads may be running it. */
    void (*clear)(struct tn_tracker *tracker, const struct tn__withdrawal *round);
    /* Moves the instances of one tracker to another. */
    void (*move)(struct tn_tracker *from, struct tn_tracker *to);
    /* The first step of a removal for the tracker's instances with one of these entries. */
    void (*withdraw_entries)(struct tn_tracker *tracker, const void *const *entries, size_t count);
};

/* ---- linking for another address space (file/) ---- */

/* What such a session does differently; its creator keeps it. */
struct tn__detached {
    uint64_t address; /* of the window */
    size_t size, page_size;
    const struct tn__pin *pins; /* see file/detached.h */
    size_t pin_count;
    uint64_t tls_size; /* of thread-local data, handed out so far */
    bool lays_out; /* `arrange` gives everything its place and its bytes: the phases from layout to copy do not run */
    int (*arrange)(struct tn__link *link); /* before layout */
    int (*finish)(struct tn__link *link);  /* when all relocations are applied; may be NULL */
    void *context;                         /* of these functions */
};

#pragma GCC visibility pop
#endif
