/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* watch_maps REPORT COMMAND [ARG...]: runs the command and looks at its /proc/PID/maps before and after every system
 * call of every thread and child process. Only system calls change mappings, so nothing is missed, however short it
 * lasts.
 *
 * REPORT then holds one line per fact: `looks N`; `loaded LINE`, the largest executable mapping that is neither the
 * command's own file nor the kernel's, and has more than one page, with which the linker tries what the system
 * permits; `wx LINE`, the first mapping that was writable and executable. The exit status is the command's; 125
 * means that it could not be watched. */

#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CANNOT_WATCH = 125,
    OPTIONS = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
              PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC
};

struct report {
    unsigned long looks, loaded_size;
    char loaded[512], wx[512];
};

static int give_up(const char *what)
{
    fprintf(stderr, "watch_maps: %s: %s\n", what, strerror(errno));
    return CANNOT_WATCH;
}

/* "START-END PERM OFFSET DEV INODE   NAME", proc(5). */
static void look_at_line(struct report *report, const char *line)
{
    const char *permissions = strchr(line, ' '), *name = strpbrk(line, "/[");
    if (!permissions || permissions[3] != 'x')
        return;
    if (permissions[2] == 'w' && !report->wx[0])
        strncpy(report->wx, line, sizeof report->wx - 1);
    bool memfd = name && strstr(name, "/memfd:");
    unsigned long start = strtoul(line, NULL, 16), size = strtoul(strchr(line, '-') + 1, NULL, 16) - start;
    if ((!name || memfd) && size > report->loaded_size) {
        strncpy(report->loaded, line, sizeof report->loaded - 1);
        report->loaded_size = size;
    }
}

static void look(struct report *report, pid_t pid)
{
    char path[32], line[512];
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = fopen(path, "r");
    if (!maps)
        return; /* it has just ended */
    while (fgets(line, sizeof line, maps))
        look_at_line(report, line);
    fclose(maps);
    report->looks++;
}

/* The signal to pass on to a stopped thread; stops that come from watching carry none. */
static int signal_to_deliver(int status)
{
    int number = WSTOPSIG(status);
    bool ours = number == (SIGTRAP | 0x80) || status >> 16 != 0 || number == SIGSTOP;
    return ours ? 0 : number;
}

/* The wait status of `command`, once it and all its children have ended. */
static int watch(pid_t command, struct report *report)
{
    int status, result = -1;
    pid_t pid;
    while ((pid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR) {
        if (pid == command && !WIFSTOPPED(status))
            result = status;
        if (pid <= 0 || !WIFSTOPPED(status))
            continue;
        look(report, pid);
        ptrace(PTRACE_SYSCALL, pid, NULL, (void *)(long)signal_to_deliver(status));
    }
    return result;
}

static int write_report(const char *path, const struct report *report)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return give_up(path);
    fprintf(file, "looks %lu\n", report->looks);
    if (report->loaded[0])
        fprintf(file, "loaded %s", report->loaded);
    if (report->wx[0])
        fprintf(file, "wx %s", report->wx);
    return fclose(file) ? give_up(path) : 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: watch_maps REPORT COMMAND [ARG...]\n");
        return CANNOT_WATCH;
    }
    pid_t pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(give_up("ptrace"));
        raise(SIGSTOP);
        execvp(argv[2], argv + 2);
        _exit(give_up(argv[2]));
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)OPTIONS) != 0 || ptrace(PTRACE_SYSCALL, pid, NULL, NULL) != 0)
        return give_up("cannot watch");
    struct report report = {.loaded_size = (unsigned long)sysconf(_SC_PAGESIZE)};
    status = watch(pid, &report);
    if (write_report(argv[1], &report))
        return CANNOT_WATCH;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
