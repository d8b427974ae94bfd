/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An ELF file in memory that tells a debugger about linked objects: what ld would have left of their symbols and debug
 * sections had they been one program at these addresses. Debuggers read a file; ours has one of each section, with the parts
 * of all objects behind one another and relocated. The code itself is not in it. */

#ifndef TENON_DEBUG_IMAGE_H
#define TENON_DEBUG_IMAGE_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

/* What of the image belongs to one object, so that it can be taken out again. */
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
    struct tn__image_part *parts; /* as the objects were given */
    size_t part_count;
    uint64_t sections, symbols; /* where these tables are in the file */
    struct tn__image_range {
        uint64_t at, size;
    } line, line_str, str; /* .debug_line and the names that it refers to, in the file */
};

/* An image has a section for each object; more than these do not fit the plain fields of an ELF header. */
enum { TN__IMAGE_PARTS = 60000 };

/* Makes `size` bytes of what zlib compressed; false if they are not as many, or memory is out. */
typedef bool tn__inflate(void *out, uint64_t size, const void *packed, uint64_t packed_size);

/* TN_ENOMEM; what tn__object_read answers. An object whose debug sections are compressed gets symbols only if `inflate` is
 * NULL or fails. */
int tn__debug_image_make(struct tn__debug_image *image, const struct tn_allocator *from, tn__inflate *inflate,
                         const struct tn_linked_object *const *objects, size_t count, struct tn_error *err);

/* Takes an object's symbols, unwind entries and compilation units out; the file keeps its size. */
void tn__debug_image_erase(struct tn__debug_image *image, size_t part);

void tn__debug_image_free(struct tn__debug_image *image);

#pragma GCC visibility pop
#endif
