/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Layouts of types: comparing descriptors. */

#ifndef TENON_TYPES_H
#define TENON_TYPES_H

#include "base.h"
#include "tenon_heap.h"

#pragma GCC visibility push(hidden)

enum { TN__DIFFERENCE = 100 };

/* True if objects of the two types are laid out differently; `text` then says what differs, first of `a`, then of
 * `b`. */
bool tn__types_differ(const struct tn_type *a, const struct tn_type *b, char text[TN__DIFFERENCE]);

#pragma GCC visibility pop
#endif
