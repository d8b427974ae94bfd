/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Random object graphs of every kind, by a seed; their digests, which are the same for graphs that are isomorphic, in
 * whatever process they are; and random changes, which are the same for the same seed. */

#ifndef TENON_TESTS_IMAGE_GRAPH_H
#define TENON_TESTS_IMAGE_GRAPH_H

#include <stdbool.h>

#include "tenon_save.h"

/* For the options of a save, and of opening. */
extern const struct tn_save_type graph_rows[];
extern const size_t graph_row_count;
extern const struct tn_image_type graph_host_types[];
extern const size_t graph_host_type_count;
int graph_name_of(void *context, const void *address, struct tn_save_name *out);
void *graph_resolve(void *context, const char *name);

struct graph {
    struct tn_heap *heap;
    const struct tn_image *image; /* whose types new objects have; NULL: the program's */
    uint64_t seed;                /* of what is chosen next */
    struct tn_handle *roots[3];
    bool changes; /* graph_change was called */
};

/* Fills the roots. `others`, 3 handles or NULL: objects to refer to as well. Returns 0, or ends the program. */
void graph_make(struct graph *graph, size_t objects, struct tn_handle *const *others);
uint64_t graph_digest(const struct graph *graph);
/* Stores `count` times: references to old objects, new ones and none, and numbers; collects now and then. */
void graph_change(struct graph *graph, size_t count);

#endif
