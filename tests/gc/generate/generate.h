/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Shared by the files of the generator. */

#ifndef TESTS_GC_GENERATE_H
#define TESTS_GC_GENERATE_H

#include <stdint.h>

enum { VECTORS = 3 }; /* number of functions in IR */

/* The state of a random number generator. */
uint64_t seeded(uint64_t seed);
unsigned pick_from(uint64_t *state, unsigned count);

/* Functions on vectors of references: as LLVM IR, or what they do in C. */
void define_vectors(uint64_t seed, int as_ir);

#endif
