/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Where windows go in the address space. */

#ifndef TENON_PLACEMENT_H
#define TENON_PLACEMENT_H

#include "base/os.h"

#pragma GCC visibility push(hidden)

/* Reserves `size` bytes such that every byte of them and every byte of [start, end) reach each other with a signed
 * 32-bit displacement, at a distance that depends on the random `bits`. `heap_end` is tn__os_heap_end(). 0, EEXIST if
 * there is no such place, or another errno value. */
int tn__place_near(uint64_t start, uint64_t end, uint64_t heap_end, size_t size, uint64_t bits, uint64_t *address);

/* Reserves `size` bytes below 2 GiB. 0 or an errno value. */
int tn__place_low(uint64_t heap_end, size_t size, uint64_t bits, uint64_t *address);

#pragma GCC visibility pop
#endif
