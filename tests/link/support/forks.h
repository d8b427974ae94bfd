/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A process that forks over and over, linking and removing objects in between. */

#ifndef TENON_TESTS_LINK_FORKS_H
#define TENON_TESTS_LINK_FORKS_H

#include "support.h"

/* Forks that often. Some objects are kept throughout, others are removed after a few forks; children link too. Fails
 * the test if window, mappings or descriptors are used up. */
void fork_often(enum tn_strategy strategy, unsigned forks);

/* Forks that often, and links an object after each fork that stays. */
void fork_and_keep(enum tn_strategy strategy, unsigned forks);

#endif
