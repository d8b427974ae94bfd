/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Small objects for the tests of observers. */

#ifndef TENON_TESTS_LINK_OBSERVED_H
#define TENON_TESTS_LINK_OBSERVED_H

#include "support.h"

/* The contents of .text of each: xor %eax, %eax; ret; then zeros. */
enum { CODE_SIZE = 64 };
extern const uint8_t code[CODE_SIZE];

/* Functions of every kind: one with a size, an alias of it, a label inside it, a label behind it that extends to the
 * next one, a local one, mapping symbols; and a datum. `name` is the first function's name. */
struct bytes functions_object(const char *name);

/* One function. `needs` NULL: no references. */
struct bytes simple_object(const char *name, const char *needs);

/* `owner` may be NULL. */
void add(const struct fixture *f, const char *name, struct bytes object, struct tn_tracker *owner);
void remove_all(struct tn_tracker *tracker);

#endif
