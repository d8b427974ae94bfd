/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Objects of one small function each, made in memory. */

#ifndef TENON_TESTS_LINK_FUNCTIONS_H
#define TENON_TESTS_LINK_FUNCTIONS_H

#include "support.h"

/* An object that defines `int name(void)`, which returns `value`, plus the result of `callee` unless that is NULL.
 * Release with free(). */
struct bytes function_object(const char *name, int value, const char *callee);
/* The same, with a weak definition. */
struct bytes weak_function_object(const char *name, int value);

/* The same, with arrays of up to four initializers and finalizers, which are undefined functions; up to NULL. */
struct bytes initialized_function_object(const char *name, int value, const char *callee,
                                         const char *const *initializers, const char *const *finalizers);

/* An input of these bytes that frees them. */
struct tn_input input_of(const char *name, struct bytes bytes);

/* Adds such an object; `owner` may be NULL. */
void add_function(struct tn_library *library, const char *name, int value, const char *callee,
                  struct tn_tracker *owner);

/* Looks up `int name(void)` and returns its result. */
int call_in(struct tn_library *library, const char *name);

#endif
