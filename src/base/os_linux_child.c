/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Processes that the library starts: programs, and forks of this one. See pidfd_open(2), waitid(2), prctl(2). */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"
#include "os.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

extern char **environ;

/* The process has not been waited for, so its number is its own; -1 where the system has no such descriptors. */
static int watch(pid_t process)
{
#ifdef SYS_pidfd_open
    int fd = (int)syscall(SYS_pidfd_open, process, 0);
    if (fd >= 0)
        tn__os_raise(&fd);
    return fd;
#else
    (void)process;
    return -1;
#endif
}

/* ---- programs ---- */

int tn__os_spawn(const char *const *command, int socket, struct tn__os_child *child)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t set;
    pid_t process;
    int error = tn__os_fault(false, NULL);
    if (error)
        return error;
    if (posix_spawn_file_actions_init(&actions))
        return ENOMEM;
    if (posix_spawnattr_init(&attributes)) {
        posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    error = posix_spawn_file_actions_adddup2(&actions, socket, TN__OS_CHILD_SOCKET);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    sigemptyset(&set);
    posix_spawnattr_setsigmask(&attributes, &set);
    sigfillset(&set);
    posix_spawnattr_setsigdefault(&attributes, &set);
    if (!error)
        error = posix_spawn(&process, command[0], &actions, &attributes, (char *const *)(uintptr_t)command, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (!error)
        *child = (struct tn__os_child){(uint32_t)process, watch(process)};
    return error;
}

/* ---- forks ---- */

/* Closes the descriptors `first` to `last`. */
static void close_range_of(unsigned first, unsigned last)
{
    enum { MOST = 1 << 16 };
    struct rlimit limit;
    if (first > last)
        return;
#ifdef SYS_close_range
    if (!syscall(SYS_close_range, first, last, 0))
        return;
#endif
    unsigned end = getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur > MOST ? MOST : (unsigned)limit.rlim_cur;
    for (unsigned fd = first; fd <= last && fd < end; fd++)
        close((int)fd);
}

void tn__os_close_others(int fd)
{
    close_range_of(3, (unsigned)fd - 1);
    close_range_of((unsigned)fd + 1, ~0U);
}

static void reset_signals(void)
{
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool arrange_descriptors(int socket)
{
    if (socket != TN__OS_CHILD_SOCKET && dup3(socket, TN__OS_CHILD_SOCKET, O_CLOEXEC) < 0)
        return false;
    tn__os_close_others(TN__OS_CHILD_SOCKET);
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2; fd++)
        if (nowhere < 0)
            close(fd); /* as in an empty chroot */
        else if (fd != nowhere)
            dup2(nowhere, fd);
    if (nowhere > TN__OS_CHILD_SOCKET)
        close(nowhere);
    return true;
}

int tn__os_fork_child(int socket, bool follows, int (*run)(void *context), void *context, struct tn__os_child *child)
{
    int error = tn__os_fault(false, NULL);
    if (error)
        return error;
    pid_t parent = getpid(), process = fork();
    if (process < 0)
        return errno;
    if (process) {
        *child = (struct tn__os_child){(uint32_t)process, follows ? -1 : watch(process)};
        return 0;
    }
    reset_signals();
    if (follows)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    else
        setsid();
    bool is_wanted = (!follows || getppid() == parent) && arrange_descriptors(socket);
    _exit(is_wanted ? run(context) : 0);
}

/* ---- ends ---- */

/* True: the child has ended, or is not ours any more. */
static bool has_ended(const struct tn__os_child *child, uint64_t until)
{
    siginfo_t info = {0};
    while (child->watch >= 0 && until) {
        uint64_t now = tn__os_now_ns(), left = until > now ? until - now : 0;
        struct pollfd one = {.fd = child->watch, .events = POLLIN};
        struct timespec time = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
        int ready = ppoll(&one, 1, &time, NULL);
        if (ready >= 0 || errno != EINTR)
            break;
    }
    return waitid(P_PID, child->id, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid;
}

static void kill_child(const struct tn__os_child *child)
{
#ifdef SYS_pidfd_send_signal
    if (child->watch >= 0) {
        syscall(SYS_pidfd_send_signal, child->watch, SIGKILL, NULL, 0);
        return;
    }
#endif
    kill((pid_t)child->id, SIGKILL);
}

enum tn__os_end tn__os_end_child(struct tn__os_child *child, uint64_t until, int *number)
{
    siginfo_t info = {0};
    *number = 0;
    if (!has_ended(child, until))
        kill_child(child);
    bool is_named = child->watch >= 0;
    int error;
    do
        error = waitid(is_named ? (idtype_t)P_PIDFD : P_PID, is_named ? (id_t)child->watch : child->id, &info, WEXITED)
                    ? errno
                    : 0;
    while (error == EINTR);
    if (is_named)
        close(child->watch);
    *child = (struct tn__os_child){0, -1};
    if (error || !info.si_pid)
        return TN__OS_UNKNOWN;
    *number = info.si_status;
    return info.si_code == CLD_EXITED ? TN__OS_EXITED : TN__OS_SIGNALLED;
}

void tn__os_forget_children(void)
{
    signal(SIGCHLD, SIG_IGN);
}

/* ---- limits ---- */

int tn__os_limit_memory(uint64_t bytes)
{
    static const int limited[] = {RLIMIT_DATA, RLIMIT_FSIZE}; /* files are those in memory */
    const struct rlimit none = {0, 0};
    int fault = tn__os_fault(false, NULL);
    if (fault)
        return fault;
    if (setrlimit(RLIMIT_CORE, &none) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
        return errno;
    for (size_t i = 0; bytes && i < TN_COUNT(limited); i++) {
        struct rlimit limit;
        if (getrlimit(limited[i], &limit))
            return errno;
        rlim_t most = limit.rlim_max < bytes ? limit.rlim_max : bytes; /* which only root could raise */
        limit = (struct rlimit){most, most};
        if (setrlimit(limited[i], &limit))
            return errno;
    }
    return 0;
}

void tn__os_end_after(uint64_t ns)
{
    uint64_t us = (ns + 999) / 1000;
    const struct itimerval timer = {.it_value = {(time_t)(us / 1000000), (suseconds_t)(us % 1000000)}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

uint64_t tn__os_peak_memory(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss * 1024;
}
