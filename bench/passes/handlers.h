/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The part of a front end's runtime that handlers need (doc/IR.md). */

#ifndef BENCH_PASSES_HANDLERS_H
#define BENCH_PASSES_HANDLERS_H

#include <setjmp.h>

struct handler {
    sigjmp_buf buffer; /* first */
    struct handler *outer;
};

void tenon_enter_handler(struct handler *handler);
void tenon_pop_handler(int count);
_Noreturn void throw_value(int value); /* to the innermost handler */

#endif
