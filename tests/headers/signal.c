/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t seen, value;

static void plain(int number)
{
    seen = number;
}

static void detailed(int number, siginfo_t *info, void *context)
{
    seen = number;
    value = info->si_value.sival_int + (context != NULL);
}

int main(void)
{
    signal(SIGUSR1, plain);
    raise(SIGUSR1);
    printf("%d\n", seen == SIGUSR1);
    struct sigaction action = {.sa_sigaction = detailed, .sa_flags = SA_SIGINFO}, old;
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, &old);
    printf("%d\n", old.sa_handler == plain);
    sigset_t set, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    seen = 0;
    sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 6});
    sigpending(&pending);
    printf("%d ", seen);
    printf("%d\n", sigismember(&pending, SIGUSR1));
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    printf("%d %d\n", seen == SIGUSR1, value);
    printf("%s %s\n", strsignal(SIGSEGV), sigabbrev_np(SIGHUP));
    return 0;
}
