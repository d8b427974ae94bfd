/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Threads call managed code, whose objects move, while everything about that code changes. */

#ifndef TENON_TESTS_CODEGEN_STORM_H
#define TENON_TESTS_CODEGEN_STORM_H

#include "support.h"

/* Runs a row for each collector and flag of its heap, so long each. A test fails if a call answers wrongly, reaches
 * code that was replaced or rests on what is broken, or if a child of a fork fails or hangs. */
int run_storms(unsigned milliseconds);

#endif
