/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lazy functions that lead to better code, once it is there. */

#include "link/demand/promise.h"
#include "link/redirect/cell.h"

uint64_t tn__lazy_linked_at(const struct tn_library *library, const char *name)
{
    const struct tn__entry *entry = tn__symtab_find(&library->symtab, name);
    return entry && entry->kind == TN__ENTRY_LINKED ? entry->address : 0;
}

/* A stub that was defined anew has the name too, and might be another module's. */
static bool looks_up(const struct tn__cell_facts *facts, const struct tn__lazy_better *better)
{
    for (size_t i = 0; i < better->count && facts->looks_up; i++)
        if (strcmp(facts->looks_up, better->bodies[i]) == 0)
            return true;
    return false;
}

static int claim(struct tn__cell *cell, const struct tn_session *session, uint64_t best,
                 struct tn_error *err) TN__LOCKED
{
    struct tn__claim *tier = tn__claim_new(session, TN__CLAIM_TIER, best, NULL);
    if (!tier)
        return tn__no_memory(err, cell->facts->entry->name);
    tn__cell_claim(cell, tier);
    return 0;
}

/* This thread has linked what the best body needs, but initialises nothing. So the next call looks the body up, and
 * initialises that. The name that a call is looking up must not change meanwhile. */
static int look_up_next(struct tn__cell *cell, const struct tn_session *session, const char *best,
                        struct tn_error *err) TN__LOCKED
{
    size_t size = strlen(best) + 1;
    if (!tn__cell_may_look_up_as(cell))
        return tn__fail(err, TN_EDUP, "'%s' is being looked up", cell->facts->entry->name);
    char *name = tn__alloc(session->allocator, size);
    if (!name)
        return tn__no_memory(err, cell->facts->entry->name);
    tn__cell_look_up_as(cell, memcpy(name, best, size));
    tn__cell_reset(cell);
    return 0;
}

static int raise_cell(struct tn_library *library, const struct tn__lazy_better *better, bool *changed,
                      struct tn_error *err) TN__LOCKED
{
    struct tn__cell *cell = tn__cell_find(library, better->name);
    const char *best = better->bodies[better->count - 1];
    uint64_t address = tn__lazy_linked_at(library, best);
    if (!better->is_current(better->context))
        return tn__fail(err, TN_EREMOVED, "the bodies of '%s' are others", better->name);
    if (!cell || !address)
        return tn__fail(err, TN_EUNDEF, "'%s' has no stub, or its code is gone", better->name);
    if (cell->facts->led_by > TN__CLAIM_TIER || !looks_up(cell->facts, better))
        return tn__fail(err, TN_EDUP, "'%s' was redirected", better->name);
    if (tn__cell_word(cell) == address)
        return 0;
    int code = tn__library_is_initialized(library) ? claim(cell, library->session, address, err)
                                                   : look_up_next(cell, library->session, best, err);
    *changed = !code;
    return code;
}

int tn__lazy_raise(struct tn_library *library, const struct tn__lazy_better *better, bool *changed,
                   struct tn_error *err)
{
    *changed = false;
    tn__session_lock(library->session);
    int code = tn__library_check(library, err);
    if (!code)
        code = raise_cell(library, better, changed, err);
    tn__session_unlock(library->session);
    return code;
}
