/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Loading an image (doc/IMAGE.md), the parts and what they expect of each other:
 *     tables.c    header and tables: every count and offset is checked here, once
 *     image.c     tn_image: the choice of a target, slots, lookups
 *     mapping.c   a file's segments in memory
 *     verify.c    the checksum of all that is loaded of it
 *     relocate.c  what its dynamic section asks for
 *     frames.c    its unwind table
 *     managed.c   its stack maps and root ranges
 *     linked.c    tn_image_open_linked
 *     open.c      tn_image_open and tn_image_open_memory
 *     debugger.c  tn_image_observe_gdb
 *     instances.c tn_image_publish
 *     checksum.c  the checksum
 *     machines.c  architectures by name and by number */

#ifndef TENON_IMAGE_IMAGE_H
#define TENON_IMAGE_IMAGE_H

#include "base/base.h"
#include "base/managed_file.h"
#include "image/format.h"
#include "link/tls.h"
#include "link/unwind.h"
#include "tenon_image.h"

#pragma GCC visibility push(hidden)

/* ---- tables.c ---- */

struct tn__image_rows {
    const uint8_t *rows;
    uint32_t count;
};

/* Header and tables that were found to be sound. */
struct tn__image_view {
    const uint8_t *header;
    uint32_t size, slots, places;
    uint16_t machine;
    struct tn__image_rows tables[TN__IMAGE_TABLES];
    const char *text;
    struct tn_cpu_target *targets; /* in the arena; `disabled` and `unasked` are empty */
    uint64_t groups;               /* the targets that have a version of every function that has several */
};

/* Checks header and tables of at most `available` bytes, the places not counted. The bytes are borrowed. TN_EFORMAT, TN_ENOTSUP,
 * TN_ENOMEM. */
int tn__image_read(const char *name, const uint8_t *header, uint64_t available, struct tn__arena *arena,
                   struct tn__image_view *view, struct tn_error *err);

/* The image's own name. */
const char *tn__image_name(const struct tn__image_view *view);

/* Rows of functions are checked when they are looked at: a start looks at none of them. Where one is wrong, which the checksum
 * rules out for accidents, its name is "", and its versions are none. */
const char *tn__image_function_name(const struct tn__image_view *view, uint32_t index);
bool tn__image_function_is_public(const struct tn__image_view *view, uint32_t index);
uint64_t tn__image_function_clones(const struct tn__image_view *view, uint32_t index);
/* Which place has the version of a function for a target. */
uint32_t tn__image_version(const struct tn__image_view *view, uint32_t function, size_t target);
/* Says what is wrong with the rows of functions, if anything is. TN_EFORMAT. */
int tn__image_check_functions(const char *name, const struct tn__image_view *view, struct tn_error *err);

/* ---- mapping.c ---- */

enum { TN__IMAGE_SEGMENTS = 16 };

struct tn__image_segment {
    uint64_t address, file_size, size; /* the address from the file's beginning of numbering */
    uint64_t offset;                   /* in the file */
    uint8_t prot;                      /* enum tn__prot */
};

/* A shared library in memory. */
struct tn__image_mapping {
    const char *name;
    uint64_t bias;        /* added to addresses of the file */
    uint64_t start, size; /* the space that it takes; size 0: there is none */
    uint16_t machine;
    struct tn__image_segment segments[TN__IMAGE_SEGMENTS];
    size_t segment_count;
    struct tn__image_segment dynamic, relro, frames; /* size 0: none */
    struct tn__image_segment tls;                    /* thread-local variables: their initial values */
    uint64_t tls_alignment;
    uint64_t header; /* the image's, as an address of the file */
};

/* Maps a file and finds its image. After an error nothing of it is left. TN_EFORMAT, TN_ENOTSUP, TN_EPERM, TN_ENOMEM, TN_EIO. */
int tn__image_map(const char *name, int fd, struct tn__image_mapping *mapping, struct tn_error *err);
void tn__image_unmap(struct tn__image_mapping *mapping);
/* Whether one of these notes is an image's, and where it begins. */
bool tn__image_find_note(const uint8_t *notes, uint64_t size, uint64_t *at);

/* The segment that all of a range lies in and that allows `prot`, or NULL; and the range's memory. */
const struct tn__image_segment *tn__image_segment_at(const struct tn__image_mapping *mapping, uint64_t address,
                                                     uint64_t size, unsigned prot);
void *tn__image_at(const struct tn__image_mapping *mapping, uint64_t address, uint64_t size, unsigned prot);
/* The same, of what comes from the file and is never written; *available: how many bytes of it there are. */
const uint8_t *tn__image_file_bytes(const struct tn__image_mapping *mapping, uint64_t address, uint64_t *available);

/* ---- verify.c ---- */

/* Compares the checksum of a file. TN_EFORMAT, TN_ENOTSUP (the file has none). */
int tn__image_verify(const char *name, const uint8_t *bytes, size_t size, struct tn_error *err);

/* ---- relocate.c ---- */

struct tn__image_calls {
    uint64_t address, count; /* of an array of functions, in memory */
};

/* A loaded file; all zeros holds nothing. */
struct tn__image_file {
    struct tn__image_mapping mapping;
    uint64_t slots, slots_size; /* address and bytes; they are filled, so their relocations are not applied */
    struct tn__image_calls initializers, finalizers;
    struct tn__range *tls; /* its part of the program's reserve */
    struct tn__unwind unwind;
    struct tn__unwind_table table, *tables; /* which list the one */
    struct tn__managed_file managed;
    const struct tn_managed_runtime *runtime; /* that it is registered with, or NULL */
};

/* Applies the relocations of a mapped file, gives its thread-local variables their place, and says what is to be called then
 * and in the end. TN_EFORMAT, TN_ENOTSUP, TN_EUNDEF, TN_ENOMEM, TN_EPERM. */
int tn__image_relocate(struct tn__image_file *file, const struct tn_image_load_options *options, struct tn_error *err);
/* Makes read-only what a file wants to be so (PT_GNU_RELRO) once everything is in place. TN_EFORMAT, TN_ENOMEM. */
int tn__image_seal(const struct tn__image_mapping *mapping, struct tn_error *err);

/* ---- frames.c ---- */

/* Tells the program's unwinder about a file's code, and takes that back. TN_EFORMAT, TN_ENOMEM. */
int tn__image_register_frames(struct tn__image_file *file, struct tn_error *err);
void tn__image_forget_frames(struct tn__image_file *file);

/* ---- managed.c ---- */

/* Registers a file's stack maps and root ranges with the collector, if there are any, and unregisters them. TN_EFORMAT, TN_ENOMEM. */
int tn__image_enter_managed(struct tn__image_file *file, const struct tn_image_load_options *options,
                            struct tn_error *err);
void tn__image_leave_managed(struct tn__image_file *file);

/* ---- image.c ---- */

struct tn_image {
    struct tn__image_view view;
    size_t chosen;
    struct tn__arena arena;
    struct tn__image_file *file; /* in the arena; NULL: it is linked in */
    void (*unload)(
        struct tn_image *image);   /* NULL: it is linked in. A pointer, so that who links images in has no loader */
    struct tn__image_shown *shown; /* what debuggers see of it; NULL: nothing */
};

/* Takes the caller's options and makes an image that holds nothing yet; tn_image_close frees it. TN_EINVAL, TN_ENOMEM. */
int tn__image_new(const char *name, const struct tn_image_load_options *given, struct tn_image_load_options *options,
                  struct tn_image **out, struct tn_error *err);
/* Checks that the image fits this process, and chooses a target. */
int tn__image_choose(struct tn_image *image, const char *name, const struct tn_image_load_options *options,
                     struct tn_error *err);
/* Checks that what it depends on is open. TN_EUNDEF, TN_ENOTSUP. */
int tn__image_check_dependencies(const struct tn_image *image, const char *name,
                                 const struct tn_image_load_options *options, struct tn_error *err);
/* Writes the slots; the places were checked, or are the program's own. */
void tn__image_fill_slots(const struct tn_image *image);

#pragma GCC visibility pop
#endif
