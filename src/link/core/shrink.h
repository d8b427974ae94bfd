/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code that becomes shorter when it is linked, of architectures that have such (struct tn__shortener). */

#ifndef TENON_SHRINK_H
#define TENON_SHRINK_H

#include "link/core/link.h"

#pragma GCC visibility push(hidden)

/* What a link does for objects of some formats alone. A format names it (struct tn_format), so that it is no part of
 * programs that do not name the format. */
struct tn__steps {
    int (*shrink)(struct tn__link *link, int (*place)(struct tn__link *link));
    void (*unshrink)(struct tn__object *object);
};

extern const struct tn__steps tn__steps_shrink;

/* When everything in the link has an address: shortens code sections. `place` gives everything its address again, after
 * the sizes of sections have changed; NULL: as the phases of link.c do. Afterwards sections have other bytes and
 * relocations, in the link's arena, and symbols other values and sizes; the link's later phases see no difference from
 * objects that were read so. TN_EFORMAT, TN_ENOMEM; errors of `place`. */
static inline int tn__link_shrink(struct tn__link *link, int (*place)(struct tn__link *link))
{
    const struct tn__steps *steps = link->session->formats[0]->steps;
    return steps ? steps->shrink(link, place) : 0;
}

/* Makes an object what it was before. */
static inline void tn__object_unshrink(struct tn__object *object)
{
    if (object->plan && object->plan->shrunk)
        object->data->format->steps->unshrink(object);
}

#pragma GCC visibility pop
#endif
