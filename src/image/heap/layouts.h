/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Types of code, compared with those of the saved objects that are going to be in one image with it. */

#ifndef TENON_IMAGE_LAYOUTS_H
#define TENON_IMAGE_LAYOUTS_H

#include "image/write/saved.h"
#include "tenon_heap.h"

#pragma GCC visibility push(hidden)

/* TN_ENOTSUP: the objects have a type of this name, and are laid out in another way. TN_EFORMAT: its descriptor is
 * damaged. */
int tn__saved_check_type(const struct tn__saved *saved, const char *file, const struct tn_type *type,
                         struct tn_error *err);

#pragma GCC visibility pop
#endif
