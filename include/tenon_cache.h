/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A cache of compiled code: a compiler (tenon_compiler.h) that looks what a JIT asks of it up in stores, and passes on
 * to another compiler only what is in none of them, which it then keeps. With all of a program in a store, no IR is
 * read and LLVM is not set up. doc/CACHE.md has the key, and whom a cache trusts.
 *
 *     struct tn_folder_options folder = {.size = sizeof folder, .path = "/home/me/.cache/app"};
 *     struct tn_store *store;
 *     struct tn_compiler *cache;
 *     tn_store_open_folder(&folder, &store, &err);
 *     struct tn_cache_options options = {
 *         .size = sizeof options, .stores = &store, .store_count = 1, .compiler = tn_codegen_compiler()};
 *     tn_cache_create(&options, &cache, &err);
 *     jit_options.compiler = cache;
 *
 * What is wrong with a store, such as damaged files or a full disk, is never an error of the program: it is counted
 * (tn_cache_stats), and the code is compiled. Errors as in tenon.h. */

#ifndef TENON_CACHE_H
#define TENON_CACHE_H

#include "tenon_compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TN_CACHE_KEY_SIZE = 32 };

/* Where packs are kept: a folder, or the client's. Called from any thread, several at once. */
struct tn_store {
    size_t size; /* sizeof(struct tn_store) */
    void *context;
    /* Copies the pack of this key into an empty buffer. TN_EUNDEF: there is none. */
    int (*get)(void *context, const unsigned char key[TN_CACHE_KEY_SIZE], struct tn_buffer *out);
    /* Keeps a pack, in place of one of the same key. NULL: nothing can be added. An error: it was not kept. */
    int (*put)(void *context, const unsigned char key[TN_CACHE_KEY_SIZE], const void *bytes, size_t length);
};

struct tn_folder_options {
    size_t size;      /* sizeof(struct tn_folder_options) */
    const char *path; /* made, for this user only, if it is not there and may be written */
    uint64_t limit;   /* in bytes; when files exceed it, those not used for longest are removed, until 90 % of it are
                       * left. 0: no limit */
    int read_only;    /* not 0: nothing is written, and the folder may be root's */
};

/* Opens a folder as a store, to be closed after all caches that use it. TN_EPERM (it is not this user's, is a symbolic
 * link, or others may write it), TN_EIO, TN_ENOMEM. */
TN_API int tn_store_open_folder(const struct tn_folder_options *options, struct tn_store **out, struct tn_error *err);
TN_API void tn_store_close_folder(struct tn_store *store); /* NULL is ignored */

struct tn_cache_options {
    size_t size;                    /* sizeof(struct tn_cache_options) */
    struct tn_store *const *stores; /* asked in this order; new packs go to the last that takes some */
    size_t store_count;
    const struct tn_compiler *compiler; /* compiles what no store has. NULL: that is TN_ENOTSUP */
    const char *identity;               /* without a compiler: what that of the stores' packs said of itself */
    const void *salt;                   /* part of every key: what else distinguishes the client's code; may be NULL */
    size_t salt_length;
};

/* Creates a cache, which outlives the JITs that use it and their sessions, as stores and compiler outlive it.
 * TN_EINVAL, TN_ENOTSUP (the compiler cannot identify itself), TN_ENOMEM. */
TN_API int tn_cache_create(const struct tn_cache_options *options, struct tn_compiler **out, struct tn_error *err);
TN_API void tn_cache_destroy(struct tn_compiler *cache); /* NULL is ignored */

/* Writes to the stores what was compiled since the last time. Otherwise that happens when modules end, and now and
 * then. TN_EINVAL (not a cache). */
TN_API int tn_cache_flush(struct tn_compiler *cache, struct tn_error *err);

struct tn_cache_stats {
    size_t size;                /* in: sizeof(struct tn_cache_stats) as the caller knows it */
    uint64_t modules, found;    /* opened; those of them whose description was in a store */
    uint64_t objects;           /* asked for */
    uint64_t found_objects;     /* those of them that were in a store, and of use */
    uint64_t excluded;          /* modules for which the options, or another module of the same IR, forbid caching */
    uint64_t damaged;           /* packs, and what is in them, that were not as they were written, or of no use */
    uint64_t puts, refused;     /* packs that were written; that no store took */
    uint64_t put_bytes;         /* of these packs */
    uint64_t lookup_ns, put_ns; /* in stores, checksums included */
};

TN_API void tn_cache_stats(const struct tn_compiler *cache, struct tn_cache_stats *stats);

/* ---- looking at folders ---- */

struct tn_cache_file {
    size_t size;      /* of this struct */
    const char *name; /* the key, in hexadecimal digits */
    uint64_t bytes, objects;
    uint64_t used; /* when it was last written or used, to the hour; seconds since 1970 */
    int is_sound;  /* the pack has this key, and what is in it is as it was written */
};

/* Reads all packs of a folder and calls `visit` for each, until the result is not 0. TN_EINVAL (not a folder's store),
 * TN_EIO, TN_ENOMEM. */
TN_API int tn_store_each_file(struct tn_store *store, int (*visit)(void *context, const struct tn_cache_file *file),
                              void *context, struct tn_error *err);

/* Removes what writers that were killed have left, packs that are not sound, and, oldest first, those beyond `limit`
 * bytes. *removed: how many files. Errors as above; TN_EPERM: read-only, or another process is writing. */
TN_API int tn_store_prune(struct tn_store *store, uint64_t limit, uint64_t *removed, struct tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
