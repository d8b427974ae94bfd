/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#ifndef TENON_TESTS_FUZZ_HOLDS_H
#define TENON_TESTS_FUZZ_HOLDS_H

#include <stdbool.h>
#include <stdlib.h>

/* Ends the process unless it is so; fuzzers report that with the input. */
static inline void holds(bool is_so)
{
    if (!is_so)
        abort();
}

#endif
