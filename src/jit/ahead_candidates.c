/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What is compiled ahead, and in which order: what the client names; then what the last run called, in its order; then
 * what functions refer to that were called, the newest call first; then what such guesses refer to. */

#include "jit/ahead.h"
#include "link/model/object.h"

/* The limits: how many candidates wait; how deep guesses upon guesses go; which share of all processor time may be that
 * of guesses that were compiled and not yet called, and how much of it at the beginning. */
enum { WAITING_MOST = 4096, DEPTH_MOST = 3, UNUSED_PERCENT = 25, UNUSED_FREE_NS = 5000000 };

enum { RANK_NAMED = 1, RANK_ORDER, RANK_CALLED };

/* The kind of a candidate in 8 bits, and what orders candidates of one kind in 56. */
static uint64_t rank_of(uint64_t kind, uint64_t place)
{
    return kind << 56 | (place & UINT64_C(0xffffffffffffff));
}

/* ---- waiting candidates ---- */

static bool is_done(const struct tn__ahead_module *m, uint32_t part)
{
    return m->parts[part].has_failed || m->is_broken || atomic_load(&m->parts[part].ready) || atomic_load(&m->gone);
}

static void add(struct tn__ahead *ahead, const struct tn__ahead_candidate *candidate)
{
    struct tn__ahead_part *part = &candidate->module->parts[candidate->part];
    if (is_done(candidate->module, candidate->part) || ahead->waiting_count >= WAITING_MOST ||
        (!candidate->handle && part->rank && part->rank <= candidate->rank) ||
        !tn__grow(NULL, &ahead->waiting, &ahead->waiting_space, ahead->waiting_count + 1, sizeof *ahead->waiting))
        return;
    part->rank = candidate->handle ? part->rank : candidate->rank;
    size_t at = ahead->waiting_count++;
    for (; at && ahead->waiting[at - 1].rank > candidate->rank; at--)
        ahead->waiting[at] = ahead->waiting[at - 1];
    ahead->waiting[at] = *candidate;
    if (candidate->handle)
        atomic_fetch_add(&candidate->handle->users, 1);
}

void tn__ahead_forget(struct tn__ahead *ahead, const struct tn__ahead_module *module)
{
    size_t kept = 0;
    for (size_t i = 0; i < ahead->waiting_count; i++) {
        const struct tn__ahead_candidate *c = &ahead->waiting[i];
        if (module && c->module != module && !is_done(c->module, c->part))
            ahead->waiting[kept++] = *c;
        else
            tn__ahead_release(c->handle);
    }
    ahead->waiting_count = kept;
}

/* ---- names ---- */

/* Finds the part that defines a name: in the module itself, or in another one, the newest first. */
static bool find_in(const struct tn__ahead_module *m, uint64_t hash, bool hidden, uint32_t *part)
{
    size_t first = 0, end = m->description.count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (m->names[middle].hash < hash)
            first = middle + 1;
        else
            end = middle;
    }
    if (first == m->description.count || m->names[first].hash != hash || (m->names[first].is_hidden && !hidden))
        return false;
    *part = m->names[first].part;
    return true;
}

static struct tn__ahead_module *find(struct tn__ahead *ahead, struct tn__ahead_module *own, uint64_t hash,
                                     uint32_t *part)
{
    if (own && find_in(own, hash, true, part))
        return own;
    for (struct tn__ahead_module *m = ahead->modules; m; m = m->next)
        if (m != own && !atomic_load(&m->gone) && find_in(m, hash, false, part))
            return m;
    return NULL;
}

void tn__ahead_prefetch(struct tn__ahead *ahead, const struct tn_buffer *names, struct tn_prefetch *handle)
{
    const char *name = names->data, *last = name + names->size;
    for (; name < last; name += strlen(name) + 1) {
        struct tn__ahead_candidate c = {.rank = rank_of(RANK_NAMED, ++ahead->event_number), .handle = handle};
        c.module = find(ahead, NULL, tn__jit_hash(0, name), &c.part);
        if (c.module)
            add(ahead, &c);
    }
}

/* ---- what objects refer to ---- */

void tn__ahead_look(struct tn__ahead_module *m, uint32_t number, const void *bytes, size_t length)
{
    struct tn__ahead_part *part = &m->parts[number];
    struct tn__object_data object = {.name = "ahead", .bytes = bytes, .size = length};
    if (part->was_seen || !length)
        return;
    part->was_seen = true;
    if (tn__object_read(&object, tn__formats_host, NULL) == 0) {
        part->callees = tn__alloc(NULL, (object.symbol_count + 1) * sizeof *part->callees);
        for (uint32_t i = 0; i < object.symbol_count && part->callees; i++) {
            const struct tn__symbol *symbol = &object.symbols[i];
            if (symbol->place == TN__PLACE_UNDEFINED && symbol->binding != TN__BIND_LOCAL)
                part->callees[part->callee_count++] = tn__jit_hash(0, symbol->name);
        }
    }
    tn__arena_free(&object.arena);
}

void tn__ahead_guess(struct tn__ahead *ahead, struct tn__ahead_module *m, uint32_t number, unsigned generation)
{
    const struct tn__ahead_part *part = &m->parts[number];
    const uint64_t newest = UINT64_C(0xffffffff) - ++ahead->event_number;
    if (!ahead->options.callees || generation > DEPTH_MOST)
        return;
    for (uint32_t i = 0; i < part->callee_count; i++) {
        struct tn__ahead_candidate c = {.rank = rank_of(RANK_CALLED + generation - 1, newest << 24 | i),
                                        .generation = generation};
        c.module = find(ahead, m, part->callees[i], &c.part);
        if (c.module)
            add(ahead, &c);
    }
}

/* ---- what happened ---- */

void tn__ahead_called(struct tn__ahead *ahead, struct tn__ahead_module *m, uint32_t part, const struct tn_buffer *bytes)
{
    if (!m->parts[part].is_listed) {
        m->parts[part].is_listed = true;
        m->order[m->called++] = part;
    }
    if (m->parts[part].place > m->placed)
        m->placed = m->parts[part].place;
    tn__ahead_look(m, part, bytes->data, bytes->size);
    tn__ahead_guess(ahead, m, part, 1);
}

void tn__ahead_follow(struct tn__ahead *ahead, struct tn__ahead_module *m)
{
    for (uint32_t part = 0; part < m->description.parts; part++)
        if (m->parts[part].place)
            add(ahead, &(struct tn__ahead_candidate){
                           .rank = rank_of(RANK_ORDER, m->parts[part].place), .module = m, .part = part});
}

/* ---- the next one ---- */

static bool may_guess(const struct tn__ahead *ahead)
{
    return atomic_load(&ahead->waiting_ns) <= UNUSED_FREE_NS + ahead->counters.spent_ns * UNUSED_PERCENT / 100;
}

static bool is_full(struct tn__ahead *ahead)
{
    const struct tn_ahead_options *options = &ahead->options;
    return atomic_load(&ahead->waiting_parts) >= options->parts ||
           atomic_load(&ahead->waiting_bytes) >= options->bytes ||
           (options->ns && ahead->counters.spent_ns >= options->ns);
}

/* True if calls have passed its place in the last order: then it may not be needed this time. */
static bool is_passed(const struct tn__ahead_candidate *c)
{
    return c->rank >> 56 == RANK_ORDER && c->module->parts[c->part].place <= c->module->placed;
}

/* Callers are about to compile the first candidates themselves. When a caller has overtaken the thread, more candidates
 * are left to callers. */
bool tn__ahead_next(struct tn__ahead *ahead, struct tn__ahead_candidate *next)
{
    size_t kept = 0, chosen = SIZE_MAX, late = SIZE_MAX;
    unsigned passed = 0;
    bool guesses = may_guess(ahead);
    if (is_full(ahead))
        return false;
    for (size_t i = 0; i < ahead->waiting_count; i++) {
        const struct tn__ahead_candidate *c = &ahead->waiting[i];
        if (is_done(c->module, c->part) || (c->handle && atomic_load(&c->handle->cancelled))) {
            tn__ahead_release(c->handle);
            continue;
        }
        ahead->waiting[kept] = *c;
        if (is_passed(c))
            late = late == SIZE_MAX ? kept : late;
        else if (passed <= ahead->gap / TN__AHEAD_GAP_UNIT && (guesses || !c->generation)) {
            chosen = kept;
            passed++;
        }
        kept++;
    }
    ahead->waiting_count = kept;
    chosen = chosen == SIZE_MAX ? late : chosen;
    if (chosen == SIZE_MAX)
        return false;
    *next = ahead->waiting[chosen];
    ahead->waiting_count--;
    memmove(&ahead->waiting[chosen], &ahead->waiting[chosen + 1],
            (ahead->waiting_count - chosen) * sizeof *ahead->waiting);
    return true;
}
