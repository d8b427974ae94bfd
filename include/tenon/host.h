/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Host symbols: what loaded code sees of the program that it is loaded into.
 *
 * A static program has no dlsym, so what it shows is said by the program: symbols that it marks, a table made by `tenon
 * export-table`, its own .symtab, or dlsym where there is one. A list of names may stand before each.
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

/* Answers the address of `name`, or NULL. Called under the session's lock: it must not call back into the session, nor fork(),
 * which waits for that lock (posix_spawn, popen and system do not). */
typedef void *tn_resolver(void *context, const char *name);

/* Asked, in the order they were added, for what the library itself does not define. TN_ENOMEM. */
TN_API int tn_add_resolver(struct tn_library *library, tn_resolver *resolver, void *context, struct tn_error *err);

/* Resolvers to add; each is linked into the program only where it is named. */
TN_API void *tn_resolve_exports(void *unused, const char *name); /* what this program marked with TN_EXPORT */
TN_API void *tn_resolve_table(void *table, const char *name);    /* a struct tn_symbol_table, see below */
TN_API void *tn_resolve_symtab(void *unused, const char *name);  /* this program's .symtab (libelf), unless stripped */
TN_API void *tn_resolve_dlsym(void *handle,
                              const char *name); /* dlsym, in programs that have it; NULL: of all it has */
TN_API void *tn_resolve_allowed(void *allowed, const char *name); /* a struct tn_allowed, see below */

/* A resolver that answers only what a list allows. Lives as long as the library. */
struct tn_allowed {
    tn_resolver *resolver;    /* asked for what is allowed, */
    void *context;            /* with this */
    const char *const *names; /* sorted by strcmp */
    size_t count;
};

/* Makes the symbols of a shared library visible to `library`, after the resolvers that it has: dlopen and dlsym, in programs
 * that have them. It is closed when `library` is removed or its session ends.
 * TN_ENOTSUP (a static program), TN_EIO (the text is dlerror's), TN_EREMOVED, TN_ENOMEM. */
TN_API int tn_add_shared_library(struct tn_library *library, const char *path, struct tn_error *err);

struct tn_export {
    const char *name;
    const void *address;
};

/* Makes a function or object of this program visible to tn_resolve_exports, also in static and stripped programs. The
 * attribute `retain` keeps it through --gc-sections. In C++ it is for names without mangling (extern "C", objects at global
 * level), and its entries are not const: there clang would make constants of some and variables of others. */
#ifdef __cplusplus
#define TN_EXPORT(symbol)                                                                                              \
    __attribute__((used, retain, section("tn_exports"))) static struct tn_export tn_export_of_##symbol = {             \
        #symbol, reinterpret_cast<const void *>(&symbol)}
#else
#define TN_EXPORT(symbol)                                                                                              \
    __attribute__((used, retain, section("tn_exports"))) static const struct tn_export tn_export_of_##symbol = {       \
        #symbol, __extension__((const void *)&symbol)}
#endif

/* A table of symbols sorted by strcmp of the name, as tools can generate it. */
struct tn_symbol_table {
    const struct tn_export *entries;
    size_t count;
};

#ifdef __cplusplus
}
#endif
#endif
