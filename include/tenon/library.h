/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Libraries: tables of symbols.
 *
 * Everything is added to a library and looked up in one. Within it a name has one definition: two strong ones are an error,
 * weak ones and COMDAT groups give way as with a static linker. Different libraries may define the same name; which of them
 * another library sees is said by the order in which it searches them. Removing a library removes all it holds.
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

/* Creates an empty library; `name` is copied and appears in errors. TN_ENOMEM. */
TN_API int tn_library_create(struct tn_session *session, const char *name, struct tn_library **out,
                             struct tn_error *err);

enum {
    TN_SEARCH_HIDDEN = 1, /* also what that library hides from others */
};

struct tn_search {
    struct tn_library *library;
    uint64_t flags; /* TN_SEARCH_... */
};

/* Says where references and lookups of `library` are looked for when it does not know the symbol itself: in these
 * libraries, in this order. Each is asked for what it defines, then its resolvers and generators; the order it has itself
 * does not count. The list is copied and takes the place of the one before; addresses found earlier stay.
 * TN_EINVAL (a library of another session), TN_EREMOVED, TN_ENOMEM. */
TN_API int tn_library_search(struct tn_library *library, const struct tn_search *others, size_t count,
                             struct tn_error *err);

/* Removes all that the library holds, as tn_tracker_remove does: objects, definitions, promises, archives. Trackers,
 * resolvers, generators and the search order stay. TN_ENOMEM (nothing was removed). */
TN_API int tn_library_clear(struct tn_library *library, struct tn_error *err);

/* Clears the library and ends it: others find nothing in it any more, and with it or its trackers nothing can be done but
 * destroying the trackers: TN_EREMOVED. The handles stay valid until the session is destroyed. */
TN_API int tn_library_remove(struct tn_library *library, struct tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
