/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code instances: how compiled code reaches its callers while other threads compile, replace and remove it.
 *
 * A code instance is one version of one function, in whatever state: not compiled, being waited for, interpreted,
 * compiled. It is embedded in an object of the client, which must keep it as long as any thread uses it. Its layout is
 * part of the runtime ABI, so generated code may read it.
 *
 *     invoke    specsigflags  specptr
 *     NULL      00            NULL     not compiled
 *     entry     00            NULL     call the entry: generic code, a wait entry, or code that reads neither word
 *     entry     10            P        compiled; the entry may call P, whose signature is not special
 *     entry     11            P        compiled; P has a signature of its own, which callers may know
 *
 * `invoke` has a signature that all instances share, and is called with the instance among its arguments. Once the
 * ready bit is set, invoke and the low bit do not change until the code is withdrawn; specptr changes only to
 * equivalent code. Anything ever read from these words may be called until the calling thread passes a quiescent point
 * (tn_quiesce).
 *
 * Reading, as tn_instance_read does and generated code may do:
 *     1  I = load invoke, acquire          2  I is NULL, or the wait entry and not wanted: (NULL, 00, NULL)
 *     3  P = load specptr, acquire         4  P is NULL: (I, 00, NULL)
 *     5  F = load specsigflags, acquire    6  not ready: start over; withdrawn: (I, 00, NULL)
 *     7  I = load invoke, acquire
 *     8  F = load specsigflags, acquire    9  withdrawn: (I, 00, NULL)
 *    10  load specptr; not P: start over; else (I, F, P)
 * An entry reached through `invoke` may simply load specptr: it finds code of its own kind, never NULL.
 *
 * Compiling an instance:
 *     struct tn_lease lease;
 *     if (tn_instance_reserve(instance, &lease) == TN_RESERVED) {
 *         struct tn_instance_code code = {.invoke = compile(instance)};
 *         if (code.invoke)
 *             tn_instance_publish(instance, &code, tracker, &err);
 *         else
 *             tn_instance_fall_back(instance);
 *     }
 *     tn_instance_release(&lease); */

#ifndef TENON_API_INSTANCE_H
#define TENON_API_INSTANCE_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_tracker;

enum {
    TN_INSTANCE_SPECSIG = 1,   /* specptr has a signature of its own */
    TN_INSTANCE_READY = 2,     /* all words have their published values */
    TN_INSTANCE_WITHDRAWN = 4, /* the code is being removed: readers see none */
};

/* Entries shared by all instances of one kind. Both have the signature of `invoke`. */
struct tn_instance_entries {
    void *generic; /* an interpreter or whatever runs uncompiled functions; NULL: the client checks for NULL */
    void *wait;    /* helps to compile the instance or waits for it, then calls it; NULL: none */
};

struct tn_instance;

struct tn_instance_link { /* in a tracker's list */
    struct tn_instance *next, **previous;
    struct tn_tracker *owner;
};

struct tn_instance {
    void *invoke;
    void *specptr;
    uint32_t specsigflags; /* TN_INSTANCE_... */
    uint32_t reserved;     /* 0 */
    const struct tn_instance_entries *entries;
    struct tn_instance_link links[2]; /* the owners of the code published, and of the code it was updated to */
};

/* The code of an instance, as read and as published. */
struct tn_instance_code {
    void *invoke;
    void *specptr;
    uint32_t specsigflags; /* TN_INSTANCE_SPECSIG and TN_INSTANCE_READY; publishing sets the latter itself */
};

/* Initialises an instance as not compiled; `entries` must outlive it. Equivalent to zeroing it and setting
 * `entries`. */
TN_API void tn_instance_init(struct tn_instance *instance, const struct tn_instance_entries *entries);

/* Removes the instance from the lists of trackers, after which its memory may be reused. Its code is not affected. */
TN_API void tn_instance_finish(struct tn_instance *instance);

/* Returns one of the states above. If `waitcompile` is 0, an instance being waited for is reported as not compiled. */
TN_API struct tn_instance_code tn_instance_read(const struct tn_instance *instance, int waitcompile);

/* Not compiled -> being waited for: callers get the wait entry. Does nothing in other states. */
TN_API void tn_instance_promise(struct tn_instance *instance);

/* Not compiled or being waited for -> generic: compilation failed or is not wanted. Does nothing in other states. Code
 * may still be published later. */
TN_API void tn_instance_fall_back(struct tn_instance *instance);

/* Publishes compiled code, with or without specptr. The code is withdrawn with the tracker `owner` (NULL: never).
 * TN_EDUP: other code was published first, or its removal has not ended; discard this code and read the instance.
 * TN_EINVAL (invoke is NULL or one of the shared entries, unknown flags, flags without specptr). */
TN_API int tn_instance_publish(struct tn_instance *instance, const struct tn_instance_code *code,
                               struct tn_tracker *owner, struct tn_error *err);

/* Replaces specptr, which the caller must have read since its last quiescent point, by equivalent code, with the same
 * signature and callable by the same entry. The new code belongs to the tracker `owner`; the instance returns to its
 * generic entry when either that tracker or the one it was published for is removed. TN_EDUP: specptr is no longer
 * `from`, and was not changed. TN_EINVAL (NULL). */
TN_API int tn_instance_update(struct tn_instance *instance, void *from, void *to, struct tn_tracker *owner,
                              struct tn_error *err);

/* Withdraws the code of instances: points them at their generic entries, waits as tn_quiesce does, and lets other code
 * be published. Meanwhile an entry that was reached through the old `invoke` still finds its specptr. After that no
 * attached thread runs the old code, and it may be freed. tn_tracker_remove does this for all code of a tracker. Only
 * one thread at a time may withdraw an instance. */
TN_API void tn_instances_withdraw(struct tn_instance *const *instances, size_t count);

/* The right to compile an instance, in memory of the compiling thread; its members are private. */
struct tn_lease {
    struct tn_instance *instance;
    struct tn_lease *next;
};

enum tn_reservation {
    TN_RESERVED = 0,      /* compile it, publish it or fall back, and release the lease */
    TN_ALREADY_COMPILED,  /* read it; after a wait this may also mean that another thread failed */
    TN_RESERVATION_CYCLE, /* its compiler waits for this thread: compile a private copy, or call the generic entry */
};

/* Ensures that only one thread compiles an instance: others wait until it releases its lease. A thread may hold several
 * leases. Before waiting, the call follows the chain of which thread compiles the instance, what that thread waits for,
 * and so on; if the chain leads back to the caller, it returns TN_RESERVATION_CYCLE, so threads never deadlock here.
 * Waiting is not a quiescent point; see tn_thread_begin_blocking. A child of fork keeps the leases of the thread that
 * forked; all others are released. */
TN_API enum tn_reservation tn_instance_reserve(struct tn_instance *instance, struct tn_lease *lease);

/* Ends a reservation; called by the thread that made it. Does nothing if the lease was not granted. */
TN_API void tn_instance_release(struct tn_lease *lease);

#ifdef __cplusplus
}
#endif
#endif
