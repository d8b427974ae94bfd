/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Random operations on a session beside a simple model of what the documentation says of them. Every answer of a lookup
 * has to be the model's. */

#ifndef TENON_TESTS_LINK_MODEL_H
#define TENON_TESTS_LINK_MODEL_H

#include "support.h"

/* Answers how many lookups were checked; fails the test at the first wrong one, telling seed, step and all that its session did. */
long model_run(unsigned seed, int steps);

#endif
