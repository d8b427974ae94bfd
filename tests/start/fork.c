/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Part of every test program that is built with AddressSanitizer. gcc's does not take the locks of its allocator for a
 * fork, so one that another thread held is never released in the child. A new thread holds them now and then before it
 * has run anything of ours, and on a loaded machine that may be long after it was started. So forks wait until all
 * other threads sleep. */

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ENOUGH = 20 * 1000 * 1000 }; /* ns: threads that have run so long began long ago, and do not mean to sleep */

static long long cpu_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static long long of_others(void)
{
    return cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* proc_pid_stat(5): the state follows the name, which is in parentheses and may have some itself. */
static bool sleeps(const char *tid)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/self/task/%s/stat", tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = 0;
    const char *name_end = strrchr(text, ')');
    return !name_end || strchr("SXZ", name_end[2]);
}

static bool all_others_sleep(void)
{
    bool all = true;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *task; tasks && (task = readdir(tasks));)
        if (task->d_name[0] != '.' && atoi(task->d_name) != gettid())
            all = all && sleeps(task->d_name);
    if (tasks)
        closedir(tasks);
    return all;
}

static void settle(void)
{
    for (long long begin = of_others(); !all_others_sleep() && of_others() - begin < ENOUGH;)
        usleep(100);
}

/* First, so that it comes after the library's, whose locks make other threads wait. */
__attribute__((constructor(101))) static void begin(void)
{
    pthread_atfork(settle, NULL, NULL);
}
