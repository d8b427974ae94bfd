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

/* Removes the library's contents, as tn_tracker_remove does: objects, definitions, promises, archives. Trackers,
 * resolvers, generators and the search order stay. TN_EREMOVED, TN_ENOMEM (as with tn_tracker_remove). */
TN_API int tn_library_clear(struct tn_library *library, struct tn_error *err);

/* Clears the library and closes it for good: other libraries no longer find anything in it. Its handle and those of its
 * trackers stay valid until the session is destroyed, but every call with them fails with TN_EREMOVED, except that
 * trackers can still be destroyed. TN_EREMOVED (it was removed before). */
TN_API int tn_library_remove(struct tn_library *library, struct tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
