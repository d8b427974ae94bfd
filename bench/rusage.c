/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* rusage FILE COMMAND [ARG...]: runs the command and appends a line to the file: seconds of processor time, seconds
 * from before the process is made until it has ended, MB of its greatest resident set. Its status is the command's. */

#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "measure.h"

extern char **environ;

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
    struct rusage usage;
    int status;
    pid_t pid;
    if (argc < 3)
        return fputs("usage: rusage FILE COMMAND [ARG...]\n", stderr), 2;
    uint64_t start = now_ns();
    int error = posix_spawnp(&pid, argv[2], NULL, NULL, argv + 2, environ);
    if (error)
        return fprintf(stderr, "rusage: %s: %s\n", argv[2], strerror(error)), 1;
    if (wait4(pid, &status, 0, &usage) != pid)
        return perror("rusage: wait4"), 1;
    double wall = (double)(now_ns() - start) / 1e9;
    FILE *out = fopen(argv[1], "a");
    if (!out)
        return perror(argv[1]), 1;
    fprintf(out, "%.3f %.3f %.1f\n", seconds(usage.ru_utime) + seconds(usage.ru_stime), wall,
            (double)usage.ru_maxrss / 1e3 * 1.024);
    if (fclose(out) != 0)
        return perror(argv[1]), 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
