/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A process that forks over and over while its threads use one part of the system; so do the children. */

#ifndef TENON_TESTS_CODEGEN_FORKS_H
#define TENON_TESTS_CODEGEN_FORKS_H

#include "support.h"

/* Runs a row of the matrix for each part, with that many forks. A test fails if a child fails or hangs, or if the
 * mappings, descriptors or bytes of windows of the parent or of a child grow. */
int run_fork_matrix(unsigned forks);

#endif
