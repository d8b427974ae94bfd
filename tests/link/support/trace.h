/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Backtraces as the program's unwinder sees them. */

#ifndef TENON_TESTS_LINK_TRACE_H
#define TENON_TESTS_LINK_TRACE_H

#include "support.h"

struct trace {
    uintptr_t functions[64]; /* their start addresses, innermost first */
    size_t count;
};

/* Fills *context, a struct trace, with the functions from this one outwards. Returns 0. */
int take_trace(void *context);

/* The index of the frame of the function that begins there; SIZE_MAX: none. */
size_t position(const struct trace *trace, const void *function);

#endif
