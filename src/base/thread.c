/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The attached threads, and quiescence in the manner of QSBR (quiescent-state-based reclamation: Desnoyers et al.,
 * "User-Level Implementations of Read-Copy Update", IEEE TPDS 2012).
 *
 * There is one epoch, which every new wait advances. Each thread has a word with the epoch that it saw at its last
 * quiescent point, or OFFLINE: not attached, or in a blocking region. A thread has passed a wait if its word is at
 * least the epoch of that wait, or OFFLINE. The waiter marks threads that have not passed yet as waited for, in the
 * same word. So passing a quiescent point takes two loads and a compare if no wait was started since the last one, else
 * one exchange; only a thread that finds itself waited for takes a lock.
 *
 * Why the memory orders suffice: let W wait for thread T. W has unpublished something before, and frees it afterwards.
 *   - What T did before its quiescent point happens before W frees: T stores its word with release, W loads it with
 *     acquire.
 *   - What T reads after its quiescent point is what W left: W advances the epoch with release and T loads it with
 *     acquire. Further advances by others do no harm, because a release sequence continues through read-modify-writes.
 *   - T leaves a blocking region while W looks. Both use a read-modify-write of T's word, so one comes first. If T's
 *     does, W finds T online, and waits. If W's does, T's exchange acquires what W released, and T reads what W left. A
 *     plain load by W would not do: both could miss what the other wrote, as in Dekker's algorithm without fences. */

#include <pthread.h>

#include "delay.h"
#include "fork.h"
#include "thread.h"

/* Epochs advance by two: the lowest bit of a thread's word means that another thread waits for it. */
enum { OFFLINE = 0, WAITED = 1, FIRST_EPOCH = 2, NEXT_EPOCH = 2 };

static struct {
    uint64_t now;
} __attribute__((aligned(64))) epoch = {FIRST_EPOCH};

static struct tn__mutex lock = TN__MUTEX(TN__LEVEL_THREADS);
static uint32_t passed; /* changes, under the lock, when a thread that is waited for has passed */
static struct tn__thread *attached;
static void (*attach_hook)(struct tn__thread *thread);

static uint32_t starting;  /* threads of the library that have not begun */
static uint64_t announced; /* all that were ever to be started */

static __thread struct tn__thread self __attribute__((tls_model("initial-exec")));

/* ---- the list ---- */

static void after_fork(bool in_child);

void tn__threads_lock(void)
{
    static const struct tn__fork_hooks hooks = {.lock = &lock, .after = after_fork};
    tn__forks_watch(TN__LEVEL_THREADS, &hooks);
    tn__mutex_lock(&lock);
}

void tn__threads_unlock(void)
{
    tn__mutex_unlock(&lock);
}

struct tn__thread *tn__threads_first(void)
{
    return attached;
}

void tn__threads_on_attach(void (*hook)(struct tn__thread *thread))
{
    attach_hook = hook;
}

static void insert_self(void)
{
    self.next = attached;
    self.link = &attached;
    if (attached)
        attached->link = &self.next;
    attached = &self;
}

/* Under the lock. */
static void note_passed(void)
{
    __atomic_add_fetch(&passed, 1, __ATOMIC_RELAXED);
    tn__os_wake(&passed);
}

static void at_end(bool last)
{
    if (last)
        tn_thread_detach();
}

void tn_thread_attach(void)
{
    if (tn__thread_has_ended())
        return;
    tn__thread_at_end(TN__END_QUIESCENCE, at_end);
    tn__threads_lock();
    if (!self.link) {
        self.id = tn__os_thread_id();
        self.thread_pointer = tn__thread_pointer();
        __atomic_store_n(&self.seen, __atomic_load_n(&epoch.now, __ATOMIC_ACQUIRE), __ATOMIC_RELAXED);
        insert_self();
        if (attach_hook)
            attach_hook(&self);
    }
    tn__threads_unlock();
}

void tn_thread_detach(void)
{
    tn__threads_lock();
    if (self.link) {
        *self.link = self.next;
        if (self.next)
            self.next->link = self.link;
        self = (struct tn__thread){.seen = OFFLINE};
        note_passed();
    }
    tn__threads_unlock();
}

/* ---- threads of the library ---- */

void tn__own_thread_announce(void)
{
    tn__threads_lock();
    __atomic_store_n(&starting, starting + 1, __ATOMIC_RELAXED);
    announced++;
    tn__threads_unlock();
}

void tn__own_thread_begun(void)
{
    tn__threads_lock();
    __atomic_store_n(&starting, starting - 1, __ATOMIC_RELAXED);
    tn__os_wake(&starting);
    tn__threads_unlock();
}

uint64_t tn__own_threads_await(void)
{
    for (uint32_t left; (left = __atomic_load_n(&starting, __ATOMIC_RELAXED));)
        tn__os_wait(&starting, left, UINT64_MAX);
    tn__threads_lock();
    uint64_t count = announced;
    tn__threads_unlock();
    return count;
}

/* ---- forks ---- */

/* Other threads do not exist in the child, and perhaps their memory does not either, so it is not accessed. */
static void after_fork(bool in_child)
{
    if (in_child) {
        attached = NULL;
        starting = 0;
        if (self.link)
            insert_self();
        self.id = tn__os_thread_id();
    }
}

/* ---- quiescent points ---- */

static void set_seen(uint64_t value)
{
    if (__atomic_exchange_n(&self.seen, value, __ATOMIC_ACQ_REL) & WAITED) {
        tn__threads_lock(); /* waiters mark us under the lock, and note the state of `passed` before they release it */
        note_passed();
        tn__threads_unlock();
    }
}

void tn_thread_quiescent(void)
{
    uint64_t now = __atomic_load_n(&epoch.now, __ATOMIC_ACQUIRE);
    uint64_t seen = __atomic_load_n(&self.seen, __ATOMIC_RELAXED);
    if (seen != now && seen != OFFLINE)
        set_seen(now);
}

void tn_thread_begin_blocking(void)
{
    bool online = __atomic_load_n(&self.seen, __ATOMIC_RELAXED) != OFFLINE;
    if ((online || self.blocking) && !self.blocking++)
        set_seen(OFFLINE);
}

void tn_thread_end_blocking(void)
{
    if (self.blocking && !--self.blocking)
        set_seen(__atomic_load_n(&epoch.now, __ATOMIC_ACQUIRE));
}

/* ---- waiting ---- */

/* True if the thread has passed a quiescent point since `ticket`. If not, and `mark` is set, it will wake us then. */
static bool has_passed(struct tn__thread *thread, uint64_t ticket, bool mark)
{
    uint64_t seen = __atomic_load_n(&thread->seen, __ATOMIC_ACQUIRE);
    for (;;) {
        uint64_t wanted = seen == OFFLINE ? OFFLINE : seen | WAITED;
        if (seen >= ticket)
            return true;
        if (seen != OFFLINE && (!mark || seen == wanted))
            return false;
        if (__atomic_compare_exchange_n(&thread->seen, &seen, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return seen == OFFLINE;
    }
}

/* Call under the lock. Finds one thread to wait for; when it has passed, the next one is looked for. NULL: all have
 * passed. */
static const struct tn__thread *find_late(uint64_t ticket, bool mark)
{
    for (struct tn__thread *thread = attached; thread; thread = thread->next)
        if (thread != &self && !has_passed(thread, ticket, mark))
            return thread;
    return NULL;
}

uint64_t tn_quiesce_begin(void)
{
    return __atomic_add_fetch(&epoch.now, NEXT_EPOCH, __ATOMIC_ACQ_REL);
}

int tn_quiesce_ended(uint64_t ticket)
{
    tn__threads_lock();
    bool ended = !find_late(ticket, false);
    tn__threads_unlock();
    return ended;
}

bool tn__quiesce_unless(const uint32_t *stopped, tn_on_delay *on_delay, void *context)
{
    uint64_t ticket = tn_quiesce_begin();
    const struct tn__thread *late;
    struct tn__watched_wait delay = tn__delay_begin(on_delay, context);
    tn_thread_begin_blocking(); /* others that wait at the same time need not wait for this thread */
    tn__threads_lock();
    while ((late = find_late(ticket, true)) && !*stopped) {
        uint32_t id = late->id, before = passed;
        tn__threads_unlock();
        if (tn__delay_is_due(&delay))
            tn__delay_report(&delay, id, NULL);
        else
            tn__os_wait(&passed, before, tn__delay_until_report(&delay));
        tn__threads_lock();
    }
    tn__threads_unlock();
    tn_thread_end_blocking();
    return !late;
}

void tn__quiesce_stop(uint32_t *stopped)
{
    tn__threads_lock();
    *stopped = 1;
    note_passed();
    tn__threads_unlock();
}

void tn_quiesce_watched(tn_on_delay *on_delay, void *context)
{
    tn__quiesce_unless(&(const uint32_t){0}, on_delay, context);
}

void tn_quiesce(void)
{
    tn_quiesce_watched(NULL, NULL);
}
