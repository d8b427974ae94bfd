/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What links do for objects of some formats alone: code that becomes shorter when it is linked, of architectures that
 * have such (struct tn__shortener), and pairs of relocations. */

#ifndef TENON_SHRINK_H
#define TENON_SHRINK_H

#include "link/core/link.h"

#pragma GCC visibility push(hidden)

struct tn__site;

/* Whatever is NULL is not needed. A format names these (struct tn_format), so that they are no part of
 * programs that do not name the format. */
struct tn__steps {
    int (*shrink)(struct tn__link *link, int (*place)(struct tn__link *link));
    void (*unshrink)(struct tn__object *object);
    /* Applies a relocation that is one of a pair (TN__V_AT_S and those behind it), whose field begins at `at`. */
    int (*apply_pair)(const struct tn__site *site, uint8_t *at, uint64_t S);
};

/* Pairs; these and shortening. */
extern const struct tn__steps tn__steps_pairs, tn__steps_shrink;

/* pairs.c */
int tn__apply_pair(const struct tn__site *site, uint8_t *at, uint64_t S);

/* When everything in the link has an address: shortens code sections. `place` gives everything its address again, after
 * the sizes of sections have changed; NULL: as the phases of link.c do. Afterwards sections have other bytes and
 * relocations, in the link's arena, and symbols other values and sizes; the link's later phases see no difference from
 * objects that were read so. TN_EFORMAT, TN_ENOMEM; errors of `place`. */
static inline int tn__link_shrink(struct tn__link *link, int (*place)(struct tn__link *link))
{
    const struct tn__steps *steps = link->session->formats[0]->steps;
    return steps && steps->shrink ? steps->shrink(link, place) : 0;
}

/* Makes an object what it was before. */
static inline void tn__object_unshrink(struct tn__object *object)
{
    if (object->plan && object->plan->shrunk)
        object->data->format->steps->unshrink(object);
}

#pragma GCC visibility pop
#endif
