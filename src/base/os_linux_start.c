/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Threads of the library. */

#include <signal.h>
#include <sys/prctl.h>

#include "last_thread.h"
#include "os.h"
#include "thread.h"

struct start {
    void *(*run)(void *context);
    void *context;
};

static void *begin(void *given)
{
    struct start start = *(struct start *)given;
    tn__free(NULL, given);
    prctl(PR_SET_NAME, TN__OWN_THREAD_NAME);
    uint32_t process = tn__own_thread_begin();
    tn__own_thread_begun();
    void *result = start.run(start.context);
    tn__own_thread_end(process);
    return result;
}

bool tn__os_start_thread(pthread_t *thread, void *(*run)(void *context), void *context)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    struct start *start = tn__alloc(NULL, sizeof *start);
    if (!start)
        return false;
    *start = (struct start){.run = run, .context = context};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < TN_COUNT(faults); i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    tn__last_thread_watch();
    tn__own_thread_announce();
    int code = pthread_create(thread, NULL, begin, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code) {
        tn__own_thread_begun();
        tn__free(NULL, start);
    }
    return !code;
}
