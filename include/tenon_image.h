/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Using images: machine code for several CPUs, compiled ahead of time by `tenon build` or tn_image_build. An image is
 * either linked into a program by the system's linker, or is in a file of its own (a shared library). Opening it checks
 * that it fits, chooses the target for this CPU and fills in the slots through which its functions are called; its code
 * is never modified.
 *
 * Linked into a program: declare the image's functions as usual, and the image as
 *     extern const char tn_image[];
 * (with -fPIC, if it lies in a shared library that the program is linked with: else its linker refuses to) and open it
 * before anything of it is called. Calls before that work too, but get the versions for the image's first target, as
 * its constructors do: on a machine that cannot run these, open it first.
 *
 * Threads: images may be opened by several threads at once; of an open image, nothing changes but where replaceable
 * functions lead. Errors as in tenon.h. */

#ifndef TENON_IMAGE_H
#define TENON_IMAGE_H

#include "tenon_cpu.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tn_format;           /* tenon/format.h */
struct tn_image;            /* opaque */
struct tn_managed_runtime;  /* opaque */
struct tn_image_heaps;      /* opaque */
struct tn_image_recompiler; /* opaque */
struct tn_compiler;         /* tenon_compiler.h */
struct tn_heap;             /* tenon_heap.h, as the following */
struct tn_handle;
struct tn_type;

/* A type of the program that an image's objects are of. */
struct tn_image_type {
    const char *name;
    const struct tn_type *type;
};

/* What code of an image may use of saved objects (tn_image_options of tenon_codegen.h). */
enum tn_image_value_of {
    TN_IMAGE_VALUE_TYPE = 0, /* a type, by its name in the image that has it */
    TN_IMAGE_VALUE_ROOT = 1, /* the object of a root, by the root's name */
};

/* A saved object of which a heap is to have only one that has its key: a symbol, a string, a singleton. */
struct tn_image_unique {
    const struct tn_type *type;
    const void *key; /* as `key` of struct tn_save_type gave it; valid as long as the image is open */
    size_t key_size;
    void *object;                    /* the image's, which does not move */
    const struct tn_handle *instead; /* out: the heap's object that takes its place; NULL: there is none */
};

struct tn_image_load_options {
    size_t size;                    /* sizeof(struct tn_image_load_options) */
    const struct tn_cpu *cpu;       /* the CPU to choose a target for; NULL: this machine, examined at each opening */
    tn_resolver *resolver;          /* for symbols a file needs, such as tn_resolve_dlsym; NULL: none */
    void *context;                  /* its first argument */
    uint64_t flags;                 /* TN_IMAGE_... */
    struct tn_image *const *images; /* open images that it may depend on; they must be closed after it */
    size_t image_count;
    /* The collector, tn_managed_runtime() of tenon_heap.h, for files that contain managed code; NULL: those are
     * refused. */
    const struct tn_managed_runtime *managed;
    /* For images with saved objects (tenon_save.h): the heap that the objects become part of, and tn_image_heaps().
     * NULL: those images are refused. */
    struct tn_heap *heap;
    const struct tn_image_heaps *heaps;
    const struct tn_image_type *host_types; /* for objects of types with TN_SAVE_HOST_TYPE */
    size_t host_type_count;
    /* Called once for an image with unique objects, before the functions of TN_RESTORE: says which of them give way to
     * objects of the heap, and may enter the others in tables of the program. Words of the image that refer to those
     * that give way are stored to; no others are. An error ends the opening, and undoes it. NULL: none gives way. */
    int (*unique)(void *context, struct tn_image_unique *rows, size_t count, struct tn_error *err);
    /* Called in place of stale functions, with their arguments: of those that were compiled with a body or a constant
     * of an image that has another one by now (tn_image_options.used), and that are not compiled again. NULL: images
     * with such functions are refused. */
    void (*on_stale)(void);
    /* Compiles stale functions again when they are first called, if the image is a file with their IR
     * (tn_image_options.keep_ir), and tn_image_recompiler(). NULL: none is. */
    const struct tn_compiler *compiler; /* its functions outlive the image; copied */
    const struct tn_image_recompiler *recompiler;
    /* If that fails, `on_error` is told why, with `context` (NULL: it is not told), and the call goes on in
     * `on_failure`, which there has to be, as for lazy functions (tenon/lazy.h). */
    void (*on_error)(void *context, const struct tn_error *error);
    void (*on_failure)(void);
};

/* Verify the checksum of everything loaded from a file, which takes as long as reading it; otherwise only that of
 * header and tables is verified. Files not made by `tenon build` or tn_image_link have no such checksum: TN_ENOTSUP.
 * Ignored for linked-in images. */
#define TN_IMAGE_VERIFY UINT64_C(1)

/* Copy the file instead of mapping it, as is done anyway if others than root and this user may write it. What was
 * checked cannot change then, and truncating the file has no effect; but no other process shares its pages. */
#define TN_IMAGE_COPY UINT64_C(2)

/* Do not map saved objects at their intended address, but at a random one, as is done anyway if something else is
 * there. Costs a write to each of their pages (doc/IMAGE.md, "Address"). */
#define TN_IMAGE_RELOCATE UINT64_C(4)

/* Opens an image that is part of this process, either linked in or in a library loaded by dlopen. `options` may be
 * NULL. TN_EFORMAT (damaged; the text says where), TN_ENOTSUP (another format version, runtime ABI or architecture; no
 * target fits, and the text lists what the CPU lacks for each; its saved objects depend on an image that has been
 * rebuilt since), TN_ESTALE (an image that it depends on has been rebuilt, and something that is used of it has
 * changed: the text says what was wanted and what was found, and which function is stale), TN_EUNDEF (it depends on an
 * image that is not among `images`, or uses types or objects that none of these has), TN_ENOMEM, TN_EINVAL (of
 * `options`). */
TN_API int tn_image_open_linked(const void *image, const struct tn_image_load_options *options, struct tn_image **out,
                                struct tn_error *err);

/* Loads a shared library that contains an image and opens the image. The file is mapped, its code unmodified; its
 * symbols are bound to public functions and variables of `images`, then by the resolver (libraries that it depends on
 * are not loaded); its initializers are run. Exceptions can pass through its code. Its thread-local variables (x86-64)
 * live in the program's reserve (TN_TLS_RESERVE), like those of linked objects, so threads already running have to be
 * attached to use them. After an error nothing remains. The errors above, and TN_EIO, TN_EPERM (the system refuses to
 * map the code), TN_EUNDEF (the text lists the symbols that the resolver does not know), TN_ENOTSUP (thread-local
 * variables of the program, relocations that shared libraries do not have), TN_ENOMEM (also: the reserve is full). */
TN_API int tn_image_open(const char *path, const struct tn_image_load_options *options, struct tn_image **out,
                         struct tn_error *err);

/* The same for a file in memory, which is copied. `name` (NULL: "<memory>") appears in error messages. */
TN_API int tn_image_open_memory(const char *name, const void *bytes, size_t size,
                                const struct tn_image_load_options *options, struct tn_image **out,
                                struct tn_error *err);

/* What opens heaps of images: `heaps` of the options. Programs that do not name it contain none of this. With
 * TN_IMAGE_VERIFY, saved objects are checked one by one; otherwise they are trusted as code is. The objects become
 * permanent ones of the heap (tenon_heap.h), and stay in memory until it is destroyed, whenever the image is closed.
 * Errors of opening, in addition to those above: TN_ENOTSUP (no heap was given; larger pages; a type of the program
 * differs; code has a type that is laid out in another way than the one of this name in an image that it depends on, or
 * than the image's, if it is code of a JIT, of a session, or managed code of this program; an image that it depends on
 * has no heap, or is in another heap), TN_EUNDEF (symbols, types of the program), TN_EDUP (another open image has
 * changed a word of a third one in another way, or has a type of this name that is laid out in another way). */
TN_API const struct tn_image_heaps *tn_image_heaps(void);

/* What compiles stale functions again: `recompiler` of the options (doc/PACKAGES.md, "Stale functions"). Programs that
 * do not name it contain none of this. Each function is compiled at most once, for the target of the image that was
 * chosen, and uses the variables of the image; any number of threads may call it meanwhile. Signals wait until it is
 * compiled (as tn_session_defer_signals says), so handlers may leave the call, or fork. Opening reads no IR. What such
 * code refers to is looked up in `images`, then by `resolver`, which have to stay as long as the image. Errors of
 * opening, in addition to those above: TN_EINVAL (no compiler, no on_failure), TN_ENOTSUP (the IR was removed from the
 * file), TN_EPERM, TN_ENOMEM. */
TN_API const struct tn_image_recompiler *tn_image_recompiler(void);

/* Makes a handle of the image's heap refer to a root. TN_EUNDEF (there is none of that name), TN_EINVAL (the image has
 * no heap, or the handle is of another one). */
TN_API int tn_image_root(const struct tn_image *image, const char *name, struct tn_handle *to, struct tn_error *err);

/* The type of saved objects that has this name in the image, valid as long as its heap; NULL: there is none. If an
 * image that was opened before has a type of this name, it is that one's. */
TN_API const struct tn_type *tn_image_type(const struct tn_image *image, const char *name);

/* Functions of the program that tn_image_open calls for each image with saved objects, when these are in place and
 * before it returns, in the order of their priorities, the lowest first:
 *
 *     static int reopen_log(struct tn_image *image, struct tn_error *err) { ... }
 *     TN_RESTORE(reopen_log, 100);
 *
 * An error ends the opening and undoes it: none of them may have left a reference to the image's objects then. */
struct tn_restore {
    int (*function)(struct tn_image *image, struct tn_error *err);
    intptr_t priority;
};

#if defined(__has_attribute)
#if __has_attribute(retain)
#define TN_RETAINED __attribute__((used, retain, section("tenon_restore")))
#endif
#endif
#ifndef TN_RETAINED
#define TN_RETAINED __attribute__((used, section("tenon_restore")))
#endif
#define TN_RESTORE(function, priority)                                                                                 \
    static const struct tn_restore tn_restore_##function TN_RETAINED = {function, priority}

struct tn_image_memory {
    size_t size;                      /* in: sizeof(struct tn_image_memory) as the caller knows it */
    uint64_t address, length;         /* of the heap */
    uint64_t intended;                /* the address that it was saved for */
    uint64_t frozen, changing, bound; /* bytes: never written; written by the program; written when it was opened */
    uint64_t written;                 /* words that opening wrote */
};

/* Where the saved objects are. All zeros: the image has no heap. */
TN_API void tn_image_memory(const struct tn_image *image, struct tn_image_memory *memory);

/* Shows a loaded file to gdb, through its interface for JIT compilers (see tn_observe_gdb). Until the image is closed,
 * gdb then knows its symbols and frames and, for code compiled with -g, source lines and variables. `path` names the
 * file, or one that is the same but for being unstripped or holding debug data only; gdb opens it under that name. This
 * process reads all of it once, for a checksum. gdb may be attached before or after. Calling it again has no effect.
 * TN_EINVAL (the image is linked in: debuggers know the program), TN_EIO, TN_EFORMAT (no sections, or another image),
 * TN_ENOMEM. */
TN_API int tn_image_observe_gdb(struct tn_image *image, const char *path, struct tn_error *err);

/* Closes an image: runs the finalizers of a loaded file, which would run at the end of the process otherwise, and
 * unloads it; no thread may be running its code, and no heap may hold objects of types that it defines: clear its
 * globals and collect first. Destructors of its thread_local objects run before, in the calling thread; those of other
 * threads when these end, and only then the file is unloaded, followed by those of `images` that were closed meanwhile.
 * Code that is linked in stays. NULL is ignored. */
TN_API void tn_image_close(struct tn_image *image);

/* Closes an image while attached threads may be running its code, or hold addresses of it until they are quiescent
 * (tenon/thread.h): no new call reaches it, and it is unloaded when no attached thread can be in it. What leads to it
 * is led away: redirectable and lazy functions of sessions as if their target were retired (tn_tracker_retire),
 * replaceable functions of other open images to their chosen versions. Then the call waits, twice, until all other
 * attached threads have been quiescent, and closes the image as tn_image_close does, with its finalizers in this
 * thread. Code that was linked to its addresses is not changed: before, the caller removes definitions of such
 * addresses, objects that use them, and the tracker of code instances that lead there, and no thread looks anything of
 * the image up or redirects anything to it from then on. Threads that are not attached are not waited for. The caller
 * must not be running code of the image, nor hold a lock for which others wait outside of blocking regions. Any number
 * of threads may retire images at the same time; the image is gone when the call returns. It cannot fail. Code that is
 * linked in stays, as do files that other images or heaps use, until these are gone. NULL is ignored. */
TN_API void tn_image_retire(struct tn_image *image);

/* Finds the chosen version of a public function, in logarithmic time; NULL if there is none of that name. Of a
 * replaceable function, it is the entry, whose address never changes. */
TN_API void *tn_image_lookup(const struct tn_image *image, const char *name);

/* Leads a replaceable function (`tenon build --replaceable`) to other code of the same calling convention, for calls
 * from anywhere, those within the image too; NULL: to its chosen version again. Calls that have begun go on where they
 * are. The code has to stay until the function leads elsewhere and no thread runs it; it may be a stub of a session,
 * which tn_jit_replace and others lead on (doc/REDIRECT.md). Any number of threads may do this, and call the function.
 * Not to be called where a session holds its lock (tenon/observe.h). TN_EUNDEF (no public function has that name),
 * TN_ENOTSUP (the function was built with direct calls), TN_EINVAL (it would lead to itself, perhaps through functions
 * of other images, and stubs). */
TN_API int tn_image_redirect(struct tn_image *image, const char *name, const void *address, struct tn_error *err);

struct tn_image_function {
    size_t size;      /* in: sizeof(struct tn_image_function) as the caller knows it */
    const char *name; /* valid as long as the image */
    void *address;    /* as tn_image_lookup */
    uint64_t clones;  /* bit N: target N has its own version */
    uint32_t slot;    /* slot number; UINT32_MAX: there is only one version */
    uint32_t is_public;
    uint32_t is_replaceable; /* tn_image_redirect */
    void *version;           /* the address of the chosen version, which calls reach unless they are redirected */
};

/* The functions by index: first those with a slot, by slot number, then public functions with a single version. Both
 * parts are sorted by name as strcmp does. */
TN_API size_t tn_image_function_count(const struct tn_image *image);
/* TN_EINVAL: there is no such index, or the struct's size is wrong. */
TN_API int tn_image_function(const struct tn_image *image, size_t index, struct tn_image_function *function,
                             struct tn_error *err);

/* A code instance (tenon/instance.h) whose code is a function of the image. */
struct tn_image_instance {
    struct tn_instance *instance;
    const char *name;      /* of the function; NULL: `index` is used */
    size_t index;          /* as tn_image_function takes it */
    void *invoke;          /* the entry that calls the function; NULL: the function is itself an entry */
    uint32_t specsigflags; /* TN_INSTANCE_SPECSIG: the function has its own signature; 0 without `invoke` */
};

/* Publishes functions as the code of instances, by the rules of tn_instance_publish; an instance that already has code
 * keeps it. The code is withdrawn with the tracker `owner` (NULL: never), which must happen before a loaded file is
 * closed or retired. Any number of threads may do this. TN_EUNDEF (the text lists what the image does not have; nothing
 * was published), TN_EINVAL (a row is wrong; those before it were published). */
TN_API int tn_image_publish(const struct tn_image *image, const struct tn_image_instance *rows, size_t count,
                            struct tn_tracker *owner, struct tn_error *err);

/* The targets that the image was built for, and the index of the chosen one. Valid as long as the image; `disabled` is
 * not set. */
TN_API size_t tn_image_target_count(const struct tn_image *image);
TN_API const struct tn_cpu_target *tn_image_target(const struct tn_image *image, size_t index);
TN_API size_t tn_image_chosen(const struct tn_image *image);

/* The build id: 16 bytes, equal for equal contents. */
TN_API const unsigned char *tn_image_build_id(const struct tn_image *image);

/* ---- writing files, without the system's linker ---- */

enum tn_image_file {
    TN_IMAGE_SHARED = 0, /* a shared library, for dlopen and tn_image_open */
    TN_IMAGE_LOADABLE,   /* for tn_image_open only, faster to load: functions are found by the image's own tables */
    TN_IMAGE_PROGRAM,    /* a static executable: a stub followed by the image, whose `main` it calls */
};

struct tn_image_link_options {
    size_t size;      /* sizeof(struct tn_image_link_options) */
    const char *name; /* the file's, for errors; DT_SONAME of a shared library; NULL: none */
    enum tn_image_file kind;
    uint64_t page_size; /* the largest page size of systems that will load it; 0: 4096 */
    const void *stub;   /* programs: a file of pkg-config --variable=stubs tenon-codegen (doc/IMAGE.md, "Executables");
                         * borrowed for the call */
    size_t stub_length;
    const char *image; /* programs: the symbol of the image to open; NULL: "tn_image" */
    /* The formats of inputs, up to NULL, all of one architecture. NULL: ELF of this machine. */
    const struct tn_format *const *formats;
};

/* Links what tn_image_build wrote, and other objects and archives (with all their members), into one file. Symbols that
 * none of these define are looked up when the file is loaded, or taken from the stub; its own definitions cannot be
 * overridden. Equal inputs give equal bytes. Free *out with tn_buffer_free. `options` may be NULL. Programs are for
 * x86-64 and AArch64. TN_EINVAL, TN_EFORMAT, TN_EDUP, TN_EUNDEF (hidden symbols; for programs, all symbols that the
 * stub lacks), TN_ERANGE (not position-independent; the text names section, offset and symbol), TN_ENOTSUP (indirect
 * functions but in TN_IMAGE_SHARED, imported thread-local variables that are not initial-exec), TN_EIO (no memory
 * file), TN_ENOMEM. */
TN_API int tn_image_link(const struct tn_input *inputs, size_t count, const struct tn_image_link_options *options,
                         struct tn_buffer *out, struct tn_error *err);

#ifdef __cplusplus
}
#endif
#endif
