/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Using an image: machine code for several CPUs that `tenon build` or tn_image_build has compiled ahead of time. An image is
 * linked into a program by its linker, or lies in a file of its own (a shared library). Opening it checks that it fits, chooses
 * the target for this CPU and fills the slots through which its functions are called; its code is never written to.
 *
 * Linked into a program: declare the image's functions as usual, and the image as
 *     extern const char tn_image[];
 * (with -fPIC, if it lies in a shared library that the program is linked with: else its linker refuses to)
 * and open it before the first call of a function that has several versions: until then such calls lead nowhere, unless the
 * image has constructors, destructors or indirect functions; then they lead to the versions for its first target.
 *
 * Threads: images may be opened by several threads at once; an open image is not written to. Errors as in tenon.h. */

#ifndef TENON_IMAGE_H
#define TENON_IMAGE_H

#include "tenon_cpu.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_image; /* opaque; immutable */

struct tn_image_load_options {
    size_t size;              /* sizeof(struct tn_image_load_options) */
    const struct tn_cpu *cpu; /* to choose a target for; NULL: this machine */
    tn_resolver *resolver;    /* of what a file needs from the program, as tn_resolve_dlsym; NULL: it gets nothing */
    void *context;            /* its first argument */
    uint64_t flags;           /* TN_IMAGE_... */
    struct tn_image *const *images; /* open ones, which it may depend on; they have to stay open longer */
    size_t image_count;
};

/* Compares the checksum of everything that is loaded of a file, which takes as long as reading it; otherwise that of header and
 * tables is. Only files of `tenon build` and tn_image_link have it: TN_ENOTSUP for others. Means nothing for what is linked in. */
#define TN_IMAGE_VERIFY UINT64_C(1)

/* Opens an image that is part of this process: linked in, or in a library that dlopen has loaded. `options` may be NULL.
 * TN_EFORMAT (it is damaged; the text says where), TN_ENOTSUP (another format version, runtime ABI or architecture; no
 * target fits, and the text lists what the CPU lacks for each; it depends on an image that was built anew since), TN_EUNDEF (it
 * depends on an image that is not among `images`), TN_ENOMEM, TN_EINVAL (of `options`). */
TN_API int tn_image_open_linked(const void *image, const struct tn_image_load_options *options, struct tn_image **out,
                                struct tn_error *err);

/* Loads a shared library with an image in it and opens that: maps it, with its code as the file has it, binds its symbols by
 * public functions of `images` and by the resolver, in this order (libraries that it names are not loaded), runs its initializers. Exceptions pass through its code. Its
 * thread-local variables (x86-64) lie in the program's reserve, as those of tn_add_object do (TN_TLS_RESERVE): threads that are
 * there already have to be attached.
 * Besides the errors above: TN_EIO, TN_EPERM (the system refuses to map the code), TN_EUNDEF (the text lists the symbols that
 * the resolver does not know), TN_ENOTSUP (thread-local variables of the program's, relocations of another kind than shared
 * libraries need), TN_ENOMEM (also: the reserve is full). After an error nothing of it is left. */
TN_API int tn_image_open(const char *path, const struct tn_image_load_options *options, struct tn_image **out,
                         struct tn_error *err);

/* The same for a file in memory, which is copied. `name` is for errors. */
TN_API int tn_image_open_memory(const char *name, const void *bytes, size_t size,
                                const struct tn_image_load_options *options, struct tn_image **out,
                                struct tn_error *err);

/* Takes a loaded file back, after running its finalizers; nobody may run its code any more. What is linked in stays as it
 * is. NULL is ignored. */
TN_API void tn_image_close(struct tn_image *image);

/* The chosen version of a public function, in logarithmic time; NULL: there is none of that name. */
TN_API void *tn_image_lookup(const struct tn_image *image, const char *name);

struct tn_image_function {
    size_t size;      /* in: sizeof(struct tn_image_function) as the caller knows it */
    const char *name; /* lives as long as the image */
    void *address;    /* of the version that was chosen */
    uint64_t clones;  /* bit N: target N has a version of its own */
    uint32_t slot;    /* number, or UINT32_MAX: it has one version */
    uint32_t is_public;
};

/* The functions by index: first those that have a slot, by its number, then public ones that have one version. Either part is
 * in strcmp's order of the names. */
TN_API size_t tn_image_function_count(const struct tn_image *image);
/* TN_EINVAL: there is no such index, or the struct's size is wrong. */
TN_API int tn_image_function(const struct tn_image *image, size_t index, struct tn_image_function *function,
                             struct tn_error *err);

/* A code instance (tenon.h) that gets a function of the image as its code. */
struct tn_image_instance {
    struct tn_instance *instance;
    const char *name;      /* of the function; NULL: it is known by its index */
    size_t index;          /* as tn_image_function takes it */
    void *invoke;          /* the entry that calls it; NULL: the function is an entry itself */
    uint32_t specsigflags; /* TN_INSTANCE_SPECSIG: the function has a signature of its own; 0 without `invoke` */
};

/* Publishes functions as code of instances, by the rules of tn_instance_publish; one that has code already keeps it. `owner` is
 * the tracker that the code is withdrawn with, which comes before closing a loaded file; NULL: it stays forever. As many threads as
 * like may do this. TN_EUNDEF (the text lists what the image does not have; nothing was published), TN_EINVAL (a row is
 * wrong; those before it were published). */
TN_API int tn_image_publish(const struct tn_image *image, const struct tn_image_instance *rows, size_t count,
                            struct tn_tracker *owner, struct tn_error *err);

/* The targets that it was built for, and the one that was chosen. Live as long as the image; `disabled` is not known. */
TN_API size_t tn_image_target_count(const struct tn_image *image);
TN_API const struct tn_cpu_target *tn_image_target(const struct tn_image *image, size_t index);
TN_API size_t tn_image_chosen(const struct tn_image *image);

/* 16 bytes; the same for the same contents. */
TN_API const unsigned char *tn_image_build_id(const struct tn_image *image);

#ifdef __cplusplus
}
#endif
#endif
