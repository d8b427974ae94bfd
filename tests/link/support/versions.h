/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Versions of a function that replace each other, and finalizers of what is removed. */

#ifndef TENON_TESTS_VERSIONS_H
#define TENON_TESTS_VERSIONS_H

#include "support.h"

/* Adds a weak function `version` that returns this number. */
void add_version(struct tn_library *library, int version, struct tn_tracker *owner);
int call_at(const void *address);

/* Adds an object whose finalizer calls the function, which is defined as `at_the_end`; or counts. */
extern _Atomic int finalized;
void add_finalizer_function(const struct fixture *f, struct tn_tracker *owner, void (*function)(void));
void add_finalizer(const struct fixture *f, struct tn_tracker *owner);

#endif
