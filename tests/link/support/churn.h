/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Sessions with a great many one-function objects, each with its own name, result and unwind data. */

#ifndef TENON_TESTS_LINK_CHURN_H
#define TENON_TESTS_LINK_CHURN_H

#include "support.h"

/* Links that many into one session. Each can be called and unwound through, and they share mappings. Then removes all
 * of them in another order, and checks that their memory is freed. */
void churn_keep(size_t count);
/* Adds and removes that many, a few at a time; the process must not grow. */
void churn_cycles(size_t count);

#endif
