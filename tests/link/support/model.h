/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Random operations on a session, checked against a simple model of the documentation. Every lookup must have the
 * model's result. */

#ifndef TENON_TESTS_LINK_MODEL_H
#define TENON_TESTS_LINK_MODEL_H

#include "support.h"

/* Returns the number of checked lookups. Fails the test at the first wrong one, and prints the seed, the step and all
 * that its session did. */
long model_run(unsigned seed, int steps);

#endif
