/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Loading an image (doc/IMAGE.md), the parts and their interfaces:
 *     tables.c    header and tables; every count and offset is checked here, once
 *     items.c     what images offer to others, and what they use of others
 *     offers.c    the same tables as a whole: their digest and order, for building and looking at images
 *     image.c     tn_image: the choice of a target, slots, lookups
 *     dependencies.c  the images that an image depends on
 *     stale.c     functions with copies of what these had
 *     recompile.c tn_image_recompiler: compiles these again
 *     mapping.c   a file's segments in memory
 *     relocate.c  relocations and thread-local variables, as its dynamic section says
 *     frames.c    its unwind table
 *     managed.c   its stack maps and root ranges
 *     thread_exits.c  destructors of its thread_local objects, its finalizers, and when it can be unloaded
 *     linked.c    tn_image_open_linked
 *     open.c      tn_image_open and tn_image_open_memory: the phases of opening a file, and of closing it
 *     debugger.c  tn_image_observe_gdb
 *     instances.c tn_image_publish
 *     redirect.c  tn_image_redirect
 *     retire.c    tn_image_retire */

#ifndef TENON_IMAGE_IMAGE_H
#define TENON_IMAGE_IMAGE_H

#include "base/base.h"
#include "base/managed_file.h"
#include "base/thread_end.h"
#include "image/format/format.h"
#include "link/tls/tls.h"
#include "link/unwind/unwind.h"
#include "tenon_image.h"

#pragma GCC visibility push(hidden)

/* What the phases of opening an image work on (image.c). */
struct tn__image_opening {
    struct tn_image *image;
    const struct tn_image_load_options *options;
    struct tn_error *err;
    struct tn__image_contents *contents; /* of a file (open.c) */
};

struct tn__opened_file;

struct tn__image_phase {
    int (*run)(const struct tn__image_opening *o);
    void (*undo)(struct tn__opened_file *file); /* of what has been done, however much that is; NULL: nothing is left */
};

/* ---- tables.c ---- */

struct tn__image_rows {
    const uint8_t *rows;
    uint32_t count, size; /* size: bytes of each */
};

static inline const uint8_t *tn__image_row(const struct tn__image_rows *table, uint32_t index)
{
    return table->rows + (size_t)index * table->size;
}

/* Header and tables that were checked. */
struct tn__image_view {
    const uint8_t *header;
    uint32_t size, slots, places;
    uint32_t offers_at;                                /* the first of these places, if there are any */
    uint32_t values_at, zones_at, cells_at, shared_at; /* the first of these places; 0: there is none */
    uint16_t machine;
    struct tn__image_rows tables[TN__IMAGE_TABLES];
    uint32_t firsts[2][TN__ITEMS + 1]; /* of offers and of edges: the first row of each kind, and the number of rows */
    const char *text;
    struct tn_cpu_target *targets; /* in the arena; `disabled` and `unasked` are empty */
    uint64_t groups;               /* the targets that have a version of every function with a slot */
};

/* Checks header and tables of at most `available` bytes, the places not counted. The bytes are borrowed. TN_EFORMAT,
 * TN_ENOTSUP, TN_ENOMEM. */
int tn__image_read(const char *name, const uint8_t *header, uint64_t available, struct tn__arena *arena,
                   struct tn__image_view *view, struct tn_error *err);

/* The text at the offset that a field of a row holds, or NULL. */
const char *tn__image_text(const struct tn__image_view *view, const uint8_t *field);

/* The image's own name. */
const char *tn__image_name(const struct tn__image_view *view);

/* Rows of functions are checked when they are read, because opening an image reads none of them. A wrong row, which the
 * checksum rules out unless it is intended, has the name "" and no versions. */
const char *tn__image_function_name(const struct tn__image_view *view, uint32_t index);
bool tn__image_function_is_public(const struct tn__image_view *view, uint32_t index);
uint64_t tn__image_function_clones(const struct tn__image_view *view, uint32_t index);
/* The index of the place of a function's version for a target. */
uint32_t tn__image_version(const struct tn__image_view *view, uint32_t function, size_t target);
/* The cell of a replaceable function; TN__IMAGE_NO_CELL: it is not replaceable. */
#define TN__IMAGE_NO_CELL UINT32_MAX
uint32_t tn__image_cell(const struct tn__image_view *view, uint32_t function);
/* The function that a cell leads. */
uint32_t tn__image_cell_function(const struct tn__image_view *view, uint32_t cell);
/* Checks all rows of functions. TN_EFORMAT. */
int tn__image_check_functions(const char *name, const struct tn__image_view *view, struct tn_error *err);

/* ---- items.c ---- */

/* Something that an image offers, or uses of another one. */
struct tn__image_item {
    enum tn__image_item_kind kind;
    uint32_t dependency; /* of an edge: row of its table */
    const char *name, *text;
    uint32_t alignment;
    uint64_t size;
};

/* Reads a row of the table of offers or of edges; rows are checked when they are read, as those of functions. False: it
 * is wrong. */
bool tn__image_item(const struct tn__image_view *view, enum tn__image_table table, uint32_t index,
                    struct tn__image_item *item);
/* Finds where the kinds begin in both tables, whose rows need not be right. */
void tn__image_find_kinds(struct tn__image_view *view);
/* Finds the row of this kind and name; *index: which one it may be. False: there is none, or it is wrong. */
enum { TN__IMAGE_ANYWHERE = INT32_MAX };
bool tn__image_find_item(const struct tn__image_view *view, enum tn__image_table table, enum tn__image_item_kind kind,
                         const char *name, uint32_t *index, struct tn__image_item *item);
/* Compares what the image `name` wants of `other` with what that has: TN_ESTALE if they differ. */
int tn__image_compare_item(const char *name, const struct tn__image_item *wanted, const struct tn__image_view *other,
                           struct tn_error *err);
/* The same for all edges to one dependency, but for those to bodies and constants. TN_ESTALE, TN_EFORMAT. */
int tn__image_compare_edges(const char *name, const struct tn__image_view *view, uint32_t dependency,
                            const struct tn__image_view *other, struct tn_error *err);

/* ---- offers.c ---- */

/* The digest of all that it offers, for the header. */
uint64_t tn__image_digest(const struct tn__image_view *view);
/* Checks all rows of both tables, and the digest. TN_EFORMAT. */
int tn__image_check_items(const char *name, const struct tn__image_view *view, struct tn_error *err);

/* ---- mapping.c ---- */

enum { TN__IMAGE_SEGMENTS = 16 };

struct tn__image_segment {
    uint64_t address, file_size, size; /* the address as the file has it, see bias */
    uint64_t offset;                   /* in the file */
    uint8_t prot;                      /* enum tn__prot */
};

/* A shared library in memory. */
struct tn__image_mapping {
    const char *name;
    uint64_t bias;        /* added to addresses of the file */
    uint64_t start, size; /* the reserved address space; size 0: none */
    uint16_t machine;
    struct tn__image_segment segments[TN__IMAGE_SEGMENTS];
    size_t segment_count;
    struct tn__image_segment dynamic, relro, frames; /* size 0: none */
    struct tn__image_segment tls;                    /* thread-local variables: their initial values */
    uint64_t tls_alignment;
    uint64_t header; /* the image's, as an address of the file */
    int fd;          /* until it is opened: the file that is mapped; -1: it was copied into memory */
};

/* A file to be mapped, or, if there are bytes, contents to be copied. */
struct tn__image_source {
    const uint8_t *bytes;
    uint64_t size;
    int fd;
    bool at_address; /* the one that it is linked for, if that is free */
};

/* Brings a file into memory and finds its image. After an error nothing of it is left. TN_EFORMAT, TN_ENOTSUP,
 * TN_EPERM, TN_ENOMEM, TN_EIO. */
int tn__image_map(const char *name, const struct tn__image_source *from, struct tn__image_mapping *mapping,
                  struct tn_error *err);
void tn__image_unmap(struct tn__image_mapping *mapping);

/* The segment that contains a whole range and allows `prot`, or NULL; and the memory of the range. */
const struct tn__image_segment *tn__image_segment_at(const struct tn__image_mapping *mapping, uint64_t address,
                                                     uint64_t size, unsigned prot);
void *tn__image_at(const struct tn__image_mapping *mapping, uint64_t address, uint64_t size, unsigned prot);
/* The same for the contents of the file that are never written; *available: the bytes from there to the end of the
 * segment. */
const uint8_t *tn__image_file_bytes(const struct tn__image_mapping *mapping, uint64_t address, uint64_t *available);

/* ---- relocate.c ---- */

struct tn__image_calls {
    uint64_t address, count; /* of an array of functions, in memory */
};

/* A loaded file; initially all zeros. */
struct tn__opened_file {
    struct tn__image_mapping mapping;
    uint64_t slots, slots_size; /* address and bytes; their relocations are skipped, because they are filled anyway */
    struct tn__image_calls initializers, finalizers;
    struct tn__mem_range *tls; /* its part of the program's reserve */
    struct tn__unwind unwind;
    union tn__unwind_block blocks[2]; /* of the table, and of libgcc's object */
    struct tn__unwind_table *tables;  /* a list of one */
    struct tn__managed_file managed;
    const struct tn_managed_runtime *runtime;      /* that it is registered with, or NULL */
    struct tn__image_recompilation *recompilation; /* of its stale functions, or NULL */
    void (*end_recompilation)(struct tn__image_recompilation *recompilation);
};

/* Applies the relocations of a mapped file, reserves space for its thread-local variables, and finds its initializers
 * and finalizers. TN_EFORMAT, TN_ENOTSUP, TN_EUNDEF, TN_ENOMEM, TN_EPERM. */
int tn__image_relocate(const struct tn__image_opening *o);
void tn__image_give_variables(struct tn__opened_file *file);
/* Makes the PT_GNU_RELRO range of a file read-only, when everything is in place. TN_EFORMAT, TN_ENOMEM. */
int tn__image_seal(const struct tn__image_opening *o);

/* ---- frames.c ---- */

/* Registers the unwind table of a file with the program's unwinder, and removes it. TN_EFORMAT, TN_ENOMEM. */
int tn__image_register_frames(const struct tn__image_opening *o);
void tn__image_forget_frames(struct tn__opened_file *file);

/* ---- managed.c ---- */

/* Registers a file's stack maps and root ranges with the collector, if there are any, and unregisters them. TN_EFORMAT,
 * TN_ENOMEM. */
int tn__image_enter_managed(const struct tn__image_opening *o);
void tn__image_leave_managed(struct tn__opened_file *file);

/* ---- open.c ---- */

/* Opens an image as tn_image_open, from bytes or an open file, which may be closed afterwards. `id` (NULL: any): the
 * build id that it has to have, or else TN_EFORMAT. `name` is for errors. */
int tn__image_open_source(const struct tn__image_source *from, const char *name, const uint8_t *id,
                          const struct tn_image_load_options *options, struct tn_image **out, struct tn_error *err);
/* Only maps it and reads its tables, and runs none of its code; it may be for another machine. Of the options, only
 * flags count. `name` has to stay. */
int tn__image_open_reading(const struct tn__image_source *from, const char *name,
                           const struct tn_image_load_options *options, struct tn_image **out, struct tn_error *err);
/* Does what opening does up to the relocations, against images that are open or were checked themselves. The CPU of
 * the options may be of another architecture. */
int tn__image_open_checked(const struct tn__image_source *from, const char *name,
                           const struct tn_image_load_options *options, struct tn_image **out, struct tn_error *err);
/* Of both. */
void tn__image_close_checked(struct tn_image *image);
/* Releases what a file has taken, however far loading has come. */
void tn__image_release(struct tn__opened_file *file);

/* ---- heaps (src/image/heap) ---- */

/* What heaps need to know of a loaded file, by pointers: programs that link images in contain no loader. */
struct tn__image_files {
    const struct tn__image_segment *(*segment_at)(const struct tn__image_mapping *mapping, uint64_t address,
                                                  uint64_t size, unsigned prot);
    const uint8_t *(*bytes_at)(const struct tn__image_mapping *mapping, uint64_t address, uint64_t *available);
};

/* tn_image_heaps(): by these, loaders know the code that opens heaps, which programs contain that name it. */
struct tn_image_heaps {
    /* Adjusts the saved objects of an image, whose tables were read and which is mapped, and makes them part of the
     * heap. After an error nothing of them is registered. */
    int (*open)(struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err);
    /* Undoes that. False: another image uses types of this one, so it stays part of the heap. */
    bool (*close)(struct tn_image *image);
    /* Finds the types and objects that the image's code uses, in its own heap and in those of images that it depends
     * on, and writes their addresses; `values` is NULL if there are none. Before that, compares the types that the code
     * was compiled with with those of these images. */
    int (*fill)(const struct tn_image *image, const char *name, uint64_t *values,
                const struct tn_image_load_options *options, struct tn_error *err);
    /* Leads types of names that images of the heap have already to these images, when nothing else can fail. NULL:
     * there is no other image. */
    int (*settle)(struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err);
    /* Runs what the program has to do before the objects are used. */
    int (*restore)(struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err);
    const struct tn__heap_parts *parts; /* NULL: those of the image of an executable will do */
};

/* ---- image.c ---- */

struct tn_image {
    struct tn__image_view view;
    size_t chosen;
    struct tn__arena arena;
    struct tn_image **dependencies; /* by row of their table, in the arena; NULL: there are none */
    uint8_t *stale;                 /* by cell, enum tn__image_stale; in the arena; NULL: none is */
    void (*on_stale)(void);
    void *const *again;                  /* by cell: the stubs of those that are compiled again (recompile.c) */
    struct tn__opened_file *file;        /* in the arena; NULL: it is linked in */
    const struct tn__image_files *files; /* functions that look into it */
    /* Unloads the file, now or later, and frees the image. NULL: it is linked in, without a heap. A pointer, so that
     * programs that link images in contain no loader. */
    void (*unload)(struct tn_image *image);
    void (*leave)(struct tn_image *image); /* the same when its heap has ended, if it has one */
    struct tn__image_shown *shown;         /* its entry for debuggers, or NULL */
    struct tn__image_heap *heap;           /* in the arena; NULL: it has none */
    /* Its types are not compared with those of code any more; atomic. NULL: they are not compared. */
    void (*leave_types)(struct tn_image *image);
    /* Of one with functions that were redirected; NULL: there is none. Called when it is closed (redirect.c). */
    void (*leave_redirected)(struct tn_image *image);
    struct tn__list redirected;
    /* Of a loaded file (thread_exits.c): */
    struct tn__list listed;
    struct tn__thread_ends thread_exits;
    uint64_t finalizers;    /* so many have not been called; atomic */
    uint64_t users;         /* what it stays in memory for */
    struct tn_image **used; /* in the arena: the files that it is a user of */
    size_t used_count;
};

/* Takes the caller's options and creates an empty image, which tn_image_close frees. TN_EINVAL, TN_ENOMEM. */
int tn__image_new(const char *name, const struct tn_image_load_options *given, struct tn_image_load_options *options,
                  struct tn_image **out, struct tn_error *err);
void tn__image_free(struct tn_image *image);
/* Runs the phases in order, until one fails. */
int tn__image_run(const struct tn__image_phase *phases, size_t count, const struct tn__image_opening *o);
/* Checks that the image fits this process, and chooses a target. */
int tn__image_choose(const struct tn__image_opening *o);
/* Its name in errors: the file's while it is being opened. */
static inline const char *tn__image_label(const struct tn_image *image)
{
    return image->file && image->file->mapping.name ? image->file->mapping.name : tn__image_name(&image->view);
}
/* The first call ends the comparison, when the image is closed or its heap ends. */
static inline void tn__image_leave_types(struct tn_image *image)
{
    void (*leave_types)(struct tn_image *) = __atomic_exchange_n(&image->leave_types, NULL, __ATOMIC_ACQ_REL);
    if (leave_types)
        leave_types(image);
}
/* What a place leads to. */
void *tn__image_place(const struct tn__image_view *view, uint32_t index);
/* The row of the public function of this name; UINT32_MAX: there is none. */
uint32_t tn__image_find_function(const struct tn_image *image, const char *name);
/* Opens its heap, settles its types and restores its objects (struct tn_image_heaps), if it has one. TN_ENOTSUP, and
 * the errors of that. */
int tn__image_open_heap(const struct tn__image_opening *o);
int tn__image_settle(const struct tn__image_opening *o);
int tn__image_restore(const struct tn__image_opening *o);
/* Writes the slots. The places were checked, or are those of the program itself. */
int tn__image_fill_slots(const struct tn__image_opening *o);
/* Writes the values, if there are any, and compares types. TN_ENOTSUP, TN_EUNDEF, TN_EFORMAT, TN_ENOMEM. */
int tn__image_fill_values(const struct tn__image_opening *o);

/* ---- dependencies.c ---- */

/* Finds the images it depends on among the open ones, and compares what it uses of them. TN_EUNDEF, TN_ENOTSUP,
 * TN_ESTALE, TN_EFORMAT, TN_ENOMEM. */
int tn__image_check_dependencies(const struct tn__image_opening *o);
/* Where other images reach the public function or variable: a function's entry, which leads to the version that is
 * chosen. NULL: the image has none. */
void *tn__image_entry(const struct tn_image *image, const char *name);
/* What this name means to an image: an edge's item, or else what the images of the options have, or else what their
 * resolver answers; NULL: nothing. */
void *tn__image_resolve(const struct tn_image *image, const struct tn_image_load_options *options, const char *name);

/* ---- stale.c ---- */

/* What becomes of calls of a function with copies. */
enum tn__image_stale { TN__FRESH, TN__STALE, TN__STALE_AGAIN }; /* its version; on_stale; compiled again */

/* Finds the functions that contain what a dependency has no more: TN_ESTALE. `is_tolerant`: those that can be compiled
 * again, or can lead to on_stale of the options, are marked instead. TN_EFORMAT, TN_ENOMEM. */
int tn__image_find_stale(const struct tn__image_opening *o, uint32_t dependency, const struct tn_image *other,
                         bool is_tolerant);
/* The row of the table of kept functions that has the IR of the function of a cell, or NULL. */
const uint8_t *tn__image_kept(const struct tn__image_view *view, uint32_t cell);
/* Leads the functions with copies: those that are stale elsewhere, others to their versions. */
void tn__image_lead_stale(const struct tn_image *image);
/* Where calls of a function go on unless it was redirected. */
void *tn__image_own_target(const struct tn_image *image, uint32_t function);

/* ---- recompile.c ---- */

/* tn_image_recompiler(): by these, loaders know the code that compiles stale functions again, which programs contain
 * that name it. */
struct tn_image_recompiler {
    /* Makes a stub for each stale function of a file that is to be compiled again, and notes them in the image. After
     * an error nothing is left. TN_EFORMAT, TN_EIO, TN_ENOMEM, TN_EPERM, TN_ENOTSUP. */
    int (*begin)(const struct tn__image_opening *o, const struct tn__image_source *from);
};

/* ---- thread_exits.c ---- */

/* Enters a file before any of its code runs. TN_ENOMEM. */
int tn__image_enter(const struct tn__image_opening *o);
/* Runs the destructors that the calling thread would run at its end. */
void tn__image_run_thread_exits(struct tn_image *image);
/* Calls the finalizers that have not been called, now, and from here on at the end of the process. TN_ENOMEM. */
void tn__image_finalize(struct tn_image *image);
int tn__image_finalize_at_exit(const struct tn__image_opening *o);
/* Releases the file, and frees the image, now or when the last of its users is gone. */
void tn__image_leave(struct tn_image *image);
/* __cxa_thread_atexit and __cxa_thread_atexit_impl as seen by loaded files. Returns 0, or -1 if memory is out or no
 * file contains the handle or the function. */
int tn__image_thread_atexit(void (*function)(void *argument), void *argument, void *handle);

/* __cxa_atexit as seen by loaded files. Any thread. */
int tn__image_atexit(void (*function)(void *argument), void *argument, void *handle);

#pragma GCC visibility pop
#endif
