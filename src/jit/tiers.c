/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The thread that compiles functions for higher tiers, one for all JITs of the process. It looks up the body of a
 * tier, which a materializer promises (tiers_add.c), as any other thread could: so a body belongs to the tracker of its
 * module, goes with it, and fails once. Then it leads the stub there, if that still leads to a lower tier.
 *
 * No function of a session is called under the lock here, because a session's lock is released with callbacks, which
 * take this one. */

#include "base/fork.h"
#include "base/os.h"
#include "jit/assumption.h"
#include "jit/tiers.h"
#include "link/core/session.h"
#include "link/lazy/lazy.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Under the lock. */
static struct {
    struct tn__list jits, queue;
    struct tn__tree *modules;
    uint64_t numbers; /* given out */
    size_t count;     /* of JITs */
    bool is_ready, runs;
    pthread_t thread;
    struct tn__tiered_part *busy; /* what the thread compiles: it uses the module and the library */
    struct tn__tiered_part *left; /* what it was compiling when the process forked */
    pthread_cond_t idle;          /* a JIT has a use less */
    uint32_t stops;               /* the thread has to end; for tn__os_wait */
} all;

static void after_fork(bool in_child)
{
    if (!in_child)
        return;
    all.runs = false;
    all.stops = 0;
    all.left = all.busy ? all.busy : all.left;
    all.busy = NULL;
    if (all.is_ready)
        for (TN_EACH(struct tn__tiers, tiers, &all.jits, listed))
            tiers->uses = 0; /* those threads are not here */
    pthread_cond_init(&all.idle, NULL);
}

void tn__tiers_lock(void)
{
    static const struct tn__fork_hooks hooks = {&lock, NULL, after_fork};
    tn__forks_watch(TN__FORK_TIERS, &hooks);
    pthread_mutex_lock(&lock);
    if (all.is_ready)
        return;
    all.is_ready = true;
    tn__list_init(&all.jits);
    tn__list_init(&all.queue);
    pthread_cond_init(&all.idle, NULL);
}

void tn__tiers_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

/* ---- what is wanted ---- */

void tn__tiers_want(struct tn__tiered_part *part, uint8_t tier, uint32_t heat)
{
    const struct tn__tiers *tiers = part->of->tiers;
    if (part->failed || tier >= tiers->count || !tiers->is_open || tn__is_broken(part->of->m->rests))
        return;
    part->wanted = part->wanted > tier ? part->wanted : tier;
    part->heat = part->heat > heat ? part->heat : heat;
    if (!part->is_queued)
        tn__list_append(&all.queue, &part->queued);
    part->is_queued = true;
}

static void forget(struct tn__tiered_part *part)
{
    if (part->is_queued)
        tn__list_remove(&part->queued);
    part->is_queued = false;
    part->wanted = 0;
    part->heat = 0;
}

static uint64_t counted(const struct tn_tier *tier, uint32_t times)
{
    return (uint64_t)tier->calls * ((UINT64_C(1) << times) - 1);
}

/* A counter of code that has given way tells too: then the client has led the stub back to it. */
static void take_count(const struct tn__told *told)
{
    struct tn__tree *node = tn__tree_find(all.modules, told->module);
    struct tn__tiered *tiered = node ? tn__container_of(node, struct tn__tiered, node) : NULL;
    if (!tiered || told->part >= tiered->m->description.parts)
        return;
    struct tn__tiered_part *part = &tiered->parts[told->part];
    const struct tn__tiers *tiers = tiered->tiers;
    size_t tier = 0;
    while (tier < tiers->count && tiers->tiers[tier].opt_level != told->level)
        tier++;
    if (tier + 1 >= tiers->count)
        return;
    uint64_t calls = counted(&tiers->tiers[tier], told->times);
    part->calls = part->calls > calls ? part->calls : calls;
    tn__tiers_want(part, (uint8_t)(tier + 1 > part->now ? tier + 1 : part->now), told->times);
}

/* The hottest part, with a use of its module and library. */
static struct tn__tiered_part *choose(void)
{
    struct tn__tiered_part *best = NULL;
    for (struct tn__list *at = all.queue.next, *next; at != &all.queue; at = next) {
        struct tn__tiered_part *part = tn__container_of(at, struct tn__tiered_part, queued);
        const struct tn__tiers *tiers = part->of->tiers;
        next = at->next;
        if (tiers->bytes >= tiers->most_bytes)
            forget(part);
        else if (!best || part->heat > best->heat)
            best = part;
    }
    if (best) {
        tn__jit_hold(best->of->m, false);
        tn__library_use(best->of->library);
    }
    return best;
}

/* ---- compiling ---- */

static int raise_each(const struct tn__tiered_part *part, size_t tier, struct tn__arena *arena, size_t *raised,
                      struct tn_error *err)
{
    TN__EACH_BODY(s, part)
    {
        const char *bodies[TN__TIERS_MOST];
        size_t count = 0;
        for (size_t t = part->first; t <= tier; t++)
            if (!(bodies[count++] = tn__tiered_name(part, s, t, arena)))
                return tn__no_memory(err, s->name);
        bool changed; /* the client may have redirected it; that is no error */
        tn__lazy_raise(part->of->library, s->name, bodies, count, &changed, NULL);
        *raised += changed;
    }
    return TN_OK;
}

/* One body is enough: they are compiled together. */
static int look_up(const struct tn__tiered_part *part, size_t tier, struct tn__arena *arena, struct tn_error *err)
{
    size_t count;
    const struct tn__described_symbol *first = tn__jit_symbols(part->of->m, tn__tiered_number(part), &count);
    struct tn_wanted wanted = {tn__tiered_name(part, first, tier, arena), TN_WANTED_HIDDEN, NULL};
    if (!wanted.name)
        return tn__no_memory(err, first->name);
    int code = tn_lookup_all(part->of->library, &wanted, 1, err);
    struct tn_known known = {wanted.name, 0};
    if (code == TN_EUNDEF && !(tn_lookup_flags(part->of->library, &known, 1, NULL) == TN_OK && known.flags))
        code = TN_EREMOVED; /* the module, and not something that it needs */
    return code;
}

static bool is_removal(int code)
{
    return code == TN_EREMOVED || code == TN_ECANCELLED;
}

static int compile(struct tn__tiered_part *part, size_t tier, bool *raised, struct tn_error *err)
{
    struct tn__arena arena = {0};
    size_t stubs = 0;
    int code = look_up(part, tier, &arena, err);
    if (code == TN_OK && tn__is_broken(part->of->m->rests))
        code = TN_ECANCELLED; /* only calls that have begun reach this module */
    if (code == TN_OK)
        code = raise_each(part, tier, &arena, &stubs, err);
    tn__arena_free(&arena);
    *raised = code == TN_OK && stubs;
    return code;
}

static void release(struct tn__tiered_part *part)
{
    struct tn_session *session = part->of->library->session;
    tn__session_lock(session);
    tn__library_release(part->of->library);
    tn__session_unlock(session);
    tn__jit_drop(part->of->m, false);
}

/* Returns how long the thread has to rest, in ns. */
static uint64_t compile_chosen(struct tn__tiered_part *part, size_t tier)
{
    struct tn_error err;
    struct tn__tiers *tiers = part->of->tiers;
    struct tn_session *session = part->of->library->session;
    const unsigned share = tiers->share;
    bool raised;
    uint64_t begin = tn__os_thread_ns();
    int code = compile(part, tier, &raised, &err);
    uint64_t ns = tn__os_thread_ns() - begin;
    if (code != TN_OK && !is_removal(code)) {
        tn__append(&err, ", for tier %zu", tier);
        tn__session_report(session, &err);
    }
    if (raised && tiers->retires)
        tn__tiers_retire(part, tier);
    tn__tiers_lock();
    part->failed = is_removal(code) ? 0 : code;
    part->swaps += raised;
    part->now = raised && tier > part->now ? (uint8_t)tier : part->now;
    all.busy = NULL;
    tn__tiers_unlock();
    release(part);
    tn__tiers_end(tiers); /* until then the JIT may not go */
    return ns * (100 - share) / share;
}

/* ---- the thread ---- */

struct tn__tiers *tn__tiers_begin(const struct tn_jit *jit)
{
    struct tn__tiers *found = NULL;
    tn__tiers_lock();
    for (TN_EACH(struct tn__tiers, tiers, &all.jits, listed))
        if (tiers->jit == jit && tiers->is_open)
            found = tiers;
    if (found)
        found->uses++;
    tn__tiers_unlock();
    return found;
}

void tn__tiers_end(struct tn__tiers *tiers)
{
    tn__tiers_lock();
    tiers->uses--;
    pthread_cond_broadcast(&all.idle);
    tn__tiers_unlock();
}

size_t tn__tiers_take(struct tn__told *samples, size_t room)
{
    struct tn__told told;
    size_t count = 0;
    tn__tiers_lock();
    while (count < room && tn__told_pop(&told))
        if (told.module)
            take_count(&told);
        else
            samples[count++] = told;
    tn__tiers_unlock();
    return count;
}

static bool work_once(uint64_t *rest)
{
    struct tn__told samples[64];
    size_t count = tn__tiers_take(samples, TN_COUNT(samples)), tier = 0;
    tn__tiers_sample(samples, count);
    tn__tiers_lock();
    struct tn__tiered_part *part = choose();
    if (part) {
        tier = part->wanted;
        forget(part);
        all.busy = part;
        part->of->tiers->uses++;
    }
    tn__tiers_unlock();
    *rest = part ? compile_chosen(part, tier) : 0;
    return part || count;
}

static void *work(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&all.stops, __ATOMIC_ACQUIRE)) {
        uint32_t events = __atomic_load_n(&tn__told_events, __ATOMIC_SEQ_CST);
        uint64_t rest;
        if (!work_once(&rest) && !__atomic_load_n(&all.stops, __ATOMIC_ACQUIRE))
            tn__os_wait(&tn__told_events, events, UINT64_MAX);
        if (rest)
            tn__os_wait(&all.stops, 0, rest);
    }
    return NULL;
}

static void wake(void)
{
    __atomic_fetch_add(&tn__told_events, 1, __ATOMIC_SEQ_CST);
    tn__os_wake(&tn__told_events);
}

/* Under the lock. */
static bool start(void)
{
    if (!all.runs && all.count)
        all.runs = tn__os_start_thread(&all.thread, work, NULL);
    return all.runs || !all.count;
}

int tn__tiers_wake(struct tn_error *err)
{
    tn__tiers_lock();
    bool runs = start();
    struct tn__tiered_part *left = all.left;
    all.left = NULL;
    tn__tiers_unlock();
    if (left)
        release(left);
    wake();
    return runs ? TN_OK : tn__fail(err, TN_ENOMEM, "no thread that compiles for higher tiers");
}

int tn__tiers_open(struct tn__tiers *tiers, struct tn_error *err)
{
    tn__list_init(&tiers->modules);
    tn__tiers_lock();
    tn__list_append(&all.jits, &tiers->listed);
    all.count++;
    tiers->is_open = true;
    tn__tiers_unlock();
    return tn__tiers_wake(err);
}

static void stop(void)
{
    __atomic_store_n(&all.stops, 1, __ATOMIC_RELEASE);
    pthread_t thread = all.thread;
    tn__tiers_unlock();
    tn__os_wake(&all.stops);
    wake();
    pthread_join(thread, NULL);
    tn__tiers_lock();
    __atomic_store_n(&all.stops, 0, __ATOMIC_RELEASE);
    all.runs = false;
    start(); /* a JIT may have been created meanwhile */
}

void tn__tiers_close(struct tn__tiers *tiers)
{
    tn__tiers_lock();
    tiers->is_open = false;
    for (struct tn__list *at = all.queue.next, *next; at != &all.queue; at = next) {
        struct tn__tiered_part *part = tn__container_of(at, struct tn__tiered_part, queued);
        next = at->next;
        if (part->of->tiers == tiers)
            forget(part);
    }
    while (tiers->uses)
        pthread_cond_wait(&all.idle, &lock);
    tn__list_remove(&tiers->listed);
    if (!--all.count && all.runs && !all.stops)
        stop();
    tn__tiers_unlock();
}

/* ---- modules ---- */

void tn__tiers_enter(struct tn__tiered *tiered)
{
    tn__tiers_lock();
    tiered->node.key = ++all.numbers;
    tn__tree_insert(&all.modules, &tiered->node);
    tn__list_append(&tiered->tiers->modules, &tiered->listed);
    tn__tiers_unlock();
}

void tn__tiers_leave(struct tn__tiered *tiered)
{
    struct tn_session *session = tiered->library->session;
    tn__tiers_lock();
    for (size_t part = 0; part < tiered->m->description.parts; part++)
        forget(&tiered->parts[part]);
    tn__tree_remove(&all.modules, &tiered->node);
    tn__list_remove(&tiered->listed);
    tn__tiers_unlock();
    tn__session_lock(session);
    tn__library_release(tiered->library);
    tn__session_unlock(session);
    tn__jit_drop(tiered->m, false);
}
