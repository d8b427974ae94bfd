/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Threads and processes that use one folder at the same time. */

#ifndef TENON_TESTS_CACHE_WRITERS_H
#define TENON_TESTS_CACHE_WRITERS_H

#include "world.h"

/* For a thread: uses a world's cache often. NULL, or a text that says what was wrong. */
void *use_often(void *world);

/* Kills so many pairs of processes while they write to one folder, and fails the test if one of them, or the next user
 * of the folder, finds something wrong, or if something is left behind. */
void kill_writers(int pairs);

#endif
