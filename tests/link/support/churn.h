/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Sessions with very many one-function objects, each with a name and a result of its own, and unwind data. */

#ifndef TENON_TESTS_LINK_CHURN_H
#define TENON_TESTS_LINK_CHURN_H

#include "support.h"

/* Links that many into one session: each is there and can be unwound through, and they share their mappings; then removes all
 * in another order, and their memory is given back. */
void churn_keep(size_t count);
/* Adds and removes that many, few at a time: the process does not grow. */
void churn_cycles(size_t count);

#endif
