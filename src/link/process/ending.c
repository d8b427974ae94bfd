/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What code runs at its end, in the order of C and C++: destructors of the thread's thread_local objects, what was
 * registered to run at exit, finalizers, and again what these have made or registered.
 *
 * Any of these functions may call exit, which does not return. Then the rest runs within that call, as it does in a
 * program whose functions are all in the C library's own list (C11, 7.22.4.4; glibc, "Cleanups on Exit"). So before
 * such a function is called, the C library is given one to call at exit, which goes on with what the calling thread has
 * begun. It also learns the status, where the C library tells it.
 *
 * Or it may call pthread_exit: then the thread leaves its frames, and the rest runs within the next call of exit, on
 * whichever thread. The C library calls exit at the latest when the last thread ends. */

#include "base/at_exit.h"
#include "link/process/process.h"

/* In the frame of the thread that runs it. */
struct ending {
    struct tn_library *library;
    struct tn_tracker *owner;
    struct tn__calls_list *finalizers;
    struct ending *outer;
};

static __thread struct ending *innermost __attribute__((tls_model("initial-exec")));

static bool is_any_left; /* `is_left` is set in some library; atomic */

/* ---- exit ---- */

static void run(const struct ending *ending);

static struct tn_library *find_left(const struct tn_session *session)
{
    struct tn_library *library = session->libraries;
    while (library && !library->is_left)
        library = library->next;
    return library;
}

/* One whose end a thread has left, which is in use until it is released. NULL: there is none. */
static struct tn_library *take_left(void)
{
    struct tn_library *library = NULL;
    tn__sessions_lock();
    for (struct tn_session *session = NULL; !library && (session = tn__sessions_next(session));) {
        tn__session_lock(session);
        library = find_left(session);
        if (library) {
            library->is_left = false;
            tn__library_use(library);
        }
        tn__session_pause(session);
    }
    tn__sessions_unlock();
    return library;
}

static void go_on(struct tn__at_exit *unused)
{
    (void)unused;
    for (; innermost; innermost = innermost->outer) /* exit does not return to their frames */
        run(innermost);
    struct tn_library *library;
    while (__atomic_load_n(&is_any_left, __ATOMIC_ACQUIRE) && (library = take_left())) {
        struct tn_session *session = library->session;
        tn__ending_run(library, NULL, NULL);
        tn__session_lock(session);
        tn__library_release(library);
        tn__session_unlock(session);
    }
}

static bool watch(void)
{
    static struct tn__at_exit rest = {.function = go_on};
    return tn__at_exit_add(&rest);
}

bool tn__ending_knows_status(void)
{
    return tn__exit_tells_status() && watch();
}

/* The calling thread ends. A removal that it leaves is not completed; what it has not run is still the library's. */
static void leave(void *context)
{
    const struct ending *ending = context;
    innermost = ending->outer;
    if (ending->owner)
        return;
    tn__session_lock(ending->library->session);
    ending->library->is_left = true;
    tn__session_unlock(ending->library->session);
    __atomic_store_n(&is_any_left, true, __ATOMIC_RELEASE);
    watch();
}

/* ---- the steps ---- */

static struct tn__calls_list take_finalizers(const struct ending *ending)
{
    struct tn__calls_list taken;
    if (ending->finalizers) {
        taken = *ending->finalizers;
        *ending->finalizers = (struct tn__calls_list){.from = taken.from};
        return taken;
    }
    tn__session_lock(ending->library->session);
    taken = tn__calls_take_all(ending->library);
    tn__session_unlock(ending->library->session);
    return taken;
}

/* Each step takes from a list what it runs, so running it again goes on. */
static void run(const struct ending *ending)
{
    size_t count;
    watch(); /* without memory for it, a call of exit ends the process without the rest */
    tn__thread_exits_run(ending->library, ending->owner);
    tn__exits_run(ending->library, ending->owner);
    do { /* what these call for the first time may have to be finalised too */
        struct tn__calls_list finalizers = take_finalizers(ending);
        count = finalizers.count;
        tn__calls_run(&finalizers);
        tn__thread_exits_run(ending->library, ending->owner);
        tn__exits_run(ending->library, ending->owner);
    } while (count);
}

void tn__ending_run(struct tn_library *library, struct tn_tracker *owner, struct tn__calls_list *finalizers)
{
    struct ending ending = {library, owner, finalizers, innermost};
    innermost = &ending;
    pthread_cleanup_push(leave, &ending);
    run(&ending);
    pthread_cleanup_pop(0);
    innermost = ending.outer;
}
