/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code that becomes shorter when it is linked, of architectures that have such (struct tn__shortener). */

#ifndef TENON_SHRINK_H
#define TENON_SHRINK_H

#include "link/core/link.h"

#pragma GCC visibility push(hidden)

/* When everything in the link has an address: shortens code sections. `place` gives everything its address again, after
 * the sizes of sections have changed. Afterwards sections have other bytes and relocations, in the link's arena, and
 * symbols other values and sizes; the link's later phases see no difference from objects that were read so. TN_EFORMAT,
 * TN_ENOMEM; errors of `place`. */
int tn__link_shrink(struct tn__link *link, int (*place)(struct tn__link *link));

/* Makes an object what it was before. */
void tn__object_unshrink(struct tn__object *object);

#pragma GCC visibility pop
#endif
