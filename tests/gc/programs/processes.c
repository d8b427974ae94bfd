/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Managed code makes processes in every way that the C library has, while other threads allocate: the child goes on
 * with the heap, or becomes another program, and what the parent keeps is there afterwards. */

#define _GNU_SOURCE
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "list.h"

enum { THREADS = 3, TIMES = 5 };

extern char **environ;
static int over;

static void *allocate(void *unused)
{
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE))
        make_list(30);
    return unused;
}

static int status_of(pid_t child)
{
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- the ways ---- */

static int in_fork(node kept)
{
    pid_t child = fork();
    if (child == 0)
        _exit((int)(sum_of(kept) + sum_of(make_list(5))));
    return status_of(child);
}

static intptr_t fork_there(intptr_t a, intptr_t b, intptr_t c, intptr_t d)
{
    (void)a, (void)b, (void)c, (void)d;
    return fork();
}

/* Both processes return into managed code from a call during which collections run. */
static int in_fork_of_a_blocking_call(node kept)
{
    pid_t child = (pid_t)tn_call_blocking((void *)fork_there, 0, 0, 0, 0);
    if (child == 0)
        _exit((int)(sum_of(kept) + sum_of(make_list(5))));
    return status_of(child);
}

static int in_fork_of_a_child(node kept)
{
    pid_t child = fork();
    if (child == 0)
        _exit(in_fork(kept) + in_fork_of_a_blocking_call(kept));
    return status_of(child);
}

static int in_vfork(node kept)
{
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
        _exit(9);
    }
    return status_of(child) + (int)sum_of(kept);
}

static int in_vfork_without_program(node kept)
{
    pid_t child = vfork();
    if (child == 0) {
        execl("/nonexistent/program", "program", (char *)NULL);
        _exit(4);
    }
    return status_of(child) + (int)sum_of(kept);
}

static int in_spawn(node kept)
{
    char name[] = "sh", option[] = "-c", text[] = "exit 5", *arguments[] = {name, option, text, NULL};
    pid_t child;
    if (posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ))
        return -1;
    return status_of(child) + (int)sum_of(kept);
}

static int in_system(node kept)
{
    int status = system("exit 6");
    return (WIFEXITED(status) ? WEXITSTATUS(status) : -1) + (int)sum_of(kept);
}

static int in_popen(node kept)
{
    int number = -1;
    FILE *from = popen("echo 7", "r");
    if (!from || fscanf(from, "%d", &number) != 1)
        return -1;
    pclose(from);
    return number + (int)sum_of(kept);
}

static const struct way {
    const char *name;
    int (*run)(node kept);
} ways[] = {
    {"fork", in_fork},
    {"fork of a blocking call", in_fork_of_a_blocking_call},
    {"fork of a child", in_fork_of_a_child},
    {"vfork", in_vfork},
    {"vfork without a program", in_vfork_without_program},
    {"posix_spawn", in_spawn},
    {"system", in_system},
    {"popen", in_popen},
};

int main(void)
{
    pthread_t threads[THREADS];
    node kept = make_list(10);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, allocate, NULL))
            return 1;
    for (unsigned w = 0; w < sizeof ways / sizeof *ways; w++)
        for (int i = 0; i < TIMES; i++) {
            node mine = make_list(10);
            int result = ways[w].run(mine);
            printf("%s %d %ld\n", ways[w].name, result, sum_of(mine));
            fflush(stdout);
        }
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("kept %ld\n", sum_of(kept));
    return 0;
}
