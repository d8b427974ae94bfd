/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A cache of packages: images (tenon_image.h) that are built when they are needed for the first time, and found after
 * that, by this process and by others. doc/PACKAGES.md has the format of the folders; examples/packages/cache.c is a
 * client.
 *
 *     const char *folders[] = {"/home/me/.cache/app"};
 *     struct tn_package_cache_options options = {.size = sizeof options, .folders = folders, .folder_count = 1,
 *                                                .compiler = tn_codegen_compiler()};
 *     struct tn_package_key key = {.size = sizeof key, .name = "rules", .bytes = source, .length = length};
 *     tn_package_cache_open(&options, &cache, &err);
 *     tn_package_build(cache, &key, compile_rules, &rules, &load_options, &image, &err);
 *
 * What is wrong with a folder or a file, such as damage or a full disk, is never an error: `rejected` is told, and the
 * image is built. Files never change, so those that are open stay valid when others are removed.
 *
 * Threads: a cache does not change while it is open, so threads may use it at the same time, as processes may use its
 * folders. Errors as in tenon.h. */

#ifndef TENON_PACKAGE_H
#define TENON_PACKAGE_H

#include "tenon_image.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_compiler; /* tenon_compiler.h */
struct tn_package_cache;

struct tn_package_cache_options {
    size_t size; /* sizeof(struct tn_package_cache_options) */
    /* Searched in this order. What is built is kept in the first one that this user may write, which is made, for this
     * user only, if it is not there. Each has to be this user's or root's, not writable by others, and no symbolic
     * link; otherwise it is not used. */
    const char *const *folders;
    size_t folder_count;
    /* Of all files of that folder, in bytes: when they exceed it, those not used for longest are removed, until 90 % of
     * it are left. 0: no limit. */
    uint64_t limit;
    const struct tn_compiler *compiler; /* what images are built with; only its `identify` is called, once */
    const char *identity;               /* without a compiler: what that has said of itself; part of every key */
    const struct tn_cpu *native;        /* what "native" means in targets; NULL: this machine */
    /* Called with each folder and each file that was not used, and the reason; on the thread that searches. A file may
     * be damaged, of another architecture or version, or stale (TN_ESTALE). May be NULL. */
    void (*rejected)(void *context, const char *path, const struct tn_error *why);
    void *context; /* its first argument */
};

/* Opens a cache. The strings need not stay. TN_EINVAL (neither a compiler nor an identity, or both; no folders),
 * TN_ENOTSUP (the compiler cannot identify itself), TN_ENOMEM. */
TN_API int tn_package_cache_open(const struct tn_package_cache_options *options, struct tn_package_cache **out,
                                 struct tn_error *err);
/* Its images stay open. NULL is ignored. */
TN_API void tn_package_cache_close(struct tn_package_cache *cache);

/* What an image is built from. Files have the name, and a SHA-256 of everything here, of the compiler's identity, and
 * of the versions of Tenon and of the format of images. */
struct tn_package_key {
    size_t size;      /* sizeof(struct tn_package_key) */
    const char *name; /* that of a folder: no '/', no '.' at the beginning, at most 200 bytes */
    const char
        *targets; /* as in struct tn_image_options; where it says "native", the CPU's features count; may be NULL */
    const char *flags; /* everything else that changes what is built; may be NULL */
    const void *bytes; /* such as the source, or a digest of it; borrowed for the call; may be NULL */
    size_t length;
};

/* Opens an image of this key that is there, by tn_image_open with these options (NULL: the defaults), the one that was
 * used last first. With TN_IMAGE_VERIFY, damage anywhere in a file is found; otherwise that of its header and tables.
 * Images that it depends on have to be among the options' images, as always: if one of these was rebuilt, there may be
 * an image for the old one and one for the new one, and the one that fits is taken. TN_EUNDEF (none that can be
 * opened), TN_EINVAL (also of the load options), TN_ENOMEM. */
TN_API int tn_package_find(const struct tn_package_cache *cache, const struct tn_package_key *key,
                           const struct tn_image_load_options *options, struct tn_image **image, struct tn_error *err);

/* Writes the file of an image into an empty buffer: tn_image_build, and tn_image_link with TN_IMAGE_LOADABLE. An error
 * ends tn_package_build. It must not build the same key, but may build others. */
typedef int tn_package_builder(void *context, struct tn_buffer *file, struct tn_error *err);

/* The same, and if there is none, `build` makes it. Of all threads and processes that build one key at a time, one
 * does, and the others wait for it; if it ends or is killed, the next one builds. Where the file system has no locks,
 * each builds. What was built is verified and kept for good before it is opened; if that is impossible, it is opened
 * from memory. TN_EFORMAT, TN_ENOTSUP (`build` did not make such a file), and the errors of `build`, of
 * tn_package_find, and of tn_image_open. */
TN_API int tn_package_build(const struct tn_package_cache *cache, const struct tn_package_key *key,
                            tn_package_builder *build, void *context, const struct tn_image_load_options *options,
                            struct tn_image **image, struct tn_error *err);

/* Removes what builders that were killed have left, and, oldest first, images beyond `bytes` bytes, of the folder that
 * is written. TN_EPERM (no folder is written), TN_EIO (it cannot be listed), TN_ENOMEM. */
TN_API int tn_package_trim(const struct tn_package_cache *cache, uint64_t bytes, struct tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
