/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* spawn RUNS COMMAND [ARG...]: runs the command RUNS times, one after the other, each a new process, and prints
 * medians: time to the first byte of output and to the end (with the 90th percentile), peak resident set. What the
 * command prints as lines `WORD NUMBER` is measured too: the median of each word's numbers. The first run is not
 * counted. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "measure.h"

enum { MAX_WORDS = 12 };

struct column {
    char word[32];
    double *values;
};

/* Enters the numbers of one run's output; the words are those of the run before, in the same order. */
static void take_words(struct column *columns, const char *output, int run)
{
    char word[32];
    double value;
    int length;
    for (int i = 0; i < MAX_WORDS && sscanf(output, " %31s %lf%n", word, &value, &length) == 2; i++) {
        strcpy(columns[i].word, word);
        columns[i].values[run] = value;
        output += length;
    }
}

static int fail(const char *command, const char *what)
{
    fprintf(stderr, "spawn: %s: %s\n", command, what);
    return 1;
}

int main(int argc, char **argv)
{
    int runs = argc > 2 ? atoi(argv[1]) : 0;
    if (runs < 1)
        return fail("usage", "spawn RUNS COMMAND [ARG...]");
    struct column columns[MAX_WORDS + 3] = {{.word = ""}};
    for (int i = 0; i < MAX_WORDS + 3; i++)
        if (!(columns[i].values = calloc((size_t)runs, sizeof(double))))
            return fail(argv[2], "out of memory");
    struct column *first = &columns[MAX_WORDS], *end = first + 1, *rss = first + 2;
    for (int i = -1; i < runs; i++) {
        struct run run;
        int error = run_command(argv + 2, &run);
        if (error)
            return fail(argv[2], strerror(error));
        if (!WIFEXITED(run.status) || WEXITSTATUS(run.status) != 0)
            return fail(argv[2], "ended badly");
        if (i < 0)
            continue;
        take_words(columns, run.output, i);
        first->values[i] = run.first_us, end->values[i] = run.exit_us, rss->values[i] = run.rss_kb;
    }
    for (struct column *column = columns; column < first && column->word[0]; column++)
        printf("%s %.1f\n", column->word, median(column->values, (size_t)runs));
    printf("first_output_us %.0f\n", median(first->values, (size_t)runs));
    printf("exit_us %.0f\nexit_p90_us %.0f\n", median(end->values, (size_t)runs),
           quantile(end->values, (size_t)runs, 0.9));
    printf("peak_rss_kb %.0f\n", median(rss->values, (size_t)runs));
    return 0;
}
