/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lookups: from names to addresses that can be called.
 *
 * A lookup links the object that defines the symbol together with everything it needs, has promised symbols made, runs
 * the initializers of what was linked, and returns an address only when everything behind it is in place. Finalizers
 * run on request, and when code is removed.
 *
 *     void *address;
 *     if (tn_run_initializers(library, argc, argv, environ, &err)) // from here on, initializers receive these
 *         return err.code;
 *     if (tn_lookup(library, "answer", &address, &err))
 *         return err.code;
 *     return ((int (*)(void))address)();
 *
 * Initializers are run by the thread that is about to get an address, from a lookup or the first call of a lazy
 * function (of tn_lookup_async: the thread that runs `done`), after the link, and before any thread gets it: those of
 * the library, and of the libraries that it searches or re-exports from, each library after those that it needs, in a
 * circle once. A link that gives no address (tn_link, a lookup that a materializer makes, compiling ahead or for a
 * higher tier) runs none; the next thread that gets an address does.
 *
 * One thread of a session runs initializers at a time, without a lock that other calls need. Another thread waits for
 * it if it is about to get an address whose library, or one that this needs, is being initialised, or has to be. The
 * same thread does not wait: what an initializer looks up or calls is initialised before it gets that, except for what
 * is being initialised already. So an initializer that waits for another thread, which then makes a first call or a
 * lookup, may wait forever; `on_delay` of the session is told which thread it is, and which initializer. Initializers
 * have to return; threads that wait for them count as running the code that they are in.
 *
 * With TN_INITIALIZERS_MANUAL (tn_session_options.initializers) all this is left to the client: only
 * tn_run_initializers runs initializers, those of the library alone. */

#ifndef TENON_API_LOOKUP_H
#define TENON_API_LOOKUP_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_library;
struct tn_responsibility;
struct tn_lookup_handle; /* opaque: a lookup that can be cancelled */

/* Links every object added so far, with the archive members that they need. These objects become callable all together
 * or not at all, and no initializer runs; after an error the library is as it was before the call. TN_EUNDEF (the text
 * lists all undefined symbols, each with what needs it), TN_ERANGE, TN_EFORMAT, TN_ENOTSUP, TN_EREMOVED, TN_ENOMEM,
 * TN_EPERM, and the errors of materializers, as for tn_lookup. */
TN_API int tn_link(struct tn_library *library, struct tn_error *err);

/* The same with dead stripping, as by a static linker's --gc-sections: sections that cannot be reached from the named
 * symbols, initializers or finalizers are left out, and their symbols are undefined from then on. TN_EUNDEF also for a
 * root that is not defined. */
TN_API int tn_link_roots(struct tn_library *library, const char *const *roots, size_t count, struct tn_error *err);

/* Sets *address to the address of a global symbol, after linking the object that defines it and everything it needs.
 * Materializers involved are run and waited for. No address is returned before everything it depends on is in place.
 * Errors as for tn_link; TN_ECYCLE (a materializer would wait for itself, perhaps through others); whatever error a
 * materializer failed with. */
TN_API int tn_lookup(struct tn_library *library, const char *name, void **address, struct tn_error *err);

enum {
    TN_WANTED_WEAK = 1,   /* may be missing; then its address is NULL */
    TN_WANTED_HIDDEN = 2, /* may be hidden */
};

struct tn_wanted {
    const char *name;
    uint64_t flags; /* TN_WANTED_... */
    void *address;  /* out */
};

/* The same for a set of symbols: all of them, or none and an error that names the missing ones. */
TN_API int tn_lookup_all(struct tn_library *library, struct tn_wanted *symbols, size_t count, struct tn_error *err);

/* Called once, without a lock; if `err` is NULL, the addresses are set. */
typedef void tn_lookup_done(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err);

/* The same without waiting for materializers. `done` is called either by this thread before the function returns, or
 * later by a thread that ends the last materializer needed. (A thread inside a materializer continues lookups other
 * than its own only once that has returned or has to wait.) `symbols` must stay valid until `done` is called.
 * TN_EINVAL, TN_ENOMEM: `done` is not called; all other errors are passed to it. */
TN_API int tn_lookup_async(struct tn_library *library, struct tn_wanted *symbols, size_t count, tn_lookup_done *done,
                           void *context, struct tn_error *err);

/* As tn_lookup_async, but the lookup can be cancelled. *handle is set before `done` is called; it is the client's until
 * tn_lookup_cancel takes it, or the session ends. Errors as for tn_lookup_async, then *handle is NULL. */
TN_API int tn_lookup_start(struct tn_library *library, struct tn_wanted *symbols, size_t count, tn_lookup_done *done,
                           void *context, struct tn_lookup_handle **handle, struct tn_error *err);

/* Takes the handle back. If the lookup is waiting for materializers, it ends now: this thread calls `done` with
 * TN_ECANCELLED. After the call `done` has been called once and has returned, except if the caller is `done` itself. A
 * `done` that another thread is running is waited for, and so is linking that has begun: then `done` may get the
 * addresses. Materializers that nothing else needs are not begun any more; those that are running are not stopped, but
 * see tn_responsibility_is_cancelled. Any thread; not under locks that `done` takes. NULL is ignored. TN_ECYCLE: it
 * would wait for itself, because the thread that is running `done` is waiting here for a callback of this thread; the
 * handle remains the client's, to be taken back later. */
TN_API int tn_lookup_cancel(struct tn_lookup_handle *handle, struct tn_error *err);

/* As tn_lookup_all, but waits no longer than until the deadline, in nanoseconds of CLOCK_MONOTONIC: then it fails with
 * TN_ECANCELLED, and materializers are treated as by tn_lookup_cancel. What is linked already is found after the
 * deadline, too. In a session without threads and without `dispatch` the caller runs the materializers itself: the
 * deadline is looked at before each of them. */
TN_API int tn_lookup_until(struct tn_library *library, struct tn_wanted *symbols, size_t count, uint64_t deadline,
                           struct tn_error *err);

/* A lookup on behalf of a materializer, made on another thread than the one that runs it; needed for cycles to be
 * detected. `done` NULL: blocks. Errors as for the lookups above. */
TN_API int tn_responsibility_lookup(struct tn_responsibility *responsibility, struct tn_library *library,
                                    struct tn_wanted *symbols, size_t count, tn_lookup_done *done, void *context,
                                    struct tn_error *err);

/* Runs what is still to be initialised of the library and of those that it needs, as a lookup does, in the order in
 * which a static program would run it: by priority, then in the order in which inputs were added: objects, archives for
 * their members (those loaded first come first, and what a later archive needs comes behind that), materializers for
 * what they make. Initializers receive three
 * arguments, as with glibc: those of the session's first call of this function, also in lookups and first calls from
 * then on; before it, they receive 0, NULL and the program's environ. With TN_INITIALIZERS_MANUAL, the initializers of
 * this library alone run, with the arguments of the call. None was run: TN_EINVAL, TN_EREMOVED, TN_ENOTSUP (there are
 * some, in memory of another process: TN_MEMORY_ELSEWHERE), TN_ENOMEM. */
TN_API int tn_run_initializers(struct tn_library *library, int argc, char **argv, char **envp, struct tn_error *err);

/* Runs destructors of the calling thread's thread_local objects, then exit handlers that loaded code has registered
 * (atexit, __cxa_atexit, on_exit), then the finalizers of what was initialised, in reverse order, then what these have
 * registered; each runs once. If one of them calls exit, the rest runs within that call. NULL is ignored. */
TN_API void tn_run_finalizers(struct tn_library *library);

#ifdef __cplusplus
}
#endif
#endif
