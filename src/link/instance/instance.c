/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code instances: how compiled code gets to its callers, while other threads call, compile, replace and remove it.
 *
 * The words invoke, specptr and specsigflags are read without a lock, by generated code too; tenon/instance.h has the
 * states and the protocols of readers and invoke entries. Only this file writes them, under one lock, which also guards
 * the leases and the lists of trackers. Because readers take no lock, the order of the writes matters all the same:
 *
 *   publish   CAS specptr NULL -> P, acquire and release; the low bit, relaxed; invoke, release; the ready bit,
 *             release. So a thread that sees the ready bit sees all of it, and one that sees invoke sees specptr.
 *   update    CAS specptr P -> an equivalent P', release. A plain store could restore code that is gone; CAS fails.
 *   withdraw  the withdrawn bit, release; invoke = the generic entry, release. Both before threads pass a quiescent
 *             point. The other words stay: entries reached through the old invoke may still read them.
 *   clear     after all threads passed one: flags = 0, release; specptr = NULL, release. In this order, so that a
 *             thread which finds specptr NULL, and publishes, finds no old flags.
 *
 * A reader that passed its quiescent point after a withdrawal began may still find the old specptr, but then also finds
 * it withdrawn or cleared: so it checks the flags first (5, 6). What it finds not withdrawn is not cleared before the
 * reader's next quiescent point, but may be withdrawn meanwhile (9), and other code may have been published since it
 * read specptr (10). */

#include <pthread.h>
#include <sched.h>

#include "base/fork.h"
#include "base/thread.h"
#include "link/session/contents.h"

/* Generated code uses these offsets. */
_Static_assert(offsetof(struct tn_instance, invoke) == 0 && offsetof(struct tn_instance, specptr) == 8 &&
                   offsetof(struct tn_instance, specsigflags) == 16 && offsetof(struct tn_instance, entries) == 24 &&
                   sizeof(struct tn_instance) == 80,
               "the layout of struct tn_instance is part of the runtime ABI");

/* Which link of an instance, and which list of a tracker. */
enum { PUBLISHED, UPDATED, LINKS };

_Static_assert(TN_COUNT(((struct tn_instance *)0)->links) == LINKS &&
                   TN_COUNT(((struct tn_tracker *)0)->instances) == LINKS,
               "one list for each link");

static struct tn__mutex lock = TN__MUTEX(TN__LEVEL_INSTANCES);

/* ---- reservations: the records ---- */

/* A thread that holds leases. They are in its own memory: the child of a fork never follows those of other threads. */
struct compiler {
    struct compiler *next, **link; /* `link` is NULL while it holds none */
    struct tn_lease *leases;
    const struct tn_instance *awaits; /* NULL: it does not wait */
};

static struct compiler *compilers;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static __thread struct compiler self;

static void insert_self(void)
{
    self.next = compilers;
    self.link = &compilers;
    if (compilers)
        compilers->link = &self.next;
    compilers = &self;
}

static void remove_self(void)
{
    *self.link = self.next;
    if (self.next)
        self.next->link = self.link;
    self.link = NULL;
}

/* ---- the lock and forks ---- */

/* In the child, the leases of other threads end: these threads do not exist there. */
static void after_fork(bool in_child)
{
    if (in_child) {
        pthread_cond_init(&released, NULL);
        compilers = NULL;
        if (self.link)
            insert_self();
    }
}

static void begin_round(struct tn__withdrawal *round);
static bool withdraw_all(struct tn_tracker *tracker, const struct tn__withdrawal *round);
static void clear_all(struct tn_tracker *tracker, const struct tn__withdrawal *round);
static void move_all(struct tn_tracker *from, struct tn_tracker *to);
static void withdraw_entries(struct tn_tracker *tracker, const void *const *entries, size_t count);

static void announce(void)
{
    static const struct tn__instances hooks = {
        .begin = begin_round,
        .withdraw = withdraw_all,
        .clear = clear_all,
        .move = move_all,
        .withdraw_entries = withdraw_entries,
    };
    static const struct tn__fork_hooks fork_hooks = {.lock = &lock, .after = after_fork};
    tn__forks_watch(TN__LEVEL_INSTANCES, &fork_hooks);
    tn__instances_announce(&hooks);
}

static void take_lock(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, announce);
    tn__mutex_lock(&lock);
}

static void give_lock(void)
{
    tn__mutex_unlock(&lock);
}

/* ---- the words ---- */

static void *get_invoke(const struct tn_instance *instance)
{
    return __atomic_load_n(&instance->invoke, __ATOMIC_ACQUIRE);
}

static void *get_specptr(const struct tn_instance *instance)
{
    return __atomic_load_n(&instance->specptr, __ATOMIC_ACQUIRE);
}

static uint32_t get_flags(const struct tn_instance *instance)
{
    return __atomic_load_n(&instance->specsigflags, __ATOMIC_ACQUIRE);
}

static bool replace(void **word, void *from, void *to)
{
    return __atomic_compare_exchange_n(word, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* True for compiled code, as opposed to the entries that stand in for it. */
static bool is_code(const struct tn_instance *instance, const void *invoke)
{
    return invoke && invoke != instance->entries->generic && invoke != instance->entries->wait;
}

static bool is_compiled(const struct tn_instance *instance)
{
    return get_specptr(instance) ? !(get_flags(instance) & TN_INSTANCE_WITHDRAWN)
                                 : is_code(instance, get_invoke(instance));
}

/* Until the publisher of specptr has set the ready bit, or specptr was cleared. The publisher needs no lock that we
 * hold. */
static void wait_until_ready(const struct tn_instance *instance)
{
    while (get_specptr(instance) && !(get_flags(instance) & TN_INSTANCE_READY))
        sched_yield();
}

/* ---- reading ---- */

/* The steps have the numbers of tenon/instance.h. False: start over. */
static bool try_to_read(const struct tn_instance *instance, bool wait, struct tn_instance_code *code)
{
    *code = (struct tn_instance_code){.invoke = get_invoke(instance)};         /* 1 */
    if (!code->invoke || (!wait && code->invoke == instance->entries->wait)) { /* 2 */
        code->invoke = NULL;
        return true;
    }
    void *specptr = get_specptr(instance); /* 3 */
    if (!specptr)                          /* 4 */
        return true;
    uint32_t flags = get_flags(instance); /* 5 */
    if (!(flags & TN_INSTANCE_READY)) {
        sched_yield();
        return false;
    }
    if (flags & TN_INSTANCE_WITHDRAWN) /* 6 */
        return true;
    code->invoke = get_invoke(instance); /* 7 */
    flags = get_flags(instance);         /* 8 */
    if (flags & TN_INSTANCE_WITHDRAWN)   /* 9 */
        return true;
    code->specptr = specptr;
    code->specsigflags = flags;
    return specptr == __atomic_load_n(&instance->specptr, __ATOMIC_RELAXED); /* 10 */
}

struct tn_instance_code tn_instance_read(const struct tn_instance *instance, int wait)
{
    struct tn_instance_code code;
    while (!try_to_read(instance, wait, &code))
        ;
    return code;
}

/* ---- whose code it is ---- */

static uint64_t publications; /* so far, for all trackers */

static void unlink_from(struct tn_instance *instance, int which)
{
    struct tn_instance_link *link = &instance->links[which];
    if (!link->owner)
        return;
    *link->previous = link->next;
    if (link->next)
        link->next->links[which].previous = link->previous;
    *link = (struct tn_instance_link){.owner = NULL};
}

static void link_to(struct tn_instance *instance, int which, struct tn_tracker *owner)
{
    struct tn_instance_link *link = &instance->links[which];
    unlink_from(instance, which);
    if (!owner)
        return;
    struct tn_instance **first = &owner->instances[which];
    *link = (struct tn_instance_link){.next = *first, .previous = first, .owner = owner};
    if (*first)
        (*first)->links[which].previous = &link->next;
    *first = instance;
    owner->last_published = ++publications;
}

static void unlink_from_all(struct tn_instance *instance)
{
    for (int which = 0; which < LINKS; which++)
        unlink_from(instance, which);
}

void tn_instance_init(struct tn_instance *instance, const struct tn_instance_entries *entries)
{
    *instance = (struct tn_instance){.entries = entries};
}

void tn_instance_finish(struct tn_instance *instance)
{
    take_lock();
    unlink_from_all(instance);
    give_lock();
}

/* ---- writing ---- */

void tn_instance_promise(struct tn_instance *instance)
{
    replace(&instance->invoke, NULL, instance->entries->wait);
}

void tn_instance_fall_back(struct tn_instance *instance)
{
    replace(&instance->invoke, NULL, instance->entries->generic);
    replace(&instance->invoke, instance->entries->wait, instance->entries->generic);
}

static bool publish_invoke(struct tn_instance *instance, void *invoke)
{
    void *stand_in = get_invoke(instance);
    while (!get_specptr(instance) && !is_code(instance, stand_in))
        if (__atomic_compare_exchange_n(&instance->invoke, &stand_in, invoke, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            return true;
    return false;
}

static bool publish_pair(struct tn_instance *instance, const struct tn_instance_code *code)
{
    if (!replace(&instance->specptr, NULL, code->specptr))
        return false;
    __atomic_store_n(&instance->specsigflags, code->specsigflags & TN_INSTANCE_SPECSIG, __ATOMIC_RELAXED);
    __atomic_store_n(&instance->invoke, code->invoke, __ATOMIC_RELEASE);
    __atomic_fetch_or(&instance->specsigflags, TN_INSTANCE_READY, __ATOMIC_RELEASE);
    return true;
}

int tn_instance_publish(struct tn_instance *instance, const struct tn_instance_code *code, struct tn_tracker *owner,
                        struct tn_error *err)
{
    if (!instance || !code || !code->invoke)
        return tn__fail(err, TN_EINVAL, "an instance is published with an invoke entry at least");
    if (code->specsigflags & ~(uint32_t)(TN_INSTANCE_SPECSIG | TN_INSTANCE_READY) ||
        (!code->specptr && code->specsigflags))
        return tn__fail(err, TN_EINVAL, "specsigflags %#x do not fit", code->specsigflags);
    if (!is_code(instance, code->invoke))
        return tn__fail(err, TN_EINVAL, "entries that stand in for code cannot be published");
    take_lock();
    bool won = code->specptr ? publish_pair(instance, code) : publish_invoke(instance, code->invoke);
    if (won) {
        unlink_from_all(instance);
        link_to(instance, PUBLISHED, owner);
    }
    give_lock();
    if (won)
        return 0;
    wait_until_ready(instance);
    return tn__fail(err, TN_EDUP, "other code was published first");
}

int tn_instance_update(struct tn_instance *instance, void *from, void *to, struct tn_tracker *owner,
                       struct tn_error *err)
{
    if (!instance || !from || !to)
        return tn__fail(err, TN_EINVAL, "an update goes from one specptr to another");
    take_lock();
    bool won = !(get_flags(instance) & TN_INSTANCE_WITHDRAWN) && replace(&instance->specptr, from, to);
    if (won)
        link_to(instance, UPDATED, owner);
    give_lock();
    return won ? 0 : tn__fail(err, TN_EDUP, "specptr is not, or no longer, what it was");
}

/* ---- withdrawing ---- */

static void withdraw(struct tn_instance *instance)
{
    if (get_specptr(instance))
        __atomic_fetch_or(&instance->specsigflags, TN_INSTANCE_WITHDRAWN, __ATOMIC_RELEASE);
    if (is_code(instance, get_invoke(instance)))
        __atomic_store_n(&instance->invoke, instance->entries->generic, __ATOMIC_RELEASE);
}

/* Does nothing if other code was published meanwhile, or there was no specptr. */
static void clear(struct tn_instance *instance)
{
    if (get_flags(instance) & TN_INSTANCE_WITHDRAWN) {
        __atomic_store_n(&instance->specsigflags, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&instance->specptr, NULL, __ATOMIC_RELEASE);
        unlink_from_all(instance);
    }
}

void tn_instances_withdraw(struct tn_instance *const *instances, size_t count)
{
    tn_on_delay *on_delay = NULL; /* of any session: it is the same wait for all */
    void *context = NULL;
    take_lock();
    for (size_t i = 0; i < count && !on_delay; i++) {
        const struct tn_tracker *owner = instances[i]->links[PUBLISHED].owner;
        const struct tn_session *session = owner ? owner->library->session : NULL;
        on_delay = session ? session->on_delay : NULL;
        context = session ? session->context : NULL;
    }
    for (size_t i = 0; i < count; i++) {
        withdraw(instances[i]);
        if (!get_specptr(instances[i]))
            unlink_from_all(instances[i]);
    }
    give_lock();
    tn_quiesce_watched(on_delay, context);
    take_lock();
    for (size_t i = 0; i < count; i++)
        clear(instances[i]);
    give_lock();
}

static void begin_round(struct tn__withdrawal *round)
{
    take_lock();
    *round = (struct tn__withdrawal){.since = round->until, .until = publications};
    give_lock();
}

static bool withdraw_all(struct tn_tracker *tracker, const struct tn__withdrawal *round)
{
    take_lock();
    for (int which = 0; which < LINKS; which++)
        for (struct tn_instance *i = tracker->instances[which]; i; i = i->links[which].next)
            withdraw(i);
    bool any = tracker->instances[PUBLISHED] || tracker->instances[UPDATED] || tracker->last_published > round->since;
    give_lock();
    return any;
}

static bool has_entry(const struct tn_instance *instance, const void *const *entries, size_t count)
{
    const void *specptr = get_specptr(instance), *invoke = get_invoke(instance);
    for (size_t i = 0; i < count; i++)
        if (entries[i] == specptr || entries[i] == invoke)
            return true;
    return false;
}

static void withdraw_entries(struct tn_tracker *tracker, const void *const *entries, size_t count)
{
    take_lock();
    for (int which = 0; which < LINKS; which++)
        for (struct tn_instance *i = tracker->instances[which]; i; i = i->links[which].next)
            if (has_entry(i, entries, count))
                withdraw(i);
    give_lock();
}

static void clear_all(struct tn_tracker *tracker, const struct tn__withdrawal *round)
{
    take_lock();
    for (int which = 0; which < LINKS && tracker->last_published <= round->until; which++)
        for (struct tn_instance *i = tracker->instances[which], *next; i; i = next) {
            next = i->links[which].next;
            clear(i);
            unlink_from(i, which);
        }
    give_lock();
}

static void move_all(struct tn_tracker *from, struct tn_tracker *to)
{
    take_lock();
    for (int which = 0; which < LINKS; which++)
        while (from->instances[which])
            link_to(from->instances[which], which, to);
    if (from->last_published)
        to->last_published = ++publications;
    from->last_published = 0;
    give_lock();
}

/* ---- reservations ---- */

static struct compiler *holder_of(const struct tn_instance *instance)
{
    for (struct compiler *compiler = compilers; compiler; compiler = compiler->next)
        for (const struct tn_lease *lease = compiler->leases; lease; lease = lease->next)
            if (lease->instance == instance)
                return compiler;
    return NULL;
}

/* Threads check this chain before they begin to wait, so it has no cycle: it ends, with us or with a thread that
 * runs. */
static bool waits_for_us(const struct compiler *compiler)
{
    while (compiler && compiler != &self)
        compiler = compiler->awaits ? holder_of(compiler->awaits) : NULL;
    return compiler;
}

/* The leases lay in frames that are gone. */
static void at_end(bool last)
{
    (void)last;
    take_lock();
    self.leases = NULL;
    if (self.link)
        remove_self();
    pthread_cond_broadcast(&released);
    give_lock();
}

static void grant(struct tn_instance *instance, struct tn_lease *lease)
{
    tn__thread_at_end(TN__END_LEASES, at_end);
    *lease = (struct tn_lease){.instance = instance, .next = self.leases};
    self.leases = lease;
    if (!self.link)
        insert_self();
}

/* After a wait any entry will do: the other thread's attempt has just failed. */
static bool needs_no_compiler(const struct tn_instance *instance, bool waited)
{
    const void *invoke = get_invoke(instance);
    return is_compiled(instance) || (waited && invoke && invoke != instance->entries->wait);
}

static enum tn_reservation reserve(struct tn_instance *instance, struct tn_lease *lease)
{
    for (bool waited = false; !needs_no_compiler(instance, waited); waited = true) {
        struct compiler *holder = holder_of(instance);
        if (!holder) {
            grant(instance, lease);
            return TN_RESERVED;
        }
        if (waits_for_us(holder))
            return TN_RESERVATION_CYCLE;
        self.awaits = instance;
        tn__mutex_wait(&lock, &released, NULL);
        self.awaits = NULL;
    }
    return TN_ALREADY_COMPILED;
}

enum tn_reservation tn_instance_reserve(struct tn_instance *instance, struct tn_lease *lease)
{
    *lease = (struct tn_lease){.instance = NULL};
    take_lock();
    enum tn_reservation result = reserve(instance, lease);
    give_lock();
    return result;
}

void tn_instance_release(struct tn_lease *lease)
{
    if (!lease->instance)
        return;
    take_lock();
    for (struct tn_lease **at = &self.leases; *at; at = &(*at)->next)
        if (*at == lease) {
            *at = lease->next;
            break;
        }
    if (!self.leases && self.link)
        remove_self();
    lease->instance = NULL;
    pthread_cond_broadcast(&released);
    give_lock();
}
