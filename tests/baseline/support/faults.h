/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Allocations that fail one after the other. */

#ifndef TENON_TESTS_BASELINE_FAULTS_H
#define TENON_TESTS_BASELINE_FAULTS_H

/* So many allocations succeed until one fails; -1: none does. */
extern long allocations_left;

#endif
