/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Definitions: what a library consists of.
 *
 * Relocatable objects and archives, as written by compilers and `ar`; sections supplied by the client; addresses; and
 * aliases for symbols of this or another library. Adding something only enters the names it defines: it is linked when
 * needed.
 *
 *     struct tn_input object = {.size = sizeof object, .name = "f.o", .bytes = bytes, .length = length};
 *     tn_add_object(library, &object, &err);
 *     tn_add_file(library, "libm.a", &err);
 *     tn_define(library, "log_line", (const void *)log_line, &err);
 *     tn_define_alias(library, "print", "log_line", &err); */

#ifndef TENON_API_DEFINE_H
#define TENON_API_DEFINE_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_library;
struct tn_tracker;

/* Bytes that the session borrows: they must stay readable and unchanged until `release` is called (for objects: once
 * linked or removed; for archives: when the library is cleared or removed, or the session ends). If adding fails,
 * `release` is not called and nothing is kept. */
struct tn_input {
    size_t size;      /* sizeof(struct tn_input) */
    const char *name; /* for error messages; copied */
    const void *bytes;
    size_t length;                                                    /* in bytes */
    void (*release)(void *context, const void *bytes, size_t length); /* may be NULL */
    void *context;
    struct tn_tracker *owner; /* for objects; NULL: the library itself */
    uint64_t flags;           /* TN_INPUT_... */
};

enum {
    TN_INPUT_HIDDEN = 1,     /* its definitions are visible only within the library */
    TN_INPUT_WEAK = 2,       /* its definitions give way to others, as if they were weak */
    TN_INPUT_ANY_FOLDER = 4, /* members of a thin archive may lie outside of the archive's folder */
};

/* Enters the definitions of a relocatable object (ELF, 64-bit, little-endian); the object is linked when something
 * needs it. TN_EINVAL, TN_EFORMAT (the text names the section or symbol), TN_ENOTSUP, TN_EDUP (the text names both
 * objects), TN_EREMOVED, TN_ENOMEM. */
TN_API int tn_add_object(struct tn_library *library, const struct tn_input *input, struct tn_error *err);

/* Enters the symbols of an archive (GNU, BSD or thin); a member becomes part of the library when a symbol it defines is
 * needed. Members of thin archives are read from files in the folder of `name` and below it (symbolic links there are
 * followed), unless TN_INPUT_ANY_FOLDER says otherwise; a member anywhere else is TN_EPERM when it is needed.
 * TN_EINVAL, TN_EFORMAT, TN_EREMOVED, TN_ENOMEM. */
TN_API int tn_add_archive(struct tn_library *library, const struct tn_input *input, struct tn_error *err);

/* Reads the file and adds it as an object or an archive, according to its first bytes. A large file, and a
 * shared library, is mapped if only root and this user can write it; others are copied (doc/EMBEDDING.md). TN_EIO, and
 * the errors above. */
TN_API int tn_add_file(struct tn_library *library, const char *path, struct tn_error *err);

/* A section supplied by the client, as if an object contained it. */
enum tn_section_kind { TN_SECTION_READ_ONLY = 0, TN_SECTION_DATA = 1, TN_SECTION_CODE = 2 };

struct tn_section_symbol {
    const char *name; /* copied */
    size_t offset;    /* in the section */
};

struct tn_section {
    size_t size;      /* sizeof(struct tn_section) */
    const char *name; /* copied; appears in errors; __start_NAME and __stop_NAME delimit it */
    enum tn_section_kind kind;
    const void *bytes; /* copied; NULL: zeros */
    size_t length;     /* in bytes */
    size_t alignment;  /* a power of two; 0: 16 */
    const struct tn_section_symbol *symbols;
    size_t symbol_count;
    struct tn_tracker *owner; /* NULL: the library */
};

/* Adds a section, which is linked like an object. TN_EINVAL, TN_EDUP, TN_EREMOVED, TN_ENOMEM. */
TN_API int tn_add_section(struct tn_library *library, const struct tn_section *section, struct tn_error *err);

/* Defines an absolute symbol. TN_EINVAL, TN_EDUP, TN_EREMOVED, TN_ENOMEM. */
TN_API int tn_define(struct tn_library *library, const char *name, const void *address, struct tn_error *err);

/* Makes `name` an alias of `of`, which need not be defined yet; needing one means needing the other.
 * TN_EDUP, TN_EINVAL (an alias of itself, directly or through others), TN_EREMOVED, TN_ENOMEM. */
TN_API int tn_define_alias(struct tn_library *library, const char *name, const char *of, struct tn_error *err);

enum {
    TN_SYMBOL_WEAK = 1,   /* gives way to other definitions */
    TN_SYMBOL_HIDDEN = 2, /* visible only within its library */
    /* For definitions: a thread-local variable of the program. Instead of an address, give its distance from the thread
     * pointer (__builtin_thread_pointer), which must be the same in every thread. */
    TN_SYMBOL_THREAD_LOCAL = 4,
    /* For promises: the materializer may leave it out, as compilers do with inline functions that no code calls any
     * more. Then nothing is defined, or another definition that had given way to the promise takes its place. */
    TN_SYMBOL_DISCARDABLE = 8,
    /* For addresses and promises: it is a function, which nothing else would tell of them (TN_KNOWN_CALLABLE). */
    TN_SYMBOL_CALLABLE = 16,
};

struct tn_definition {
    const char *name; /* copied */
    const void *address;
    uint64_t flags; /* TN_SYMBOL_... */
};

/* Defines absolute symbols that belong to `owner` (NULL: the library), all or none.
 * TN_EDUP, TN_EINVAL, TN_EREMOVED, TN_ENOMEM. */
TN_API int tn_define_all(struct tn_library *library, const struct tn_definition *definitions, size_t count,
                         struct tn_tracker *owner, struct tn_error *err);

struct tn_reexport {
    const char *name;   /* copied */
    const char *target; /* its name in the source library; NULL: the same */
    uint64_t flags;     /* TN_SYMBOL_... */
};

/* Makes symbols of `source`, which need not be defined yet, symbols of `library` too, with the same addresses. They
 * belong to `owner` (NULL: the library). All or none. TN_EDUP, TN_EINVAL (an alias of itself), TN_EREMOVED,
 * TN_ENOMEM. */
TN_API int tn_reexport(struct tn_library *library, const struct tn_reexport *symbols, size_t count,
                       struct tn_library *source, struct tn_tracker *owner, struct tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
