/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the benchmarks share: clocks, medians, and commands that are run many times, each run a new process. */

#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

uint64_t now_ns(void);

/* Sorts `values`; `portion` of them is not above the answer. */
double quantile(double *values, size_t count, double portion);
#define median(values, count) quantile(values, count, 0.5)

struct run {
    double exit_us;   /* from before the process is made until it has ended */
    double first_us;  /* ... until the first byte of its output arrived; exit_us if it said nothing */
    double rss_kb;    /* its greatest resident set, files' pages included */
    int status;       /* as waitpid gives it */
    char output[512]; /* how its output begins, NUL-terminated */
};

/* Runs the command (an absolute or relative path, no search) with its output into a pipe. 0 or an errno value. */
int run_command(char *const *argv, struct run *run);

/* Bytes of a file, mapped, every page of them already touched. NULL after a message on stderr. */
const void *read_touched(const char *path, size_t *size);

#endif
