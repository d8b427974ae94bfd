/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code instances: how compiled code gets to its callers while other threads compile, replace and remove it.
 *
 * A code instance is one version of one function, in whatever state: not compiled, waited for, interpreted, compiled. It lies
 * in an object of the client's, which keeps it until no thread uses it; its layout is part of the runtime ABI, so generated
 * code may read it.
 *
 *     invoke    specsigflags  specptr
 *     NULL      00            NULL     not compiled
 *     entry     00            NULL     call the entry: generic code, one that waits, or compiled code that reads neither of these
 *     entry     10            P        compiled; the entry may call P, whose signature is not special
 *     entry     11            P        compiled; P has a signature of its own, which callers may know
 *
 * `invoke` has a signature that all instances share, and is called with the instance among its arguments. Once the ready bit
 * is set, invoke and the low bit stay as they are until the code is withdrawn; specptr changes to equivalent code only. All
 * that was ever there may be called until the calling thread passes a quiescent point (tn_quiesce).
 *
 * Reading, as tn_instance_read does and generated code may do:
 *     1  I = load invoke, acquire          2  I is NULL, or the wait entry and not wanted: (NULL, 00, NULL)
 *     3  P = load specptr, acquire         4  P is NULL: (I, 00, NULL)
 *     5  F = load specsigflags, acquire;   6  not ready: start over; withdrawn: (I, 00, NULL)
 *     7  I = load invoke, acquire
 *     8  F = load specsigflags, acquire    9  withdrawn: (I, 00, NULL)
 *    10  load specptr; not P: start over; else (I, F, P)
 * An entry that was reached through `invoke` may simply load specptr: it finds code of its own kind, not NULL.
 *
 * Compiling one:
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
    TN_INSTANCE_READY = 2,     /* all words are what was published */
    TN_INSTANCE_WITHDRAWN = 4, /* the code is being removed: to readers there is none */
};

/* Entries that instances of one kind share. Both have the signature of `invoke`. */
struct tn_instance_entries {
    void *generic; /* an interpreter, or what else runs uncompiled functions; NULL: the client looks for NULL */
    void *wait;    /* helps to compile the instance, or waits for it, and calls it then; NULL: there is none */
};

struct tn_instance;

struct tn_instance_link { /* in the list of a tracker */
    struct tn_instance *next, **previous;
    struct tn_tracker *owner;
};

struct tn_instance {
    void *invoke;
    void *specptr;
    uint32_t specsigflags; /* TN_INSTANCE_... */
    uint32_t reserved;     /* 0 */
    const struct tn_instance_entries *entries;
    struct tn_instance_link links[2]; /* whose code was published, and whose it was updated to */
};

/* Code of an instance, as it is read and published. */
struct tn_instance_code {
    void *invoke;
    void *specptr;
    uint32_t specsigflags; /* TN_INSTANCE_SPECSIG and TN_INSTANCE_READY; publishing sets the latter itself */
};

/* Makes it one that is not compiled; `entries` outlive it. So is a zeroed struct with `entries` set. */
TN_API void tn_instance_init(struct tn_instance *instance, const struct tn_instance_entries *entries);

/* Takes it out of the lists of trackers; then its memory may be used for something else. Its code stays where it is. */
TN_API void tn_instance_finish(struct tn_instance *instance);

/* Answers one of the states above. With `waitcompile` 0 a function that is waited for counts as not compiled. */
TN_API struct tn_instance_code tn_instance_read(const struct tn_instance *instance, int waitcompile);

/* Not compiled -> waited for: who calls it comes to the wait entry. Does nothing in other states. */
TN_API void tn_instance_promise(struct tn_instance *instance);

/* Not compiled, or waited for -> generic: nobody compiles it, or that failed. Does nothing in other states. Code may still be
 * published later. */
TN_API void tn_instance_fall_back(struct tn_instance *instance);

/* Publishes compiled code, with or without specptr; `owner` is the tracker that it is removed with (NULL: it stays forever).
 * TN_EDUP: other code was first, or its removal has not ended. Yours is discarded; read what is there.
 * TN_EINVAL (invoke is NULL or stands in for code, unknown flags, flags without specptr). */
TN_API int tn_instance_publish(struct tn_instance *instance, const struct tn_instance_code *code,
                               struct tn_tracker *owner, struct tn_error *err);

/* Replaces specptr, which the caller has read since its last quiescent point, by equivalent code: of the same signature and
 * callable by the same entry. `owner` is whose the new code is; the instance goes back to its generic entry when
 * either that tracker or the one that it was published for is removed.
 * TN_EDUP: specptr is not `from` any more, and was left alone. TN_EINVAL (NULL). */
TN_API int tn_instance_update(struct tn_instance *instance, void *from, void *to, struct tn_tracker *owner,
                              struct tn_error *err);

/* Removes the code of instances: points them at their generic entries, waits as tn_quiesce does, and lets other code be
 * published. Then nobody runs the old code, and it may be freed. tn_tracker_remove does this for all code of a tracker. Only
 * one thread at a time may do it with an instance. */
TN_API void tn_instances_withdraw(struct tn_instance *const *instances, size_t count);

/* The right to compile an instance, in memory of the thread that compiles; its members are not the caller's business. */
struct tn_lease {
    struct tn_instance *instance;
    struct tn_lease *next;
};

enum tn_reservation {
    TN_RESERVED = 0,      /* compile it, publish it or let it fall back, and release the lease */
    TN_ALREADY_COMPILED,  /* read it; after waiting also: somebody else's attempt has failed */
    TN_RESERVATION_CYCLE, /* who compiles it waits for this thread: compile a private copy, or call the generic entry */
};

/* Sees to it that only one thread compiles an instance: others wait until it releases its lease. A thread may hold several
 * leases. Before it waits, it follows who compiles the instance, what that one waits for, who compiles that, and so on; if
 * this leads back to it, it is told so instead, so that threads never wait in a circle. Waiting is no quiescent point, see
 * tn_thread_begin_blocking. A child of fork has the leases of the thread that forked; the others are free. */
TN_API enum tn_reservation tn_instance_reserve(struct tn_instance *instance, struct tn_lease *lease);

/* Ends a reservation, by the thread that made it. Does nothing if the lease was not granted. */
TN_API void tn_instance_release(struct tn_lease *lease);

#ifdef __cplusplus
}
#endif
#endif
