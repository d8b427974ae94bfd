/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What link does besides cold and warm links. Each prints its figures and answers 0, or 1 after a message on stderr. */

#ifndef BENCH_MODES_H
#define BENCH_MODES_H

/* small.c */
int measure_small(const char *template_path);

/* threads.c; the most threads is MAX_THREADS. */
enum { MAX_THREADS = 16 };
int measure_threads(int threads, char *const *paths, int count);

#endif
