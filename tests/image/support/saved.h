/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Shared by tests of images with objects: a heap, a few types, files. */

#ifndef TENON_TESTS_IMAGE_SAVED_H
#define TENON_TESTS_IMAGE_SAVED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tenon_save.h"

struct link {
    struct link *next, *other;
    uint64_t value;
};

extern const struct tn_type link_type;
extern struct tn_error err;

/* Creates a heap, to which the calling thread is attached, with TN_HEAP_VERIFY. */
struct tn_heap *saved_heap(void);
/* A link to `next` (NULL: to nothing), whose handle is freed. */
struct tn_handle *saved_link(struct tn_heap *heap, const struct tn_type *type, uint64_t value, struct tn_handle *next);
/* Takes and writes one root, "root", and destroys the save. Returns the code. */
int saved_write(struct tn_heap *heap, const struct tn_save_options *options, const struct tn_handle *root,
                struct tn_save_stats *stats, const char *path);
struct tn_image_load_options saved_options(struct tn_heap *heap);
/* The root of an image in a new handle. */
struct tn_handle *saved_root(struct tn_heap *heap, const struct tn_image *image);
/* The sum of the values of a list along `next`, and how many links it has. */
uint64_t saved_sum(const struct tn_handle *list, uint64_t *count);

/* A name for a file of this process. */
const char *saved_path(const char *name);
uint8_t *saved_read(const char *path, size_t *size);
void saved_store(const char *path, const void *bytes, size_t size);
/* How many mappings the process has. */
size_t saved_mappings(void);

#endif
