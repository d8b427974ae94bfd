/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The parts of a stub: stub.c, in those with a collector managed.c, and in those that open saved objects objects.c. */

#ifndef TENON_STUB_H
#define TENON_STUB_H

#include "image/format/program.h"
#include "tenon.h"
#include "tenon_image.h"

/* Where something of the program is. */
void *tn__stub_at(uint64_t distance);

/* Tells the collector of the image's code and globals, and makes the heap of managed code, which reports problems after
 * `name` (borrowed). Weak: stubs without a collector lack it. */
int tn__stub_manage(const struct tn__program *program, const char *name, struct tn_error *err) __attribute__((weak));

/* Opens an image that has or uses saved objects. Weak: most stubs lack it. */
int tn__stub_open(const struct tn__program *program, struct tn_image **image, struct tn_error *err)
    __attribute__((weak));

#endif
