/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The entries of host_x86_64.c, exposed for its tests: without them only the best one that the processor supports would
 * run. */

#ifndef TENON_LAZY_HOST_X86_64_H
#define TENON_LAZY_HOST_X86_64_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

enum { TN__LAZY_FXSAVE, TN__LAZY_XSAVE, TN__LAZY_XSAVEC, TN__LAZY_WAYS };

/* How vector registers are saved, from the way that every processor supports to the best. Assembly reads the first two
 * members. */
struct tn__lazy_way {
    uint64_t size;       /* of the save area in bytes; 0: not supported here, or no stub was made yet */
    uint64_t components; /* of the state, as XSAVE numbers them */
    const char *name;
    const void *entry;
};

extern struct tn__lazy_way tn__lazy_ways[TN__LAZY_WAYS];

#pragma GCC visibility pop
#endif
