/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"

extern char **environ;

uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double quantile(double *values, size_t count, double portion)
{
    qsort(values, count, sizeof *values, compare);
    size_t at = (size_t)((double)count * portion);
    return values[at < count ? at : count - 1];
}

static int spawn(char *const *argv, int output, pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    int error = posix_spawn(pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

int run_command(char *const *argv, struct run *run)
{
    struct rusage usage;
    int ends[2];
    pid_t pid;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    uint64_t start = now_ns(), first = 0;
    int error = spawn(argv, ends[1], &pid);
    close(ends[1]);
    size_t length = 0;
    char rest[512];
    for (ssize_t got = 1; !error && got > 0; first = first ? first : now_ns()) {
        size_t room = sizeof run->output - 1 - length;
        got = read(ends[0], room ? run->output + length : rest, room ? room : sizeof rest);
        length += room && got > 0 ? (size_t)got : 0;
    }
    close(ends[0]);
    run->output[length] = '\0';
    if (error || wait4(pid, &run->status, 0, &usage) != pid)
        return error ? error : errno;
    run->exit_us = (double)(now_ns() - start) / 1e3;
    run->first_us = length ? (double)(first - start) / 1e3 : run->exit_us;
    run->rss_kb = (double)usage.ru_maxrss;
    return 0;
}

const void *read_touched(const char *path, size_t *size)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    void *bytes = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_size > 0)
        bytes = mmap(NULL, *size = (size_t)status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (bytes == MAP_FAILED)
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return bytes == MAP_FAILED ? NULL : bytes;
}
