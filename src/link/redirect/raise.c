/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lazy functions that lead to better code, once it is there. */

#include "link/demand/promise.h"
#include "link/redirect/cell.h"

uint64_t tn__lazy_linked_at(const struct tn_library *library, const char *name)
{
    const struct tn__entry *entry = tn__symtab_find(&library->symtab, name);
    return entry && entry->kind == TN__ENTRY_LINKED ? entry->address : 0;
}

struct tn__cell *tn__lazy_cell_of(const struct tn_library *library, const struct tn__lazy_better *better)
{
    struct tn__cell *cell = tn__cell_find(library, better->name);
    return cell && cell->facts->looks_up && cell->facts->batch->maker == better->maker ? cell : NULL;
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
static int look_up_next(struct tn__cell *cell, const struct tn_session *session, const struct tn__lazy_better *better,
                        struct tn_error *err) TN__LOCKED
{
    size_t size = strlen(better->best) + 1;
    if (!tn__cell_may_look_up_as(cell))
        return tn__fail(err, TN_EDUP, "'%s' is being looked up", better->name);
    char *name = tn__alloc(session->allocator, size);
    if (!name)
        return tn__no_memory(err, better->name);
    tn__cell_look_up_as(cell, memcpy(name, better->best, size), better->body);
    tn__cell_reset(cell);
    return 0;
}

static int raise_cell(struct tn_library *library, const struct tn__lazy_better *better, bool *changed,
                      struct tn_error *err) TN__LOCKED
{
    struct tn__cell *cell = tn__lazy_cell_of(library, better);
    uint64_t address = tn__lazy_linked_at(library, better->best);
    if (!address)
        return tn__fail(err, TN_EUNDEF, "the code of '%s' is gone", better->name);
    if (!cell || cell->facts->led_by > TN__CLAIM_TIER)
        return tn__fail(err, TN_EDUP, "'%s' was redirected or removed", better->name);
    if (tn__cell_word(cell) == address)
        return 0;
    int code = tn__library_is_initialized(library) ? claim(cell, library->session, address, err)
                                                   : look_up_next(cell, library->session, better, err);
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
