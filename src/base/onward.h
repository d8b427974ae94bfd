/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Where calls of a session's stub, or of the entry of an image's function, go on (doc/REDIRECT.md). By these functions
 * stubs and images find circles through each other, and an image finds what leads to it, though neither contains the
 * other. */

#ifndef TENON_ONWARD_H
#define TENON_ONWARD_H

#include "base.h"

#pragma GCC visibility push(hidden)

struct tn__onward {
    /* Where a call goes on that comes to this address; 0: the address is no stub or entry, or does not lead on. */
    uint64_t (*from)(uint64_t address);
    /* Has all of them that lead into the range lead elsewhere, as if what they led to were removed; not those that lie
     * in it. */
    void (*lead_away)(uint64_t start, uint64_t size);
};

/* NULL: there are none. Accessed atomically; never reset. Those of stubs take the locks of all sessions, one by one. */
extern const struct tn__onward *tn__onward_stubs, *tn__onward_entries;

static inline const struct tn__onward *tn__onward_by(const struct tn__onward *const *kind)
{
    return __atomic_load_n(kind, __ATOMIC_ACQUIRE);
}

/* A walk along such addresses notices a circle: one that other threads are about to close, and take back. */
struct tn__onward_walk {
    uint64_t mark, steps, limit;
};
static inline bool tn__onward_again(struct tn__onward_walk *walk, uint64_t address)
{
    if (walk->steps++ >= walk->limit) {
        walk->mark = address;
        walk->limit = 2 * walk->limit + 8;
        return false;
    }
    return walk->mark == address;
}

#pragma GCC visibility pop
#endif
