/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* One function of ours is in the C library's list (C11, 7.22.4.2; Itanium C++ ABI, 3.3.6), for all that are registered
 * here. To become its newest one again it is taken out and registered once more, with a handle of its own, as if it
 * were a shared library's: so the list grows only with what others have registered in between. Should exit be called at
 * that moment, the function is there a second time, registered once and for all.
 *
 * musl takes nothing out, and before glibc 2.36 what takes out waits for a fork, which waits for our lock. There the
 * function is registered again at ever greater distances. All of its calls but the first one find nothing to do. */

#include "base/at_exit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/os.h"

int on_exit(void (*function)(int status, void *argument), void *argument) __attribute__((weak)); /* glibc's */
int __cxa_atexit(void (*function)(void *argument), void *argument, void *handle);
void __cxa_finalize(void *handle);

static struct tn__mutex lock = TN__MUTEX(TN__LEVEL_EXIT);
static struct tn__at_exit *newest; /* this one and the next are under the lock; reading `is_listed` needs none */
static bool is_listed;             /* our function is in the C library's list, */
static bool is_anchored;           /* and there a second time */
static int exit_status;            /* atomic */
static __thread bool takes_out __attribute__((tls_model("initial-exec")));

static void take_lock(void)
{
    static const struct tn__fork_hooks hooks = {.lock = &lock};
    tn__forks_watch(TN__LEVEL_EXIT, &hooks);
    tn__mutex_lock(&lock);
}

/* ---- at exit ---- */

static struct tn__at_exit *take_newest(void)
{
    take_lock();
    struct tn__at_exit *what = newest;
    if (what) {
        newest = what->next;
        what->waits = false;
    }
    tn__mutex_unlock(&lock);
    return what;
}

/* Any of them may call exit, which does not return: then the rest runs within that call. */
static void run(void)
{
    for (struct tn__at_exit *what; (what = take_newest());)
        what->function(what);
}

static void run_with_status(int status, void *unused)
{
    (void)unused;
    __atomic_store_n(&exit_status, status, __ATOMIC_RELAXED);
    run();
}

/* A function that is given to on_exit stays in glibc's list when a shared library that contains this code is closed. */
bool tn__exit_tells_status(void)
{
    return on_exit && tn__os_is_part_of_program();
}

/* What is registered meanwhile is called next. */
static void run_from(bool *which)
{
    if (takes_out)
        return;
    take_lock();
    __atomic_store_n(which, false, __ATOMIC_RELEASE);
    tn__mutex_unlock(&lock);
    if (!tn__exit_tells_status() || on_exit(run_with_status, NULL))
        run();
}

/* Neither has an argument: what has one is taken for a destructor (tools/lib/exit.c). */
static void at_exit(void *unused)
{
    (void)unused;
    run_from(&is_listed);
}

static void at_exit_anchored(void *unused)
{
    (void)unused;
    run_from(&is_anchored);
}

/* ---- before it; under the lock ---- */

static char handle, anchor; /* their addresses are what counts */

static bool can_take_out(void)
{
    static const char prefix[] = "glibc 2.";
    enum { NUMBER = sizeof prefix - 1, LEAST = 36 };
    static int known; /* 0: not yet; 1: no; 2: yes */
    char text[32] = "";
    if (!known) {
        confstr(_CS_GNU_LIBC_VERSION, text, sizeof text - 1);
        bool is_new = !strncmp(text, prefix, NUMBER) && (text[NUMBER] - '0') * 10 + text[NUMBER + 1] - '0' >= LEAST;
        known = is_new ? 2 : 1;
    }
    return known == 2;
}

static void take_out(char *which)
{
    takes_out = true;
    __cxa_finalize(which);
    takes_out = false;
    __atomic_store_n(&is_listed, false, __ATOMIC_RELEASE);
}

static bool enlist(void)
{
    is_anchored = is_anchored || !__cxa_atexit(at_exit_anchored, NULL, &anchor);
    bool done = is_anchored && !__cxa_atexit(at_exit, NULL, &handle);
    __atomic_store_n(&is_listed, done, __ATOMIC_RELEASE);
    return done;
}

bool tn__at_exit_add(struct tn__at_exit *what)
{
    take_lock();
    bool listed = is_listed || enlist();
    if (listed && !what->waits) {
        struct tn__at_exit **at = &newest;
        while (what->is_last && *at && !(*at)->is_last)
            at = &(*at)->next;
        what->waits = true;
        what->next = *at;
        *at = what;
    }
    tn__mutex_unlock(&lock);
    return listed;
}

void tn__at_exit_remove(struct tn__at_exit *what)
{
    take_lock();
    for (struct tn__at_exit **at = &newest; *at; at = &(*at)->next)
        if (*at == what) {
            *at = what->next;
            what->waits = false;
            break;
        }
    tn__mutex_unlock(&lock);
}

void tn__at_exit_renew(void)
{
    static uint32_t count;
    if (!__atomic_load_n(&is_listed, __ATOMIC_ACQUIRE))
        return;
    take_lock();
    if (is_listed && can_take_out()) {
        take_out(&handle);
        enlist();
    } else if (is_listed) {
        count++;
        if (!(count & (count - 1)))
            enlist();
    }
    tn__mutex_unlock(&lock);
}

/* The handle is not that of a shared library that contains this code, so the C library does not notice when that is
 * closed. */
__attribute__((destructor)) static void leave(void)
{
    if (!is_listed && !is_anchored)
        return;
    take_out(&handle); /* without the lock, which no other thread needs any more */
    take_out(&anchor);
    run();
}

/* ---- what it tells ---- */

int tn__exit_status(void)
{
    return __atomic_load_n(&exit_status, __ATOMIC_RELAXED);
}

bool tn__has_on_exit(void)
{
    return on_exit;
}
