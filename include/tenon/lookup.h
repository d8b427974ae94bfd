/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lookups: from names to addresses that can be called.
 *
 * A lookup links the object that defines the symbol together with all it needs, has made what is only promised, and hands an
 * address out when everything behind it is in place. Initializers and finalizers are run when asked for.
 *
 *     void *address;
 *     if (tn_lookup(library, "answer", &address, &err))
 *         return err.code;
 *     if (tn_run_initializers(library, argc, argv, environ, &err))
 *         return err.code;
 *     return ((int (*)(void))address)(); */

#ifndef TENON_API_LOOKUP_H
#define TENON_API_LOOKUP_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_library;
struct tn_responsibility;

/* Links every object added so far (not the archive members that nobody needs). All objects it takes become callable
 * together or not at all; after an error the library is as it was before the call.
 * TN_EUNDEF (all undefined symbols, each with who needs it), TN_ERANGE, TN_EFORMAT, TN_ENOTSUP, TN_ENOMEM, TN_EPERM. */
TN_API int tn_link(struct tn_library *library, struct tn_error *err);

/* The same, without the sections that are not needed: what the named symbols, the initializers and the finalizers do not lead
 * to is left away and undefined from then on, as by a static linker's --gc-sections. TN_EUNDEF also for a root that nobody
 * defines. */
TN_API int tn_link_roots(struct tn_library *library, const char *const *roots, size_t count, struct tn_error *err);

/* Answers the address of a global symbol, first linking the object that defines it and all it needs; materializers that
 * this leads to are run, and waited for. No address is handed out before everything it depends on is in place. Errors as
 * tn_link; TN_ECYCLE (a materializer waits for itself, also through others); what a materializer failed with. */
TN_API int tn_lookup(struct tn_library *library, const char *name, void **address, struct tn_error *err);

enum {
    TN_WANTED_WEAK = 1,   /* may be missing; its address is NULL then */
    TN_WANTED_HIDDEN = 2, /* may be one that its library hides from others */
};

struct tn_wanted {
    const char *name;
    uint64_t flags; /* TN_WANTED_... */
    void *address;  /* out */
};

/* The same for a set of symbols: all, or none and an error that names those that are missing. */
TN_API int tn_lookup_all(struct tn_library *library, struct tn_wanted *symbols, size_t count, struct tn_error *err);

/* Called once, without a lock; `err` NULL: the addresses are there. */
typedef void tn_lookup_done(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err);

/* The same without waiting for materializers: `done` is called by this thread before it returns, or later by the one that
 * ends the last of them; a thread that is inside of a materializer goes on with other lookups than its own only when that has
 * returned, or when it has to wait. `symbols` stays with the lookup until then. TN_EINVAL, TN_ENOMEM: `done` is not called. */
TN_API int tn_lookup_async(struct tn_library *library, struct tn_wanted *symbols, size_t count, tn_lookup_done *done,
                           void *context, struct tn_error *err);

/* A lookup for a materializer that runs on other threads than its own, so that cycles are found; `done` NULL: blocking. */
TN_API int tn_responsibility_lookup(struct tn_responsibility *responsibility, struct tn_library *library,
                                    struct tn_wanted *symbols, size_t count, tn_lookup_done *done, void *context,
                                    struct tn_error *err);

/* Runs the initializers of what was linked since the last call, in the order a static program would run them: by
 * priority, then by link order. They receive the three arguments, as glibc passes them. The lock is not held meanwhile.
 * TN_ENOMEM: none was run. */
TN_API int tn_run_initializers(struct tn_library *library, int argc, char **argv, char **envp, struct tn_error *err);

/* Runs the finalizers of what was initialised, in the opposite order; each runs once. */
TN_API void tn_run_finalizers(struct tn_library *library);

#ifdef __cplusplus
}
#endif
#endif
