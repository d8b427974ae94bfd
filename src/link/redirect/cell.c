/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What leads a function: claims on its cell, the highest of which is written to the word that its stub jumps through
 * (doc/REDIRECT.md). Words are written under the session's lock only, and never so that stubs form a cycle. */

#include "base/onward.h"
#include "link/redirect/cell.h"
#include "link/session/contents.h"

static struct tn_session *session_of(const struct tn__cell *cell)
{
    return cell->facts->batch->library->session;
}

/* True if a call of `address` would reach this cell, possibly through other stubs of the session, and entries of
 * images. Stubs form no cycle so far. */
static bool leads_to(const struct tn__lazy_pool *pool, uint64_t address, const struct tn__cell *cell) TN__LOCKED
{
    struct tn__onward_walk walk = {0};
    while (address && !tn__onward_again(&walk, address)) {
        const struct tn__cell *next = tn__cell_at(pool, address);
        const struct tn__onward *entries = next ? NULL : tn__onward_by(&tn__onward_entries);
        if (next == cell)
            return true;
        address = next ? tn__cell_word(next) : entries ? entries->from(address) : 0;
    }
    return false;
}

static bool has_function(const struct tn__cell *cell) TN__LOCKED
{
    return tn__cell_word(cell) != (uintptr_t)tn__lazy_machine.removed;
}

/* The cell of the function whose stub has this address; NULL: there is none. */
static struct tn__cell *find_function(const struct tn__lazy_pool *pool, uint64_t address) TN__LOCKED
{
    struct tn__cell *cell = tn__cell_at(pool, address);
    return cell && has_function(cell) ? cell : NULL;
}

/* ---- removals that are under way ---- */

static bool holds(const struct tn__places *places, uint64_t address)
{
    size_t below = TN_COUNT_UP_TO(places->items, places->count, address, address);
    return below && address - places->items[below - 1].address < places->items[below - 1].size;
}

/* Whether a stub with this target leads to code at one of the places, or to a stub that goes as well. */
static bool leads_there(const struct tn__lazy_pool *pool, uint64_t target, const struct tn__places *places) TN__LOCKED
{
    const struct tn__cell *next = tn__cell_at(pool, target);
    return next ? has_function(next) && next->facts->batch->hidden : holds(places, target);
}

void tn__cell_note_target(const struct tn_session *session, uint64_t target)
{
    for (TN_EACH(struct tn__retirement, r, &session->retirements, of_session))
        r->is_led_to |= leads_there(tn__lazy_pool_of(session), target, &r->places);
}

/* ---- what leads ---- */

/* Every address that is stored in a word goes through here, and is noted if it is on its way out: whoever calls the
 * stub from now on may not be waited for yet. */
static void lead(struct tn__cell *cell, uint64_t address, enum tn__claim_kind kind) TN__LOCKED
{
    tn__cell_note_target(session_of(cell), address);
    atomic_store_explicit(&cell->word, address, memory_order_release);
    cell->facts->led_by = (uint8_t)kind;
}

/* The highest stored claim of this state that does not lead back here. */
static struct tn__claim *find_claim(const struct tn__cell *cell, int state) TN__LOCKED
{
    const struct tn__lazy_pool *pool = tn__lazy_pool_of(session_of(cell));
    struct tn__claim *claim = cell->facts->top;
    while (claim && ((int)claim->state != state || leads_to(pool, claim->address, cell)))
        claim = claim->below;
    return claim;
}

/* Where nothing else is left, calls try again what has failed. NULL: the function is looked up. */
static const struct tn__claim *find_leader(const struct tn__cell *cell) TN__LOCKED
{
    const struct tn__claim *claim = find_claim(cell, TN__CLAIM_HOLDS);
    return claim || cell->facts->looks_up ? claim : find_claim(cell, TN__CLAIM_HAS_FAILED);
}

/* Ends the client's claim, if there is one. */
static void settle(struct tn__cell *cell) TN__LOCKED
{
    const struct tn__claim *leader = find_leader(cell);
    if (leader)
        lead(cell, leader->address, leader->kind);
    else
        lead(cell, tn__lazy_pool_of(session_of(cell))->entry, TN__CLAIM_FIRST);
}

static bool is_led_by(const struct tn__cell *cell, const struct tn__claim *claim) TN__LOCKED
{
    return cell->facts->led_by == claim->kind && tn__cell_word(cell) == claim->address;
}

int tn__cell_check(const struct tn__cell *cell, uint64_t address, struct tn_error *err)
{
    return leads_to(tn__lazy_pool_of(session_of(cell)), address, cell)
               ? tn__fail(err, TN_EINVAL, "'%s' would lead to itself", cell->facts->entry->name)
               : 0;
}

int tn__cell_lead(struct tn__cell *cell, uint64_t address, enum tn__claim_kind kind, struct tn_error *err)
{
    int code = tn__cell_check(cell, address, err);
    if (!code)
        lead(cell, address, kind);
    return code;
}

/* ---- claims ---- */

struct tn__claims *tn__claims_new(void)
{
    struct tn__claims *claims = tn__alloc_zeroed(NULL, 1, sizeof *claims);
    if (!claims)
        return NULL;
    tn__list_init(&claims->listed);
    claims->users = 1;
    return claims;
}

struct tn__claim *tn__claim_new(const struct tn_session *session, enum tn__claim_kind kind, uint64_t address,
                                struct tn__claims *of)
{
    struct tn__claim *claim = tn__alloc(session->allocator, sizeof *claim);
    if (!claim)
        return NULL;
    *claim = (struct tn__claim){.kind = kind, .address = address, .of = of};
    tn__list_init(&claim->listed);
    if (of)
        atomic_fetch_add(&of->users, 1);
    return claim;
}

void tn__claim_free(const struct tn_session *session, struct tn__claim *claim)
{
    if (claim)
        tn__claims_release(claim->of);
    tn__free(session->allocator, claim);
}

/* ---- the ends of claims ---- */

static void take_out(const struct tn_session *session, struct tn__cell_facts *facts, struct tn__claim *claim)
{
    struct tn__claim **at = &facts->top;
    while (*at != claim)
        at = &(*at)->below;
    *at = claim->below;
    if (claim->to) {
        for (at = &claim->to->arrives; *at != claim; at = &(*at)->arrives_too)
            ;
        *at = claim->arrives_too;
    }
    tn__list_remove(&claim->listed);
    tn__claim_free(session, claim);
}

/* The cell may lead there still. */
static void end_claim(struct tn__claim *claim)
{
    if (!claim->to) {
        take_out(session_of(claim->cell), claim->cell->facts, claim);
        return;
    }
    claim->state = TN__CLAIM_HAS_ENDED;
    tn__list_remove(&claim->listed);
    tn__claims_release(claim->of);
    claim->of = NULL;
}

static void end_kinds(struct tn__cell *cell, enum tn__claim_kind first, enum tn__claim_kind last)
{
    for (struct tn__claim *claim = cell->facts->top, *below; claim; claim = below) {
        below = claim->below;
        if (claim->kind >= first && claim->kind <= last)
            end_claim(claim);
    }
}

void tn__cells_forget(struct tn__lazy_batch *batch)
{
    const struct tn_session *session = batch->library->session;
    for (struct tn__cell_facts *facts = batch->facts; facts < batch->facts + batch->count; facts++) {
        while (facts->top)
            take_out(session, facts, facts->top);
        while (facts->arrives)
            take_out(session, facts->arrives->cell->facts, facts->arrives);
    }
}

/* ---- laying them ---- */

/* What a new claim takes the place of. */
static const struct {
    enum tn__claim_kind first, last;
} replaced[] = {
    [TN__CLAIM_TIER] = {TN__CLAIM_TIER, TN__CLAIM_TIER},
    [TN__CLAIM_VERSION] = {TN__CLAIM_VERSION, TN__CLAIM_RESTING},
    [TN__CLAIM_RESTING] = {TN__CLAIM_CLIENT, TN__CLAIM_CLIENT}, /* which are not stored */
};

void tn__cell_claim(struct tn__cell *cell, struct tn__claim *claim)
{
    const struct tn__cell *to = find_function(tn__lazy_pool_of(session_of(cell)), claim->address);
    end_kinds(cell, replaced[claim->kind].first, replaced[claim->kind].last);
    struct tn__claim **at = &cell->facts->top;
    while (*at && (*at)->kind > claim->kind)
        at = &(*at)->below;
    claim->cell = cell;
    claim->below = *at;
    *at = claim;
    if (claim->of)
        tn__list_append(&claim->of->listed, &claim->listed);
    if (to) {
        claim->to = to->facts;
        claim->arrives_too = to->facts->arrives;
        to->facts->arrives = claim;
    }
    if (cell->facts->led_by != TN__CLAIM_CLIENT)
        settle(cell);
}

/* Whether a call would find anything then. */
static bool may_be_reset(const struct tn__cell *cell) TN__LOCKED
{
    return cell->facts->batch->on_failure || find_leader(cell);
}

/* A function that is looked up again begins with its first body, so a tier ends with what has covered it. */
void tn__cell_reset(struct tn__cell *cell)
{
    const struct tn__claim *leader = find_leader(cell);
    if (leader && leader->kind == TN__CLAIM_TIER)
        end_kinds(cell, TN__CLAIM_TIER, TN__CLAIM_TIER);
    settle(cell);
}

void tn__claims_drop(struct tn__claims *claims)
{
    while (!tn__list_is_empty(&claims->listed)) {
        struct tn__claim *claim = tn__container_of(claims->listed.next, struct tn__claim, listed);
        struct tn__cell *cell = claim->cell;
        bool has_led = is_led_by(cell, claim);
        end_claim(claim);
        if (has_led)
            tn__cell_reset(cell);
    }
}

bool tn__cell_has_version(const struct tn__cell *cell)
{
    const struct tn__claim *claim = cell->facts->top;
    while (claim && (claim->kind != TN__CLAIM_VERSION || claim->state == TN__CLAIM_HAS_ENDED))
        claim = claim->below;
    return claim;
}

bool tn__cell_may_look_up_as(const struct tn__cell *cell)
{
    return !tn__cell_has_later_name(cell->facts) || !cell->facts->batch->calls;
}

void tn__cell_look_up_as(struct tn__cell *cell, char *name, uint8_t body)
{
    struct tn__cell_facts *facts = cell->facts;
    if (tn__cell_has_later_name(facts))
        tn__free(session_of(cell)->allocator, (void *)facts->looks_up);
    facts->looks_up = name;
    facts->body = body;
    if (facts->led_by == TN__CLAIM_TIER)
        facts->led_by = TN__CLAIM_FIRST;
    end_kinds(cell, TN__CLAIM_TIER, TN__CLAIM_TIER);
}

/* ---- calls that fail ---- */

struct tn__cell *tn__cell_fail(struct tn__cell *cell)
{
    struct tn__cell *found = NULL;
    for (struct tn__claim *claim = cell->facts->arrives; claim; claim = claim->arrives_too) {
        bool has_led = is_led_by(claim->cell, claim);
        found = claim->cell;
        if (claim->state == TN__CLAIM_HOLDS)
            claim->state = TN__CLAIM_HAS_FAILED;
        if (has_led)
            settle(found);
    }
    return found && tn__cell_word(found) != cell->facts->stub ? found : NULL;
}

/* ---- cells of removed code ---- */

/* A hidden stub is left as it is: it works as long as its target is there. So is a stub with nothing below and without
 * a function for failures: only the client knows another target. */
static bool lead_cell_away(const struct tn__lazy_pool *pool, struct tn__cell *cell, const void *context) TN__LOCKED
{
    const struct tn__places *places = context;
    if (!has_function(cell) || cell->facts->batch->hidden)
        return false;
    bool leads = leads_there(pool, tn__cell_word(cell), places);
    for (struct tn__claim *claim = cell->facts->top, *below; claim; claim = below) {
        below = claim->below;
        if (leads_there(pool, claim->address, places))
            end_claim(claim);
    }
    if (!leads || !may_be_reset(cell))
        return false;
    tn__cell_reset(cell);
    return true;
}

bool tn__cells_lead_away(struct tn_session *session, const struct tn__places *places)
{
    return tn__cells_each(tn__lazy_pool_of(session), lead_cell_away, places);
}

/* ---- for entries of images (base/onward.h) ---- */

/* Without the end of an operation: that would call the client. The caller holds the lock of the session, if there is
 * one. */
static struct tn_session *next_session(struct tn_session *session) TN__LEAVES_LOCKED TN__LOCK_UNCHECKED
{
    if (session)
        tn__session_pause(session);
    else
        tn__sessions_lock();
    session = tn__sessions_next(session);
    if (session)
        tn__session_lock(session);
    else
        tn__sessions_unlock();
    return session;
}

static uint64_t lead_on_from(uint64_t address)
{
    uint64_t to = 0;
    for (struct tn_session *session = NULL; (session = next_session(session));) {
        const struct tn__cell *cell = session->lazy ? find_function(tn__lazy_pool_of(session), address) : NULL;
        to = cell ? tn__cell_word(cell) : to;
    }
    return to;
}

static void lead_all_away(uint64_t start, uint64_t size)
{
    struct tn_range range = {start, size};
    for (struct tn_session *session = NULL; (session = next_session(session));)
        if (session->lazy)
            session->lazy->lead_away(session, &(struct tn__places){&range, 1});
}

void tn__cells_announce(void)
{
    static const struct tn__onward stubs = {lead_on_from, lead_all_away};
    __atomic_store_n(&tn__onward_stubs, &stubs, __ATOMIC_RELEASE);
}

/* ---- cells of symbols ---- */

struct tn__cell *tn__cell_of(const struct tn__lazy_pool *pool, const struct tn__entry *entry)
{
    struct tn__cell *cell = entry->kind == TN__ENTRY_ABSOLUTE ? find_function(pool, entry->address) : NULL;
    return cell && cell->facts->entry == entry ? cell : NULL;
}

struct tn__cell *tn__cell_find(const struct tn_library *library, const char *name)
{
    struct tn__entry *entry = library->session->lazy ? tn__symtab_find(&library->symtab, name) : NULL;
    return entry ? tn__cell_of(tn__lazy_pool_of(library->session), entry) : NULL;
}

bool tn__cells_have(const struct tn_session *session, const struct tn__entry *entry)
{
    return tn__cell_of(tn__lazy_pool_of(session), entry);
}

struct tn_tracker *const *tn__cells_owner(const struct tn_session *session, uint64_t address)
{
    struct tn__cell *cell = find_function(tn__lazy_pool_of(session), address);
    return cell ? &cell->facts->batch->owner : NULL;
}

/* ---- the client's claim ---- */

static int redirect(struct tn_library *library, const char *name, uint64_t address, struct tn_error *err) TN__LOCKED
{
    struct tn__entry *entry = tn__symtab_find(&library->symtab, name);
    entry = entry ? tn__entry_target(entry) : NULL;
    if (!entry || entry->kind == TN__ENTRY_UNDEFINED)
        return tn__fail(err, TN_EUNDEF, "'%s' is not defined in library %s", name, library->name);
    struct tn__cell *cell = library->session->lazy ? tn__cell_of(tn__lazy_pool_of(library->session), entry) : NULL;
    if (!cell)
        return tn__fail(err, TN_EINVAL, "'%s' is not redirectable", name);
    if (address)
        return tn__cell_lead(cell, address, TN__CLAIM_CLIENT, err);
    if (!may_be_reset(cell))
        return tn__fail(err, TN_EINVAL, "'%s' has no function to call when there is none", name);
    tn__cell_reset(cell);
    return 0;
}

int tn_redirect(struct tn_library *library, const char *name, const void *address, struct tn_error *err)
{
    if (!library || !name)
        return tn__fail(err, TN_EINVAL, "no library or no name given");
    tn__session_lock(library->session);
    int code = tn__library_check(library, err);
    if (!code)
        code = redirect(library, name, (uintptr_t)address, err);
    tn__session_unlock(library->session);
    return code;
}
