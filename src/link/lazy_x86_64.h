/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The entries of lazy_x86_64.c, for its tests: the best one that the processor has is taken, the others would never run. */

#ifndef TENON_LAZY_X86_64_H
#define TENON_LAZY_X86_64_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

enum { TN__LAZY_FXSAVE, TN__LAZY_XSAVE, TN__LAZY_XSAVEC, TN__LAZY_WAYS };

/* How vector registers are saved; from the one that every processor has to the best. Assembly knows the first two members. */
struct tn__lazy_way {
    uint64_t size;       /* bytes; 0: not on this processor, or no stub was made yet */
    uint64_t components; /* which parts of the state */
    const char *name;
    const void *entry;
};

extern struct tn__lazy_way tn__lazy_ways[TN__LAZY_WAYS];

#pragma GCC visibility pop
#endif
