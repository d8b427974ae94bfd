/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Host symbols: what loaded code sees of the program that it is loaded into.
 *
 * A static program has no dlsym, so the program decides what it exposes: symbols that it marks, a table made by `tenon
 * export-table`, its own .symtab, or dlsym where there is one. Each of these can be filtered by a list of allowed
 * names.
 *
 *     int log_line(const char *text) { ... }
 *     TN_EXPORT(log_line);
 *     ...
 *     tn_add_resolver(library, tn_resolve_exports, NULL, &err); */

#ifndef TENON_API_HOST_H
#define TENON_API_HOST_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_library;

/* Returns the address of `name`, or NULL. Called under the session's lock: must not call the session, nor fork(), which
 * waits for that lock (posix_spawn, popen and system do not). */
typedef void *tn_resolver(void *context, const char *name);

/* Adds a resolver. Resolvers are asked, in the order they were added, for what the library itself does not define.
 * TN_EINVAL, TN_EREMOVED, TN_ENOMEM. */
TN_API int tn_add_resolver(struct tn_library *library, tn_resolver *resolver, void *context, struct tn_error *err);

/* Takes away the first resolver with this function and context: it is not called again once this function has returned.
 * What resolvers answered for is looked up again when it is needed; objects that are linked keep the addresses. Waits
 * for links in progress. TN_EINVAL, TN_EUNDEF (there is none), TN_EREMOVED. */
TN_API int tn_remove_resolver(struct tn_library *library, tn_resolver *resolver, void *context, struct tn_error *err);

/* Ready-made resolvers; each becomes part of the program only if it is named. */
TN_API void *tn_resolve_exports(void *unused, const char *name); /* what this program marked with TN_EXPORT */
TN_API void *tn_resolve_table(void *table, const char *name);    /* a struct tn_symbol_table, see below */
TN_API void *tn_resolve_symtab(void *unused, const char *name);  /* this program's .symtab (libelf), unless stripped */
/* dlsym, in programs that have it. `handle` is from dlopen; NULL: RTLD_DEFAULT. */
TN_API void *tn_resolve_dlsym(void *handle, const char *name);
TN_API void *tn_resolve_allowed(void *allowed, const char *name); /* a struct tn_allowed, see below */

/* A filter in front of another resolver; must outlive the library. */
struct tn_allowed {
    tn_resolver *resolver;    /* asked for the names allowed, */
    void *context;            /* with this */
    const char *const *names; /* sorted by strcmp */
    size_t count;
};

/* Makes the symbols of a shared library visible to `library`, as its last resolver, through dlopen and dlsym in
 * programs that have them. The shared library is closed when `library` is removed or its session ends. TN_EINVAL,
 * TN_ENOTSUP (a static program), TN_EIO (the text is dlerror's), TN_EREMOVED, TN_ENOMEM. */
TN_API int tn_add_shared_library(struct tn_library *library, const char *path, struct tn_error *err);

struct tn_export {
    const char *name;
    const void *address;
};

/* Makes a function or object of this program visible to tn_resolve_exports, even in static and stripped programs. The
 * attribute `retain` keeps it through --gc-sections. In C++ it is for unmangled names (extern "C" functions, objects at
 * global scope), and the entries are not const, because clang would place some of them in constant and others in
 * writable sections. */
#ifdef __cplusplus
#define TN_EXPORT(symbol)                                                                                              \
    __attribute__((used, retain, section("tn_exports"))) static struct tn_export tn_export_of_##symbol = {             \
        #symbol, reinterpret_cast<const void *>(&symbol)}
#else
#define TN_EXPORT(symbol)                                                                                              \
    __attribute__((used, retain, section("tn_exports"))) static const struct tn_export tn_export_of_##symbol = {       \
        #symbol, __extension__((const void *)&symbol)}
#endif

/* A table of symbols, sorted by name as strcmp does; `tenon export-table` generates such tables. */
struct tn_symbol_table {
    const struct tn_export *entries;
    size_t count;
};

#ifdef __cplusplus
}
#endif
#endif
