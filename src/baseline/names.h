/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Numbers by name: an open hash table. It has secret numbers, so that names cannot be chosen to have one hash. */

#ifndef TENON_BASELINE_NAMES_H
#define TENON_BASELINE_NAMES_H

#include "base/base.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

struct tn__names {
    uint64_t seed[2];
    uint32_t *places; /* numbers from 1 on; 0: free */
    uint32_t mask;
};

/* The name that a number in the table stands for. */
typedef const char *tn__name_of(const void *context, uint32_t number);

/* How many places a table for so many names needs, a power of two. At least half of them stay free. */
size_t tn__names_room(size_t names);
/* Begins an empty table. The places are the caller's memory, with zeros. */
void tn__names_begin(struct tn__names *names, uint32_t *places, size_t room);
/* The place that has the name, or the free one where its number belongs. */
uint32_t *tn__names_find(const struct tn__names *names, const char *name, tn__name_of *name_of, const void *context);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
