/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#ifndef BENCH_SMALL_H
#define BENCH_SMALL_H

/* Measures linking many one-function objects; see small.c. 0, or 1 after a message on stderr. */
int measure_small(const char *template_path);

#endif
