/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Signals that wait until a thread has let go of what their handlers must not find half done. By the kernel's own call:
 * its sets are 64 bits, those of libc 1024. */

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os.h"

#define SIGNAL(number) ((uint64_t)1 << ((number)-1))

/* What libc sends itself, to cancel threads and to change user: glibc two signals, musl three, the last of which a
 * thread sends all others and waits until they have it. The next one is SIGRTMIN, the program's own. */
#ifdef __GLIBC__
#define OF_LIBC (SIGNAL(32) | SIGNAL(33))
#else
#define OF_LIBC (SIGNAL(32) | SIGNAL(33) | SIGNAL(34))
#endif

/* An instruction causes these: blocked, they would end the process. */
static const uint64_t never = SIGNAL(SIGSEGV) | SIGNAL(SIGBUS) | SIGNAL(SIGFPE) | SIGNAL(SIGILL) | SIGNAL(SIGTRAP) |
                              SIGNAL(SIGSYS) | SIGNAL(SIGABRT) | OF_LIBC;

static __thread uint64_t before __attribute__((tls_model("initial-exec")));
static __thread bool are_deferred __attribute__((tls_model("initial-exec")));

bool tn__os_defer_signals(void)
{
    if (are_deferred)
        return false;
    const uint64_t deferred = ~never;
    int kept = errno;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, &deferred, &before, sizeof deferred);
    errno = kept;
    return are_deferred = true;
}

bool tn__os_deliver_signals(void)
{
    if (!are_deferred)
        return false;
    int kept = errno;
    are_deferred = false;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
    errno = kept;
    return true;
}
