/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An ELF file in memory that describes linked objects to debuggers: the symbols and debug sections that ld would have
 * produced for one program of these objects at these addresses. It has one section of each kind, with the relocated
 * parts of all objects one after the other. It does not contain the code. */

#ifndef TENON_DEBUG_IMAGE_H
#define TENON_DEBUG_IMAGE_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

/* The parts of the image that belong to one object, so that it can be erased. */
struct tn__image_part {
    uint32_t code_section; /* 0: none */
    struct tn__image_symbols {
        uint32_t first, count;
    } locals, globals;
    uint64_t units, units_size;           /* of .debug_info, in the file */
    uint64_t frames, frames_size;         /* of .eh_frame */
    uint64_t old_frames, old_frames_size; /* of .debug_frame */
};

struct tn__debug_image {
    const struct tn_allocator *from;
    uint8_t *bytes;
    size_t size;
    struct tn__image_part *parts; /* in the order of the objects */
    size_t part_count;
    uint64_t sections, symbols; /* where these tables are in the file */
    struct tn__image_range {
        uint64_t at, size;
    } line, line_str, str; /* .debug_line and the strings it refers to, in the file */
};

/* The most objects of an image: it has a section for each, and the plain fields of an ELF header must hold their
 * number. */
enum { TN__IMAGE_PARTS = 60000 };

/* If `decompress` is NULL or fails, objects with compressed debug sections get symbols only. TN_ENOMEM, and the errors
 * of tn__object_read. */
int tn__debug_image_make(struct tn__debug_image *image, const struct tn_allocator *from, tn_decompress *decompress,
                         const struct tn_linked_object *const *objects, size_t count, struct tn_error *err);

/* Erases an object's symbols, unwind entries and compilation units; the file keeps its size. */
void tn__debug_image_erase(struct tn__debug_image *image, size_t part);

void tn__debug_image_free(struct tn__debug_image *image);

#pragma GCC visibility pop
#endif
