/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The threads that collect, and how they share work. Each has a stack; when it is full, or others have nothing to do,
 * the older half of it becomes a packet that anybody may take: near the bottom are the entries from which most is
 * reached. A worker that finds nothing waits on a futex; if all do, the phase has ended. */

#include "base/os.h"
#include "gc/generational/generational.h"

enum { LOOKS = 200 };

/* ---- packets ---- */

static bool commit_packets(struct tn__team *team)
{
    if (team->packets_used + sizeof(struct tn__packet) <= team->packets_committed)
        return true;
    if (team->packets_committed == team->packets_size ||
        tn__os_commit(team->packets + team->packets_committed, TN__UNIT, TN__PROT_RW))
        return false;
    team->packets_committed += TN__UNIT;
    return true;
}

struct tn__packet *tn__gen_take_packet(struct tn__team *team)
{
    struct tn__packet *packet = team->unused;
    if (packet) {
        team->unused = packet->next;
        return packet;
    }
    if (!commit_packets(team))
        return NULL;
    packet = (struct tn__packet *)(uintptr_t)(team->packets + team->packets_used);
    team->packets_used += sizeof *packet;
    return packet;
}

/* They may take as much as the heap, if every word is a reference to another object. */
static bool reserve_packets(struct tn__team *team, uint64_t size)
{
    for (; size >= TN__UNIT; size = size / 2 & -(uint64_t)TN__UNIT)
        if (!tn__os_reserve(0, size, false, &team->packets)) {
            team->packets_size = size;
            return true;
        }
    return false;
}

static void lock(struct tn__worker *w)
{
    if (!w->alone)
        tn__mutex_lock(&w->g->team.lock);
}

static void unlock(struct tn__worker *w)
{
    if (!w->alone)
        tn__mutex_unlock(&w->g->team.lock);
}

static void announce(struct tn__team *team)
{
    __atomic_fetch_add(&team->event, 1, __ATOMIC_RELEASE);
    tn__os_wake(&team->event);
}

void tn__gen_share(struct tn__worker *w)
{
    struct tn__team *team = &w->g->team;
    uint32_t half = (uint32_t)tn__min64(w->count, TN__ENTRIES) / 2;
    lock(w);
    struct tn__packet *packet = tn__gen_take_packet(team);
    if (packet) {
        memcpy(packet->entries, w->entries, half * sizeof *w->entries);
        packet->count = half;
        packet->next = *w->shared;
        *w->shared = packet;
    } else if (w->count >= TN__ENTRIES) {
        team->is_full = true; /* and these entries are lost */
    } else {
        half = 0;
    }
    bool has_idle = team->idle;
    unlock(w);
    w->count -= half;
    memmove(w->entries, w->entries + half, w->count * sizeof *w->entries);
    if (has_idle)
        announce(team);
}

bool tn__gen_share_part(struct tn__worker *w, void **items, uint64_t count)
{
    struct tn__team *team = &w->g->team;
    lock(w);
    bool has_space = team->part_count < TN_COUNT(team->parts);
    if (has_space)
        team->parts[team->part_count++] = (struct tn__part){items, count};
    bool has_idle = team->idle;
    unlock(w);
    if (has_space && has_idle)
        announce(team);
    return has_space;
}

void tn__gen_scan_any(struct tn__worker *w, void *object)
{
    bool in_turns = !w->alone && tn__type_of(object)->kind == TN_KIND_CUSTOM;
    if (in_turns)
        tn__mutex_lock(&w->g->team.visit_lock);
    tn__scan(&w->all, object);
    if (in_turns)
        tn__mutex_unlock(&w->g->team.visit_lock);
}

/* ---- looking for work ---- */

bool tn__gen_get_packet(struct tn__worker *w)
{
    struct tn__team *team = &w->g->team;
    struct tn__packet *packet = *w->shared;
    if (!packet)
        return false;
    *w->shared = packet->next;
    memcpy(w->entries, packet->entries, packet->count * sizeof *w->entries);
    w->count = packet->count;
    packet->next = team->unused;
    team->unused = packet;
    return true;
}

static bool take_part(struct tn__worker *w)
{
    enum { PART = 512 };
    struct tn__team *team = &w->g->team;
    if (!team->part_count)
        return false;
    struct tn__part *part = &team->parts[team->part_count - 1];
    w->part = (struct tn__part){part->items, tn__min64(part->count, PART)};
    part->items += w->part.count;
    part->count -= w->part.count;
    team->part_count -= !part->count;
    return true;
}

static bool take_any(struct tn__worker *w)
{
    struct tn__team *team = &w->g->team;
    return tn__gen_get_packet(w) || take_part(w) || (team->take && team->take(w));
}

/* Until something has happened since `event`. */
static void await(struct tn__team *team, uint32_t event)
{
    for (int i = 0; i < LOOKS; i++) {
        if (__atomic_load_n(&team->event, __ATOMIC_ACQUIRE) != event)
            return;
        tn__os_relax();
    }
    while (__atomic_load_n(&team->event, __ATOMIC_ACQUIRE) == event)
        tn__os_wait(&team->event, event, UINT64_MAX);
}

bool tn__gen_more(struct tn__worker *w)
{
    struct tn__team *team = &w->g->team;
    if (w->alone)
        return take_any(w);
    tn__mutex_lock(&team->lock);
    bool found = take_any(w);
    while (!found && !team->has_finished) {
        if (team->idle + 1 == team->size) {
            team->has_finished = true;
            announce(team);
            break;
        }
        uint32_t event = __atomic_load_n(&team->event, __ATOMIC_RELAXED);
        __atomic_store_n(&team->idle, team->idle + 1, __ATOMIC_RELAXED);
        tn__mutex_unlock(&team->lock);
        uint64_t start = tn__os_now_ns();
        await(team, event);
        w->waited += tn__os_now_ns() - start;
        tn__mutex_lock(&team->lock);
        __atomic_store_n(&team->idle, team->idle - 1, __ATOMIC_RELAXED);
        found = !team->has_finished && take_any(w);
    }
    tn__mutex_unlock(&team->lock);
    return found;
}

/* ---- threads ---- */

static void finish_phase(struct tn__team *team)
{
    if (__atomic_sub_fetch(&team->unfinished, 1, __ATOMIC_ACQ_REL) == 0)
        tn__os_wake(&team->unfinished);
}

static void run_timed(struct tn__worker *w)
{
    w->began = tn__os_now_ns();
    w->g->team.work(w);
    w->ended = tn__os_now_ns();
}

static void *run_worker(void *worker)
{
    struct tn__worker *w = worker;
    struct tn__team *team = &w->g->team;
    w->id = tn__os_thread_id();
    for (uint32_t seen = w->phase, phase;;) {
        while ((phase = __atomic_load_n(&team->phase, __ATOMIC_ACQUIRE)) == seen)
            tn__os_wait(&team->phase, seen, UINT64_MAX);
        seen = phase;
        if (team->ends)
            return NULL;
        if (!w->alone)
            run_timed(w);
        finish_phase(team);
    }
}

static bool start_worker(struct tn__generational *g)
{
    struct tn__team *team = &g->team;
    struct tn__worker *w = tn__alloc_zeroed(NULL, 1, sizeof *w);
    if (!w)
        return false;
    w->g = g;
    w->shared = &team->shared;
    w->phase = team->phase;
    bool runs = tn__os_start_thread(&w->thread, run_worker, w);
    if (runs)
        team->workers[++team->started] = w;
    else
        tn__free(NULL, w);
    return runs;
}

/* In the child of a fork, the team has no threads. */
static void forget_after_fork(struct tn__team *team, const struct tn_heap *heap)
{
    if (team->forks == heap->forks)
        return;
    team->forks = heap->forks;
    while (team->started)
        tn__free(NULL, team->workers[team->started--]);
    team->process = tn__os_process_id();
}

/* The child of a vfork shares memory with its parent, whose threads they are: it works alone. */
static uint32_t start_workers(struct tn__generational *g, uint32_t size)
{
    struct tn__team *team = &g->team;
    if (size == 1)
        return 1;
    forget_after_fork(team, g->first.all.heap);
    if (team->process != tn__os_process_id())
        return 1;
    while (team->started + 1 < size && start_worker(g))
        ;
    return tn__min64(size, team->started + 1);
}

static void prepare(struct tn__worker *w, const struct tn__worker *first, bool alone)
{
    w->alone = alone;
    w->waited = 0;
    if (w == first)
        return;
    w->all = (struct tn__collecting){.tracing = first->all.tracing, .heap = first->all.heap};
    w->promoted = w->marked = 0;
}

/* The objects of a list that is linked by this word. */
static void append(void **list, void *more, size_t word)
{
    while (*list)
        list = (void **)*list + word;
    *list = more;
}

static void gather(struct tn__worker *first, struct tn__worker *w)
{
    enum { WEAK_NEXT = 1, EPHEMERON_NEXT = 2 };
    first->promoted += w->promoted;
    first->marked += w->marked;
    first->all.pinned += w->all.pinned;
    append(&w->all.weak, first->all.weak, WEAK_NEXT);
    append(&w->all.ephemerons, first->all.ephemerons, EPHEMERON_NEXT);
    first->all.weak = w->all.weak;
    first->all.ephemerons = w->all.ephemerons;
}

/* Of the phase that has just ended. */
static void note_work(const struct tn__generational *g, enum tn_collection_phase phase)
{
    for (uint32_t i = 0; i < g->team.size; i++) {
        const struct tn__worker *w = g->team.workers[i];
        const struct tn_collection_work work = {.thread = w->id,
                                                .is_own = i > 0,
                                                .phase = phase,
                                                .begin_ns = w->began,
                                                .end_ns = w->ended,
                                                .waited_ns = w->waited,
                                                .amount = phase == TN_COLLECTION_TRACE ? w->marked : w->promoted};
        tn__note_work(g->first.all.heap, &work);
    }
}

/* Runs the team in several threads, of which the caller is one. */
static void run_team(struct tn__generational *g)
{
    struct tn__team *team = &g->team;
    for (uint32_t i = 0; i <= team->started; i++)
        prepare(team->workers[i], &g->first, i >= team->size);
    __atomic_store_n(&team->unfinished, team->started, __ATOMIC_RELAXED);
    __atomic_fetch_add(&team->phase, 1, __ATOMIC_RELEASE);
    tn__os_wake(&team->phase);
    g->first.id = tn__os_thread_id();
    run_timed(&g->first);
    for (uint32_t left; (left = __atomic_load_n(&team->unfinished, __ATOMIC_ACQUIRE));)
        tn__os_wait(&team->unfinished, left, UINT64_MAX);
}

/* What a worker leaves at the end of a phase. */
static bool has_finished(const struct tn__worker *w)
{
    bool any = w->count || w->part.count || w->log;
    for (int i = 0; i < TN__AHEAD; i++)
        any |= w->ahead[i] != NULL;
    return !any;
}

void tn__gen_run(struct tn__generational *g, uint32_t size, enum tn_collection_phase phase,
                 void (*work)(struct tn__worker *worker), bool (*take)(struct tn__worker *worker))
{
    struct tn__team *team = &g->team;
    struct tn_collection *current = g->first.all.heap->current;
    team->size = start_workers(g, size);
    team->work = work;
    team->take = take;
    team->has_finished = false;
    current->workers = tn__max64(current->workers, team->size);
    if (team->size == 1) {
        work(&g->first);
        TN__CHECK(has_finished(&g->first) && !team->shared);
        return;
    }
    run_team(g);
    TN__CHECK(!team->shared && !team->part_count);
    note_work(g, phase);
    for (uint32_t i = 1; i < team->size; i++) {
        TN__CHECK(has_finished(team->workers[i]) && has_finished(&g->first));
        gather(&g->first, team->workers[i]);
    }
    g->first.alone = true;
}

bool tn__gen_open_team(struct tn__generational *g)
{
    struct tn__team *team = &g->team;
    if (!reserve_packets(team, tn__align_up(g->size, TN__UNIT)))
        return false;
    tn__mutex_init(&team->lock, TN__LEVEL_TEAM);
    tn__mutex_init(&team->visit_lock, TN__LEVEL_VISITORS);
    team->process = tn__os_process_id();
    team->workers[0] = &g->first;
    g->first.g = g;
    g->first.shared = &team->shared;
    g->first.alone = true;
    return true;
}

void tn__gen_close_team(struct tn__generational *g, const struct tn_heap *heap)
{
    struct tn__team *team = &g->team;
    forget_after_fork(team, heap);
    team->ends = true;
    __atomic_fetch_add(&team->phase, 1, __ATOMIC_RELEASE);
    tn__os_wake(&team->phase);
    for (; team->started; team->started--) {
        pthread_join(team->workers[team->started]->thread, NULL);
        tn__free(NULL, team->workers[team->started]);
    }
    tn__mutex_destroy(&team->lock);
    tn__mutex_destroy(&team->visit_lock);
    tn__os_release(team->packets, team->packets_size);
}
