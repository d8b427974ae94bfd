/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Saving objects of a heap as an image: a file that is mapped, not rebuilt, when a program opens it (tn_image_open with
 * a heap in its options). doc/IMAGE.md, "Heaps", explains what is saved and how.
 *
 *     struct tn_save_options options = {.size = sizeof options, .name = "catalogue", .types = rows, .type_count = n};
 *     struct tn_save *save;
 *     int code = tn_save_create(heap, &options, &save, &err);
 *     if (!code)
 *         code = tn_save_root(save, "index", index, &err);
 *     if (!code)
 *         code = tn_save_take(save, NULL, &err);
 *     if (!code)
 *         code = tn_save_write(save, "catalogue.image", &err);
 *     tn_save_destroy(save);
 *
 * Threads: a save is used by one thread at a time; the heap's threads may be anywhere. Errors as in tenon.h. */

#ifndef TENON_SAVE_H
#define TENON_SAVE_H

#include "tenon_heap.h"
#include "tenon_image.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_save; /* opaque */

/* A word of 8 bytes that is no reference, and is not copied as it is. */
struct tn_save_word {
    uint32_t offset; /* in the payload, a multiple of 8; from the type's `size` on: in each element */
    uint32_t kind;   /* enum tn_save_word_kind */
};

enum tn_save_word_kind {
    TN_SAVE_ADDRESS = 0, /* 0, or an address of the program: saved as symbol + addend, bound when the image is opened */
    TN_SAVE_ZERO = 1,    /* saved as 0 */
};

/* What is to be done with the objects of a type, and of types that images have under its name. Types without a row are
 * saved with their own names and no flags. */
struct tn_save_type {
    size_t size; /* sizeof(struct tn_save_type) */
    const struct tn_type *type;
    const char *name; /* in the image; NULL: the type's own */
    uint64_t flags;   /* TN_SAVE_... */
    const struct tn_save_word *words;
    size_t word_count;
    /* Changes the copy of an object that is going to be saved: may store null references and change what is no
     * reference. Called while the world is stopped: see "Callbacks" in tenon_heap.h. An error ends tn_save_take. NULL:
     * there is nothing to change. */
    int (*prepare)(void *context, const void *object, void *copy, struct tn_error *err);
    /* Copies the key of an object into `room` bytes, if it fits, and returns its size. For TN_SAVE_UNIQUE only. The
     * world is stopped. */
    size_t (*key)(void *context, const void *object, void *bytes, size_t room);
};

#define TN_SAVE_FROZEN         UINT64_C(1) /* objects never change from now on: they are read-only in the image */
#define TN_SAVE_REFUSE         UINT64_C(2) /* objects cannot be saved (threads, files, locks) without `prepare` */
#define TN_SAVE_DROP_FINALIZER UINT64_C(4) /* objects are saved without their finalizers; else they are refused */
/* The program that opens the image has the type (host_types of struct tn_image_load_options); the image has none. */
#define TN_SAVE_HOST_TYPE UINT64_C(8)
/* A heap is to have only one of these objects for each key: the program that opens the image is asked for each whether
 * it has one (`unique` of struct tn_image_load_options). Frozen objects that refer to such objects are saved as objects
 * that change. */
#define TN_SAVE_UNIQUE UINT64_C(16)

struct tn_save_name {
    const char *symbol; /* copied */
    uint64_t addend;
};

/* A word that looks like an address of the saving process, and is not declared. */
struct tn_save_suspect {
    size_t size; /* of this struct */
    const char
        *path; /* of the object from a root: "root 'index': +8 of 'table': +0 of 'node'"; valid during the call */
    const char *type; /* of the object */
    uint64_t offset, value;
};

struct tn_save_options {
    size_t size;      /* sizeof(struct tn_save_options) */
    const char *name; /* of the image */
    /* The address that the image is mapped at when it is opened, if nothing else is there: a multiple of the page size
     * below 2^47. 0: chosen by name and contents, apart from those of `images`. */
    uint64_t base;
    uint64_t flags;                   /* TN_SAVE_STRICT */
    const struct tn_save_type *types; /* this and `images` are borrowed until the save is destroyed */
    size_t type_count;
    /* Open images with heaps in the same heap: their objects are not saved, but referred to, and what has changed of
     * them is saved as patches (doc/IMAGE.md). The new image is opened with these. */
    struct tn_image *const *images;
    size_t image_count;
    /* Names an address that is to be bound again. 0, or not 0: it has no name, and cannot be saved. NULL: none has. The
     * world is stopped. */
    int (*name_of)(void *context, const void *address, struct tn_save_name *out);
    void (*suspect)(void *context, const struct tn_save_suspect *suspect); /* for each; NULL: none. World as above */
    void *context;
    uint64_t page_size; /* the largest page size of systems that will open it; 0: 4096, on AArch64 65536 */
    const char *salt;   /* makes the address that is chosen another one, as for each installation; NULL: none */
};

#define TN_SAVE_STRICT UINT64_C(1) /* the first word that looks like an address is an error */

/* Begins to save objects of a heap, which must outlive the save. TN_EINVAL, TN_ENOMEM. */
TN_API int tn_save_create(struct tn_heap *heap, const struct tn_save_options *options, struct tn_save **out,
                          struct tn_error *err);

/* Names an object to be saved, with everything that it keeps alive; a handle to no object is a null root. TN_EINVAL
 * (also: tn_save_take was called, or the handle is of another heap), TN_EDUP (the name), TN_ENOMEM. */
TN_API int tn_save_root(struct tn_save *save, const char *name, const struct tn_handle *object, struct tn_error *err);

struct tn_save_stats {
    size_t size;    /* in: sizeof(struct tn_save_stats) as the caller knows it */
    uint64_t bytes; /* of the file */
    uint64_t objects, types, suspects;
    uint64_t frozen, changing, bound; /* bytes: never written; written by the program; written when it is opened */
    uint64_t addresses;               /* words that hold addresses of the image */
    uint64_t base;                    /* its intended address */
    uint64_t stop_ns;                 /* how long the world was stopped */
};

/* Stops the world, copies what the roots reach, and lets it run again; afterwards the save no longer depends on the
 * objects. `stats` may be NULL. Once for each save; after an error, the save can only be destroyed. A safepoint.
 * TN_ENOTSUP (an object with a finalizer, of a type with TN_SAVE_REFUSE, or with an undeclared address if that is
 * strict; the text has the path from a root; an image of `images` that could not be mapped twice),
 * TN_EUNDEF (an address without a name, a type without one), TN_EDUP (types of one name that differ), TN_ERANGE (above
 * 2^40 bytes), TN_ENOMEM, TN_EINVAL, TN_EIO (strict: the process's mappings cannot be read), and those of `prepare`. */
TN_API int tn_save_take(struct tn_save *save, struct tn_save_stats *stats, struct tn_error *err);

/* Writes the image into a file, which replaces one of this name when it is complete. TN_EINVAL (nothing was taken),
 * TN_EIO, TN_ENOMEM. */
TN_API int tn_save_write(const struct tn_save *save, const char *path, struct tn_error *err);

/* NULL is ignored. */
TN_API void tn_save_destroy(struct tn_save *save);

/* Writes the image of a file that tn_save_write has made, for another address: *base, or if that is 0, one that follows
 * from its name, its build id and `salt` (NULL: the one without salt), and is stored to *base. The build id stays, so
 * images that depend on it can be opened as before, but their words that lead there are written then. `path` and `to`
 * may be one file. TN_EINVAL (an address that is none), TN_EFORMAT (damaged: the checksum of the whole is compared),
 * TN_ENOTSUP (not such a file), TN_ERANGE (no address is free), TN_EIO, TN_ENOMEM. */
TN_API int tn_save_rebase(const char *path, const char *to, const char *salt, uint64_t *base, struct tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
