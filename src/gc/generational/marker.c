/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Marks objects beside threads, which meanwhile store references into them. Whatever they store into old objects is in
 * the log, so that the next pause sees it; and pauses look at all stacks. So each object is looked at once, in any
 * state that it had since it was marked (E. Dijkstra et al., "On-the-fly garbage collection", CACM 1978: an incremental
 * update). Young objects are not marked: the pause that makes them old looks at them.
 *
 * What must not be done while threads run is left for a pause: calling the visitors of types, and linking weak
 * references and ephemerons, whose word for this is in use by every pause. */

#include "base/os.h"
#include "gc/generational/cycle.h"

enum { MARKED = 1 }; /* of an entry of the stack: a thread has marked its object */

/* ---- what is left for later ---- */

static struct tn__packet *add_packet(struct tn__worker *w, enum tn__found kind)
{
    struct tn__generational *g = w->g;
    if (!w->alone)
        tn__mutex_lock(&g->team.lock);
    struct tn__packet *packet = tn__gen_take_packet(&g->team);
    if (packet) {
        packet->count = 0;
        packet->next = g->cycle->found[kind];
        g->cycle->found[kind] = packet;
    }
    if (!w->alone)
        tn__mutex_unlock(&g->team.lock);
    return packet;
}

static void leave(struct tn__worker *w, enum tn__found kind, void *object)
{
    struct tn__packet *packet = w->found[kind];
    if (!packet || packet->count == TN_COUNT(packet->entries))
        packet = w->found[kind] = add_packet(w, kind);
    if (packet)
        packet->entries[packet->count++] = object;
    else
        __atomic_store_n(&w->g->marks_are_lost, true, __ATOMIC_RELAXED);
}

void tn__mark_later(struct tn__worker *w, void *object)
{
    leave(w, TN__GREY, object);
}

static void free_packets(struct tn__cycle *cycle, enum tn__found kind)
{
    struct tn__team *team = &cycle->marker.g->team;
    for (struct tn__packet *packet; (packet = cycle->found[kind]);) {
        cycle->found[kind] = packet->next;
        packet->next = team->unused;
        team->unused = packet;
    }
}

__attribute__((cold)) void tn__marker_forget(struct tn__cycle *cycle)
{
    for (enum tn__found kind = 0; kind < TN__FOUND_COUNT; kind++)
        free_packets(cycle, kind);
    cycle->rest_count = cycle->born_count = cycle->fresh.count = cycle->filled.count = 0;
    for (struct tn__log *log; (log = tn__take_noted(cycle));)
        tn__free(NULL, log);
}

/* Takes the whole list. */
static struct tn__packet *take_found(struct tn__cycle *cycle, enum tn__found kind)
{
    struct tn__packet *found = cycle->found[kind];
    cycle->found[kind] = cycle->marker.found[kind] = NULL;
    return found;
}

/* Visits objects of a list that was taken. */
static void visit_found(struct tn__cycle *cycle, struct tn__packet *packet,
                        void (*visit)(struct tn__worker *w, void *object))
{
    struct tn__worker *w = &cycle->marker;
    for (struct tn__packet *next; packet; packet = next) {
        next = packet->next;
        for (uint32_t i = 0; i < packet->count; i++)
            visit(w, packet->entries[i]);
        packet->next = w->g->team.unused;
        w->g->team.unused = packet;
    }
}

/* ---- one object ---- */

/* False: it was marked before; threads mark objects too (stores.c). A full fence for the loads of `reach` if it was
 * not. */
static inline bool set_mark(struct tn__worker *w, const void *object)
{
    uint64_t at = ((uintptr_t)object - w->g->base) / 8, bit = 1ull << at % 64;
    return !(__atomic_fetch_or(&w->g->marks[at / 64], bit, __ATOMIC_SEQ_CST) & bit);
}

static inline bool set_line(const struct tn__worker *w, uint8_t *line)
{
    if (__atomic_load_n(line, __ATOMIC_RELAXED))
        return false;
    if (!w->alone)
        return !__atomic_exchange_n(line, 1, __ATOMIC_RELAXED);
    __atomic_store_n(line, 1, __ATOMIC_RELAXED); /* threads read it (stores.c) */
    return true;
}

static inline void use_lines(struct tn__worker *w, const void *object, uint64_t size)
{
    struct tn__generational *g = w->g;
    const struct tn__view *v = &g->cycle->marker.view; /* this worker may be one that copies objects */
    uintptr_t header = (uintptr_t)object - TN_GC_HEADER_SIZE;
    uint8_t *line = tn__first_line(v, header), *last = tn__last_line(v, header, size);
    uint16_t fresh = 0, *count = &g->counts[(header - g->base) >> TN__BLOCK_SHIFT];
    if (header - g->base < TN__YOUNG_SIZE)
        return;
    for (; line <= last; line++)
        fresh += set_line(w, line);
    if (w->alone)
        *count += fresh;
    else if (fresh)
        __atomic_fetch_add(count, fresh, __ATOMIC_RELAXED);
}

static bool is_weak(const struct tn_type *type)
{
    return type->kind == TN_KIND_WEAK || type->kind == TN_KIND_EPHEMERON;
}

/* Outside of pauses the marker may be marking. So an object that is allocated there is noted, with its size, because
 * the marker may see an array whose length is not stored yet. Weak ones are marked when they are found, like others. */
void tn__mark_born(struct tn__worker *w, void *object, const struct tn_type *type, uint64_t size)
{
    struct tn__cycle *cycle = w->g->cycle;
    bool weak = is_weak(type);
    if (!cycle->heap->stops) {
        if (weak)
            return;
        if (tn__grow(NULL, &cycle->born, &cycle->born_capacity, cycle->born_count + 1, sizeof *cycle->born))
            cycle->born[cycle->born_count++] = (struct tn__born){object, size};
        else
            __atomic_store_n(&w->g->marks_are_lost, true, __ATOMIC_RELAXED);
    } else if (set_mark(w, object)) {
        use_lines(w, object, size);
        if (weak)
            leave(w, TN__WEAK, object);
    }
}

__attribute__((cold)) void tn__mark_noted(struct tn__cycle *cycle)
{
    struct tn__worker *w = &cycle->marker;
    for (size_t i = 0; i < cycle->born_count; i++) {
        set_mark(w, cycle->born[i].object);
        use_lines(w, cycle->born[i].object, cycle->born[i].size);
    }
    cycle->born_count = 0;
}

/* ---- references ---- */

static inline bool follows(const struct tn__generational *g, const void *object)
{
    return tn__is_in_space(g, object) && !tn__is_young(g, object);
}

/* The load is sequentially consistent, for AArch64: without atomic instructions, an update is a pair of exclusive
 * accesses there, which an ordinary load that comes after it may overtake (tests/models/weak). It costs nothing on
 * x86-64. */
static inline void reach(struct tn__worker *w, void **slot)
{
    void *object = __atomic_load_n(slot, __ATOMIC_SEQ_CST);
    if (follows(w->g, object))
        tn__gen_push(w, object);
}

static inline void **push_slot(struct tn__worker *w, const struct tn__view *v, void **top, void **slot)
{
    void *object = __atomic_load_n(slot, __ATOMIC_RELAXED);
    (void)v;
    *top = object;
    return top + follows(w->g, object);
}

static void forward(void *worker, void **slot)
{
    reach(worker, slot);
}

static bool is_marked(const struct tn__generational *g, const void *object)
{
    return !tn__is_in_space(g, object) || tn__has_bit(g, g->marks, object);
}

/* Without memory no more is found to be dead. */
static bool is_live(const struct tn__collecting *collection, const void *object)
{
    const struct tn__generational *g = ((const struct tn__worker *)collection)->g;
    return g->marks_are_lost || is_marked(g, object);
}

/* ---- long arrays ---- */

static bool add_rest(struct tn__worker *w, char *at, uint64_t count, const struct tn_type *type)
{
    struct tn__cycle *cycle = w->g->cycle;
    if (!tn__grow(NULL, &cycle->rests, &cycle->rest_capacity, cycle->rest_count + 1, sizeof *cycle->rests))
        return false;
    cycle->rests[cycle->rest_count++] = (struct tn__rest){at, count, type};
    return true;
}

/* False: there are none. */
static bool look_at_rest(struct tn__worker *w)
{
    struct tn__cycle *cycle = w->g->cycle;
    if (!cycle->rest_count)
        return false;
    struct tn__rest *rest = &cycle->rests[cycle->rest_count - 1], part = *rest;
    uint64_t size = part.type ? part.type->element : sizeof(void *);
    part.count = tn__min64(part.count, TN__PART_ITEMS);
    rest->at += part.count * size;
    rest->count -= part.count;
    cycle->rest_count -= !rest->count;
    for (; part.count; part.count--, part.at += size)
        if (part.type)
            tn__visit_element(part.at, part.type, forward, w);
        else
            reach(w, (void **)(void *)part.at);
    return true;
}

/* ---- ephemerons ---- */

/* The value of a live key. True: it has not been marked before. */
static bool reach_value(struct tn__worker *w, void *const *ephemeron)
{
    void *key = __atomic_load_n(&ephemeron[0], __ATOMIC_SEQ_CST);
    void *value = __atomic_load_n(&ephemeron[1], __ATOMIC_SEQ_CST);
    if (!key || tn__is_young(w->g, key) || !is_marked(w->g, key) || tn__is_young(w->g, value) || is_marked(w->g, value))
        return false;
    tn__gen_push(w, value);
    return true;
}

/* Looks for ephemerons whose keys have been marked since they were found. False: there were none; but the pause that
 * ends the cycle looks again. */
static bool look_for_values(struct tn__worker *w)
{
    enum { PART = 512 };
    struct tn__cycle *cycle = w->g->cycle;
    if (!cycle->looking) {
        bool ends = cycle->is_looking && !cycle->has_found;
        cycle->is_looking = !ends;
        cycle->has_found = false;
        cycle->looking = ends ? NULL : cycle->found[TN__WEAK];
        cycle->looking_at = 0;
        if (!cycle->looking)
            return cycle->is_looking = false;
    }
    for (uint32_t i = 0; i < PART && cycle->looking; i++) {
        const struct tn__packet *packet = cycle->looking;
        if (cycle->looking_at == packet->count) {
            cycle->looking = packet->next;
            cycle->looking_at = 0;
            continue;
        }
        void *object = packet->entries[cycle->looking_at++];
        if (tn__type_of(object)->kind == TN_KIND_EPHEMERON)
            cycle->has_found |= reach_value(w, object);
    }
    return true;
}

/* ---- objects ---- */

static void scan_structs(struct tn__worker *w, void *object, const struct tn_type *type)
{
    uint64_t count = tn__get64((char *)object + type->length);
    if (count <= TN__PART_ITEMS || !add_rest(w, (char *)object + type->size, count, type))
        tn__visit_references(object, forward, w);
}

static void scan_references(struct tn__worker *w, void *object, const struct tn_type *type)
{
    uint64_t count = tn__get64((char *)object + type->length);
    void **items = (void **)(void *)((char *)object + type->size);
    if (count <= TN__PART_ITEMS || !add_rest(w, (char *)items, count, NULL))
        tn__push_items(w, items, count, push_slot, tn__gen_share);
}

static void scan_others(struct tn__worker *w, void *object)
{
    const struct tn_type *type = tn__type_of(object);
    if (type->kind == TN_KIND_REFERENCES) {
        scan_references(w, object, type);
    } else if (type->kind == TN_KIND_STRUCTS) {
        scan_structs(w, object, type);
    } else if (is_weak(type)) {
        leave(w, TN__WEAK, object);
        if (type->kind == TN_KIND_EPHEMERON)
            reach_value(w, object);
    } else if (type->kind == TN_KIND_CUSTOM) {
        leave(w, TN__CUSTOM, object);
    } else {
        tn__visit_references(object, forward, w);
    }
}

static inline void **scan(struct tn__worker *w, const struct tn__view *v, void **top, void *object)
{
    const struct tn_type *type = tn__type_in(tn__header_now(object));
    if (tn__is_fixed(type))
        return tn__push_fixed(w, v, top, object, type, push_slot, tn__gen_share);
    if (type->kind == TN_KIND_LEAF)
        return top;
    tn__keep_top(w, top);
    scan_others(w, object);
    return tn__top(w);
}

/* A thread that stores to an object looks at its lines after that: so these are in use before its words are read, and
 * there is a full fence between (stores.c). */
static inline void **look_at(struct tn__worker *w, const struct tn__view *v, void **top, void *entry)
{
    bool was_marked = (uintptr_t)entry & MARKED;
    void *object = (char *)entry - was_marked;
    if (!was_marked && is_marked(w->g, object))
        return top;
    use_lines(w, object, tn__size_by(object, tn__header_now(object)));
    if (was_marked)
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    else if (!set_mark(w, object))
        return top;
    tn__reached(&w->all, object);
    return scan(w, v, top, object);
}

/* ---- what threads have left ---- */

/* All objects that begin in a line. */
static void scan_line(struct tn__worker *w, char *line)
{
    for (unsigned rest = tn__bits(w->g, w->g->starts, line); rest; rest &= rest - 1)
        tn__keep_top(w, scan(w, &w->view, tn__top(w), line + 8 * __builtin_ctz(rest)));
}

/* A part of a span. False: there are none. */
static bool look_at_span(struct tn__worker *w)
{
    enum { PART = 32 }; /* lines */
    struct tn__cycle *cycle = w->g->cycle;
    if (!cycle->filled.count)
        return false;
    struct tn__generational *g = w->g;
    struct tn__filled *span = &cycle->filled.items[cycle->filled.count - 1];
    char *line = span->start, *end = span->start + PART * TN__LINE;
    for (; line < span->end && line < end; line += TN__LINE) {
        uint64_t at = (uintptr_t)line - g->base;
        tn__set_bits(g, g->marks, line, tn__bits(g, g->starts, line));
        __atomic_store_n(&g->spare_lines[at >> TN__LINE_SHIFT], 1, __ATOMIC_RELAXED);
        g->counts[at >> TN__BLOCK_SHIFT]++;
    }
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    for (; span->start < line; span->start += TN__LINE)
        scan_line(w, span->start);
    if (line < span->end)
        return true;
    for (; line < span->hole_end; line += TN__LINE)
        tn__set_bits(g, g->marks, line, 0);
    cycle->filled.count--;
    return true;
}

/* Objects that threads have marked. False: there are none. */
static bool take_noted(struct tn__worker *w)
{
    struct tn__log *log = tn__take_noted(w->g->cycle);
    if (!log)
        return false;
    for (uint32_t i = 0; i < log->count; i++)
        tn__gen_push(w, (void *)(log->entries[i] | MARKED));
    tn__free(NULL, log);
    return true;
}

/* ---- all of them ---- */

static bool stops(struct tn__worker *w)
{
    const struct tn__cycle *cycle = w->g->cycle;
    return cycle->deadline ? tn__os_now_ns() >= cycle->deadline
                           : __atomic_load_n(&cycle->heap->beside_stops, __ATOMIC_RELAXED);
}

/* False: it was stopped. */
static bool mark_strong(struct tn__worker *w)
{
    do
        if (!tn__empty_stack(w, look_at, stops) || stops(w))
            return false;
    while (tn__gen_get_packet(w) || look_at_rest(w) || look_at_span(w) || take_noted(w));
    return true;
}

bool tn__mark_beside(struct tn__cycle *cycle)
{
    do
        if (!mark_strong(&cycle->marker))
            return false;
    while (look_for_values(&cycle->marker));
    return true;
}

/* Some at a time, as the functions of types may take long. No more of them are found meanwhile. */
__attribute__((cold)) bool tn__visit_some(struct tn__cycle *cycle)
{
    enum { PART = 16 };
    struct tn__worker *w = &cycle->marker;
    w->found[TN__CUSTOM] = NULL;
    for (struct tn__packet *packet; (packet = cycle->found[TN__CUSTOM]);) {
        for (int i = 0; i < PART && packet->count; i++)
            tn__visit_references(packet->entries[--packet->count], forward, w);
        if (!packet->count) {
            cycle->found[TN__CUSTOM] = packet->next;
            packet->next = w->g->team.unused;
            w->g->team.unused = packet;
        }
        if (stops(w))
            return false;
    }
    return true;
}

bool tn__mark_in_pause(struct tn__cycle *cycle)
{
    do
        if (!tn__visit_some(cycle) || !mark_strong(&cycle->marker))
            return false;
    while (cycle->found[TN__CUSTOM]);
    return true;
}

/* ---- the end ---- */

static void link_weak(struct tn__worker *w, void *object)
{
    tn__scan(&w->all, object);
}

static __attribute__((cold)) void drain(struct tn__collecting *collection)
{
    struct tn__cycle *cycle = ((struct tn__worker *)collection)->g->cycle;
    tn__mark_in_pause(cycle);
    visit_found(cycle, take_found(cycle, TN__WEAK), link_weak);
}

void tn__marker_settle(struct tn__cycle *cycle)
{
    static const struct tn__tracing tracing = {.forward = forward, .is_live = is_live, .drain = drain};
    struct tn__collecting *all = &cycle->marker.all;
    *all = (struct tn__collecting){.tracing = &tracing, .heap = cycle->heap};
    cycle->deadline = UINT64_MAX;
    drain(all);
    tn__settle_dead(all);
}

__attribute__((cold)) void tn__marker_reset(struct tn__cycle *cycle)
{
    struct tn__worker *w = &cycle->marker;
    tn__set_view(w, w->g->spare_starts, w->g->spare_starts, w->g->spare_lines);
    w->alone = true;
    w->shared = &cycle->found[TN__GREY];
    w->count = w->next_ahead = 0;
    w->marked = 0;
    memset(w->ahead, 0, sizeof w->ahead);
    memset(w->found, 0, sizeof w->found);
    tn__marker_forget(cycle);
    cycle->looking = NULL;
    cycle->is_looking = cycle->is_dry = false;
}
