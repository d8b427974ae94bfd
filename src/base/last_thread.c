/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Ends the process when the threads of the program have ended (last_thread.h). The system counts the threads of the
 * process, this file counts those of the library among them. A thread of the library is counted between its beginning
 * and its end, so that at other times it is taken for one of the program: then the process stays longer, and does not
 * end too early.
 *
 * The last thread itself calls exit, in the last round of destructors of its thread-specific data, so that functions
 * registered to run at exit find what they find without threads of the library. Threads that nothing was told of are
 * awaited by a thread, which asks the system again and again. */

#include "last_thread.h"

#include <limits.h>
#include <stdlib.h>

#include "os.h"
#include "thread.h"

/* ---- counting ---- */

/* The threads of the library, and in which process: the child of a fork has none of them. Guarded by the lock of
 * threads. */
static struct {
    uint32_t process, count;
} own;

static uint32_t *count_of(uint32_t process)
{
    if (own.process != process) {
        own.process = process;
        own.count = 0;
    }
    return &own.count;
}

uint32_t tn__own_thread_begin(void)
{
    uint32_t process = tn__os_process_id();
    tn__threads_lock();
    ++*count_of(process);
    tn__threads_unlock();
    return process;
}

void tn__own_thread_end(uint32_t process)
{
    tn__threads_lock();
    if (process == tn__os_process_id())
        --*count_of(process);
    tn__threads_unlock();
}

/* What proc(5) says in /proc/self/stat: the third word is the state of the main thread, which is there as a zombie
 * after its end, and the twentieth is the number of threads. 0: unknown. */
static uint32_t count_threads(void)
{
    enum { STATE = 3, THREADS = 20 };
    char text[512];
    const char *at = tn__os_read_text("/proc/self/stat", text, sizeof text) ? NULL : strrchr(text, ')');
    bool main_has_ended = at && (at[1] == ' ' && (at[2] == 'Z' || at[2] == 'X'));
    for (int word = STATE - 1; at && word < THREADS; word++)
        at = strchr(at + 1, ' ');
    uint32_t count = 0;
    for (at = at ? at + 1 : ""; *at >= '0' && *at <= '9'; at++) /* strtoul is larger than this file */
        count = count * 10 + (uint32_t)(*at - '0');
    return count - (count && main_has_ended);
}

enum left {
    LEFT_NONE, /* but threads of the library */
    LEFT_SOME, /* or unknown */
    LEFT_TO_SYSTEM,
};

/* Threads of the program beside the calling one, which may be the library's. */
static enum left find_others(bool is_own)
{
    tn__own_threads_await(); /* they are counted then; whatever starts more is left itself */
    tn__threads_lock();
    uint32_t library = *count_of(tn__os_process_id()), all = library ? count_threads() : 0;
    tn__threads_unlock();
    if (!library) /* the C library ends the process */
        return LEFT_TO_SYSTEM;
    return all && all <= library + !is_own ? LEFT_NONE : LEFT_SOME;
}

/* ---- ends ---- */

static uint64_t key;
static uint32_t main_watched, main_ended, awaited; /* the process in which that is so */

static void *await_others(void *unused)
{
    enum { FIRST_NAP = 1000000, LONGEST_NAP = 64 * FIRST_NAP };
    static const uint32_t never = 0;
    for (uint64_t nap = FIRST_NAP; find_others(true) != LEFT_NONE; nap = tn__min64(2 * nap, LONGEST_NAP))
        tn__os_wait(&never, 0, nap);
    exit(EXIT_SUCCESS);
    return unused;
}

static bool is_first(uint32_t *of, uint32_t process)
{
    return __atomic_exchange_n(of, process, __ATOMIC_ACQ_REL) != process;
}

/* ThreadSanitizer forgets the thread in the last round. */
#ifdef __SANITIZE_THREAD__
enum { LAST_ROUND = PTHREAD_DESTRUCTOR_ITERATIONS - 1 };
#else
enum { LAST_ROUND = PTHREAD_DESTRUCTOR_ITERATIONS };
#endif

/* The program's main thread is one of its threads: as long as it is known to be there, the others need not ask. */
static void end(void *rounds)
{
    uint32_t process = tn__os_process_id();
    pthread_t thread;
    if (++*(int *)rounds < LAST_ROUND && !tn__os_at_thread_end(&key, end, rounds))
        return;
    if (process == tn__os_thread_id())
        __atomic_store_n(&main_ended, process, __ATOMIC_RELEASE);
    else if (__atomic_load_n(&main_watched, __ATOMIC_ACQUIRE) == process &&
             __atomic_load_n(&main_ended, __ATOMIC_ACQUIRE) != process)
        return;
    enum left left = find_others(false);
    if (left == LEFT_NONE)
        exit(EXIT_SUCCESS);
    if (left == LEFT_SOME && is_first(&awaited, process) && tn__os_start_thread(&thread, await_others, NULL))
        pthread_detach(thread);
}

/* A shared library may be closed before the thread ends. */
void tn__last_thread_watch(void)
{
    static __thread int rounds __attribute__((tls_model("initial-exec")));
    uint32_t process = tn__os_process_id();
    if (rounds < LAST_ROUND && tn__os_is_part_of_program() && !tn__os_at_thread_end(&key, end, &rounds) &&
        process == tn__os_thread_id())
        __atomic_store_n(&main_watched, process, __ATOMIC_RELEASE);
}
