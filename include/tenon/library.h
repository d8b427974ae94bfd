/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Libraries: tables of symbols.
 *
 * Everything is added to a library and looked up in one. Within a library a name has one definition: two strong
 * definitions are an error; weak definitions and COMDAT groups are resolved as by a static linker. Different libraries
 * may define the same name; each library's search order decides which of them it sees. Removing a library removes
 * everything in it.
 *
 *     struct tn_library *program, *plugin;
 *     tn_library_create(session, "program", &program, &err);
 *     tn_library_create(session, "plugin", &plugin, &err);
 *     tn_library_search(plugin, &(struct tn_search){program, 0}, 1, &err);
 *     ...
 *     tn_library_remove(plugin, &err); */

#ifndef TENON_API_LIBRARY_H
#define TENON_API_LIBRARY_H

#include "tenon/base.h"
#include "tenon/tracker.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_session;

struct tn_library; /* opaque; lives until its session is destroyed */

/* Creates an empty library. `name` is copied and appears in error messages. TN_EINVAL, TN_ENOMEM. */
TN_API int tn_library_create(struct tn_session *session, const char *name, struct tn_library **out,
                             struct tn_error *err);

enum {
    TN_SEARCH_HIDDEN = 1, /* also see symbols that the library hides from others */
};

struct tn_search {
    struct tn_library *library;
    uint64_t flags; /* TN_SEARCH_... */
};

/* Sets the search order: the libraries, in order, in which references and lookups of `library` are resolved if it does
 * not know the symbol itself. Each contributes its definitions, then its resolvers and generators; its own search order
 * is not followed. The list is copied and replaces the previous one; addresses found earlier stay as they are.
 * TN_EINVAL (a library of another session), TN_EREMOVED, TN_ENOMEM. */
TN_API int tn_library_search(struct tn_library *library, const struct tn_search *others, size_t count,
                             struct tn_error *err);

/* The library of this name in the session, of several the one created first; NULL: there is none, or it was removed.
 * Any thread; NULL arguments find nothing. */
TN_API struct tn_library *tn_library_find(struct tn_session *session, const char *name);

/* A number that no other library of the session has, had or will have; for tables of clients. NULL: UINT64_MAX. */
TN_API uint64_t tn_library_number(const struct tn_library *library);

/* What is known of a symbol now. */
enum {
    TN_KNOWN_DEFINED = 1,       /* something defines it, or would define it */
    TN_KNOWN_READY = 2,         /* it has its final address: a lookup links and makes nothing */
    TN_KNOWN_PROMISED = 4,      /* a materializer makes it when it is needed */
    TN_KNOWN_FAILED = 8,        /* that materializer has failed */
    TN_KNOWN_IN_ARCHIVE = 16,   /* a member that would be loaded promises it */
    TN_KNOWN_WEAK = 32,         /* it gives way to other definitions */
    TN_KNOWN_HIDDEN = 64,       /* other libraries do not see it */
    TN_KNOWN_CALLABLE = 128,    /* it lies in the code of an object, is a stub, or is declared as TN_SYMBOL_CALLABLE */
    TN_KNOWN_THREAD_LOCAL = 256 /* not known of what is promised or in an archive */
};

struct tn_known {
    const char *name;
    uint64_t flags; /* out: TN_KNOWN_...; 0: nothing defines it */
};

/* Fills in what a lookup of each symbol in `library` would find now, in its own table, by its resolvers, or in its
 * search order. Resolvers are called; generators are not, nothing is made, and nothing is linked. An alias is as its
 * target, except for TN_KNOWN_WEAK and TN_KNOWN_HIDDEN. Hidden symbols of the library itself are found, too. Any
 * thread; an answer may be outdated when the function returns. TN_EINVAL, TN_EREMOVED,
 * TN_ENOMEM (for what is known of shared libraries). */
TN_API int tn_lookup_flags(struct tn_library *library, struct tn_known *symbols, size_t count, struct tn_error *err);

/* Calls `visit` for each symbol that the library itself defines, in no particular order: not for those that its
 * resolvers know or that it finds in other libraries, nor for the names that every library has. The symbols are those
 * of one moment, before the first call. No lock is held meanwhile; `symbol` is valid during the call. A `visit` that
 * does not return 0 ends the iteration, and the function returns its result. Any thread. TN_EINVAL, TN_EREMOVED,
 * TN_ENOMEM. */
TN_API int tn_library_each_symbol(struct tn_library *library,
                                  int (*visit)(void *context, const struct tn_known *symbol), void *context,
                                  struct tn_error *err);

/* Removes the library's contents, as tn_tracker_remove does: objects, definitions, promises, archives. Trackers,
 * resolvers, generators and the search order stay. TN_EINVAL (it is open: tenon/dl.h), TN_EREMOVED, TN_ENOMEM (as with
 * tn_tracker_remove). */
TN_API int tn_library_clear(struct tn_library *library, struct tn_error *err);

/* Clears the library and closes it for good: other libraries no longer find anything in it. Its handle and those of its
 * trackers stay valid until it or the session is destroyed, but every call with them fails with TN_EREMOVED, except
 * that trackers can still be destroyed. Errors as for tn_library_clear. */
TN_API int tn_library_remove(struct tn_library *library, struct tn_error *err);

/* Removes the library as tn_tracker_retire_start retires a tracker: attached threads may be running its code. When the
 * call returns, the library is removed: nothing finds its symbols, and further calls fail with TN_EREMOVED. It may be
 * destroyed from when `done` is called. Errors as for tn_tracker_retire_start. */
TN_API int tn_library_remove_start(struct tn_library *library, tn_removed *done, void *context, struct tn_error *err);

/* Gives back the handle of a library that was removed, and those of its trackers: no thread uses them any more, or is
 * in a call with them. The last kilobyte of the library is freed now, or when the responsibilities that clients hold,
 * the lookups and the stubs that lead to it have ended, and no thread has to run its destructors. NULL is ignored.
 * TN_EINVAL: it was not removed. */
TN_API int tn_library_destroy(struct tn_library *library, struct tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
