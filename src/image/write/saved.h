/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Saved objects that become part of an image with code: tables that go into those of the image, and an object file with
 * the zones and lists. */

#ifndef TENON_IMAGE_SAVED_H
#define TENON_IMAGE_SAVED_H

#include "image/load/image.h"

#pragma GCC visibility push(hidden)

struct tn__saved {
    struct tn__image_view view; /* of an image without code */
    const uint8_t *zones;       /* bytes of the first, which the others follow */
};

/* Reads the image of saved objects alone whose header is at `header`, and whose zones have `size` bytes. The bytes are
 * borrowed. TN_EFORMAT, TN_ENOTSUP, TN_ENOMEM. */
int tn__saved_read(const char *name, const uint8_t *header, uint64_t available, const uint8_t *zones, uint64_t size,
                   struct tn__arena *arena, struct tn__saved *saved, struct tn_error *err);
/* The same for a file that tn_save_write has written; compares its checksum. */
int tn__saved_read_file(const char *name, const uint8_t *bytes, size_t size, struct tn__arena *arena,
                        struct tn__saved *saved, struct tn_error *err);

/* Copies the rows of a table of heaps as an image with code has them. Offsets in the text stay, so the text has to
 * begin with that of this image. */
void tn__saved_copy_rows(const struct tn__saved *saved, enum tn__image_table kind, uint8_t *to);

/* The symbols of the object, after the image's and a dot: of the zones by their kinds, then of the lists. */
extern const char *const tn__saved_symbols[TN__ZONES + 1];

/* The object, which needs no relocation; `image` is the symbol of the image that it becomes part of. TN_ERANGE (2 GiB
 * or more), TN_ENOMEM. */
int tn__saved_object(const struct tn__saved *saved, const char *image, struct tn_buffer *out, struct tn_error *err);

#pragma GCC visibility pop
#endif
