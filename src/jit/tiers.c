/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compiling functions for higher tiers. One thread, for all JITs of the process, takes what counters tell. Where the
 * session has threads, it hands out an idle task for each function, one at a time for each JIT; otherwise it compiles
 * itself. The thread that compiles looks up the body of a tier, which a materializer promises (tiers_add.c), as any
 * other thread could: so a body belongs to the tracker of its module, goes with it, and fails once. Then the stub is
 * led there, if it still leads to a lower tier.
 *
 * No function of a session is called under the lock here, because a session's lock is released with callbacks, which
 * take this one. */

#include "base/fork.h"
#include "base/os.h"
#include "jit/assumption.h"
#include "jit/background.h"
#include "jit/tiers.h"
#include "link/demand/promise.h"
#include "link/redirect/cell.h"

static struct tn__mutex lock = TN__MUTEX(TN__LEVEL_TIERS);

/* Under the lock. */
static struct {
    struct tn__list jits, queue;
    struct tn__tree *modules;
    uint64_t numbers; /* given out */
    size_t count;     /* of JITs */
    bool is_ready, runs;
    pthread_t thread;
    pthread_cond_t idle; /* a JIT has a use less */
    uint32_t stops;      /* the thread has to end; for tn__os_wait */
} all;

static void after_fork(bool in_child)
{
    if (!in_child)
        return;
    all.runs = false;
    all.stops = 0;
    for (struct tn__list *at = all.is_ready ? all.jits.next : &all.jits; at != &all.jits; at = at->next) {
        struct tn__tiers *tiers = tn__container_of(at, struct tn__tiers, listed);
        tiers->uses = 0; /* the threads that used it are not in the child */
        tiers->left = tiers->busy ? tiers->busy : tiers->left;
        tiers->busy = NULL;
        tiers->has_task = false;
    }
    pthread_cond_init(&all.idle, NULL);
}

void tn__tiers_lock(void)
{
    static const struct tn__fork_hooks hooks = {&lock, NULL, after_fork};
    tn__forks_watch(TN__LEVEL_TIERS, &hooks);
    tn__mutex_lock(&lock);
    if (all.is_ready)
        return;
    all.is_ready = true;
    tn__list_init(&all.jits);
    tn__list_init(&all.queue);
    pthread_cond_init(&all.idle, NULL);
}

void tn__tiers_unlock(void)
{
    tn__mutex_unlock(&lock);
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

/* The hottest part of one JIT; NULL: of all that may go on now. *due: when the next one may. */
static struct tn__tiered_part *find_hottest(const struct tn__tiers *only, uint64_t now, uint64_t *due)
{
    struct tn__tiered_part *best = NULL;
    for (struct tn__list *at = all.queue.next, *next; at != &all.queue; at = next) {
        struct tn__tiered_part *part = tn__container_of(at, struct tn__tiered_part, queued);
        const struct tn__tiers *tiers = part->of->tiers;
        next = at->next;
        if (tiers->bytes >= tiers->most_bytes)
            forget(part);
        else if (only ? tiers != only : tiers->has_task || tiers->busy)
            continue;
        else if (!only && tiers->rests_until > now)
            *due = *due < tiers->rests_until ? *due : tiers->rests_until;
        else if (!best || part->heat > best->heat)
            best = part;
    }
    return best;
}

/* ---- compiling ---- */

static int raise_each(const struct tn__tiered_part *part, size_t tier, struct tn__arena *arena, size_t *raised,
                      struct tn_error *err)
{
    TN__EACH_BODY(s, part)
    {
        const struct tn__lazy_better better = {s->name, tn__tiered_name(part, s, tier, arena), (uint8_t)tier,
                                               part->of->m};
        if (!better.best)
            return tn__no_memory(err, s->name);
        bool changed;
        int code = tn__lazy_raise(part->of->library, &better, &changed, err);
        if (code == TN_ENOMEM) /* otherwise the client has redirected or removed it, which is no error */
            return code;
        *raised += changed;
    }
    return 0;
}

/* Whether the body was retired, or the module was removed. */
static bool is_gone(const struct tn__tiered *tiered, const char *body)
{
    struct tn_known known = {body, 0};
    bool has_name = tn_lookup_flags(tiered->library, &known, 1, NULL) == 0 && known.flags;
    tn__session_lock(tiered->library->session);
    bool is_left = has_name && tn__jit_is_marked(tiered->library, tiered->marker, tiered);
    tn__session_unlock(tiered->library->session);
    return !is_left;
}

/* One body is enough: they are compiled together. */
static int look_up(const struct tn__tiered_part *part, size_t tier, struct tn__arena *arena, struct tn_error *err)
{
    size_t count;
    const struct tn_module_symbol *first = tn__jit_symbols(part->of->m, tn__tiered_number(part), &count);
    struct tn_wanted wanted = {tn__tiered_name(part, first, tier, arena), TN_WANTED_HIDDEN, NULL};
    if (!wanted.name)
        return tn__no_memory(err, first->name);
    int code = tn__lookup_only(part->of->library, &wanted, 1, err);
    return code == TN_EUNDEF && is_gone(part->of, wanted.name) ? TN_EREMOVED : code;
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
    if (!code && tn__is_broken(part->of->m->rests))
        code = TN_ECANCELLED; /* only calls that have begun reach this module */
    if (!code)
        code = raise_each(part, tier, &arena, &stubs, err);
    tn__arena_free(&arena);
    *raised = !code && stubs;
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

static void compile_chosen(struct tn__tiered_part *part, size_t tier)
{
    struct tn_error err;
    struct tn__tiers *tiers = part->of->tiers;
    struct tn_session *session = part->of->library->session;
    bool raised = false, begun = tn__background_begin();
    uint64_t begin = tn__os_thread_ns();
    int code = begun ? compile(part, tier, &raised, &err) : TN_ECANCELLED;
    uint64_t ns = tn__os_thread_ns() - begin;
    if (code && !is_removal(code)) {
        tn__append(&err, ", for tier %zu", tier);
        tn__session_report(session, &err);
    }
    if (raised && tiers->retires)
        tn__tiers_retire(part, tier);
    tn__tiers_lock();
    part->failed = is_removal(code) ? 0 : code;
    part->swaps += raised;
    part->now = raised && tier > part->now ? (uint8_t)tier : part->now;
    if (part->failed)
        forget(part); /* it may have been wanted again meanwhile */
    tiers->rests_until = tn__os_now_ns() + ns * (100 - tiers->share) / tiers->share;
    tiers->busy = NULL;
    tn__tiers_unlock();
    release(part);
    if (begun)
        tn__background_end();
}

/* The hottest part at the time when there is a thread for it, with a use of its module and library. A JIT that is
 * closed, or that compiles already, which happens after a fork, has none. */
static struct tn__tiered_part *begin_task(struct tn__tiers *tiers, size_t *tier)
{
    uint64_t due;
    tn__tiers_lock();
    struct tn__tiered_part *part = tiers->is_open && !tiers->busy ? find_hottest(tiers, 0, &due) : NULL;
    if (part) {
        *tier = part->wanted;
        forget(part);
        tn__jit_hold(part->of->m, false);
        tn__library_use(part->of->library);
        tiers->busy = part;
        tiers->uses++;
    }
    tn__tiers_unlock();
    return part;
}

static void wake(void)
{
    __atomic_fetch_add(&tn__told_events, 1, __ATOMIC_SEQ_CST);
    tn__os_wake(&tn__told_events);
}

/* An idle task of a session. It has a use of the JIT. */
static void compile_hottest(void *context, int is_cancelled)
{
    struct tn__tiers *tiers = context;
    struct tn_jit *jit = tiers->jit;
    size_t tier = 0;
    struct tn__tiered_part *part = is_cancelled ? NULL : begin_task(tiers, &tier);
    if (part)
        compile_chosen(part, tier);
    tn__tiers_lock();
    tiers->has_task = false;
    tn__tiers_unlock();
    if (part)
        tn__tiers_end(tiers); /* until then the client's JIT may not go */
    wake();                   /* for the next one */
    tn__jit_release(jit);
}

/* Where no thread can be had, the task is done here. The caller has a use of the tiers and of the JIT; both end. */
static void hand_out(struct tn__tiers *tiers)
{
    struct tn_session *session = tiers->jit->session;
    if (!tn__session_has_threads(session) || tn_session_run_idle(session, compile_hottest, tiers, NULL) != 0)
        compile_hottest(tiers, 0);
    tn__tiers_end(tiers);
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

size_t tn__tiers_take(struct tn__told *samples, size_t space)
{
    struct tn__told told;
    size_t count = 0;
    tn__tiers_lock();
    while (count < space && tn__told_pop(&told))
        if (told.module)
            take_count(&told);
        else
            samples[count++] = told;
    tn__tiers_unlock();
    return count;
}

/* False: there is nothing to do until *due, or until something is told. */
static bool work_once(uint64_t now, uint64_t *due)
{
    struct tn__told samples[64];
    size_t count = tn__tiers_take(samples, TN_COUNT(samples));
    struct tn__tiers *tiers = NULL;
    *due = UINT64_MAX;
    tn__tiers_sample(samples, count);
    tn__tiers_lock();
    struct tn__tiered_part *part = find_hottest(NULL, now, due);
    if (part) {
        tiers = part->of->tiers;
        tiers->has_task = true;
        tiers->uses++; /* so that the session stays until it has the task */
        tn__jit_use(tiers->jit);
    }
    tn__tiers_unlock();
    if (tiers)
        hand_out(tiers);
    return tiers || count;
}

static void *work(void *unused)
{
    (void)unused;
    while (!__atomic_load_n(&all.stops, __ATOMIC_ACQUIRE)) {
        uint32_t events = __atomic_load_n(&tn__told_events, __ATOMIC_SEQ_CST);
        uint64_t now = tn__os_now_ns(), due;
        if (!work_once(now, &due) && !__atomic_load_n(&all.stops, __ATOMIC_ACQUIRE))
            tn__os_wait(&tn__told_events, events, due == UINT64_MAX ? due : due - now);
    }
    return NULL;
}

/* Under the lock. */
static bool start(void)
{
    if (!all.runs && all.count)
        all.runs = tn__os_start_thread(&all.thread, work, NULL);
    return all.runs || !all.count;
}

/* What a JIT was compiling when the process forked. */
static bool take_left(struct tn__tiered_part **left)
{
    *left = NULL;
    tn__tiers_lock();
    for (TN_EACH(struct tn__tiers, tiers, &all.jits, listed))
        if (tiers->left && !*left) {
            *left = tiers->left;
            tiers->left = NULL;
        }
    tn__tiers_unlock();
    return *left;
}

int tn__tiers_wake(struct tn_error *err)
{
    struct tn__tiered_part *left;
    tn__tiers_lock();
    bool runs = start();
    tn__tiers_unlock();
    while (take_left(&left)) {
        struct tn_jit *jit = left->of->tiers->jit;
        release(left);
        tn__jit_release(jit);
    }
    wake();
    return runs ? 0 : tn__fail(err, TN_ENOMEM, "no thread that compiles for higher tiers");
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
        tn__mutex_wait(&lock, &all.idle, NULL);
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
