/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lazy functions that lead to better code, once it is there. */

#include <stdatomic.h>

#include "link/demand/promise.h"
#include "link/redirect/cell.h"

uint64_t tn__lazy_linked_at(const struct tn_library *library, const char *name)
{
    const struct tn__entry *entry = tn__symtab_find(&library->symtab, name);
    return entry && entry->kind == TN__ENTRY_LINKED ? entry->address : 0;
}

struct tn__lazy_slot *tn__lazy_find_slot(const struct tn_library *library, const char *name)
{
    struct tn__entry *entry = library->session->lazy ? tn__symtab_find(&library->symtab, name) : NULL;
    return entry ? tn__lazy_slot_of(tn__lazy_pool_of(library->session), entry) : NULL;
}

/* A stub that was defined anew has the name too, and might be another module's. */
static bool looks_up(const struct tn__lazy_slot *slot, const struct tn__lazy_better *better)
{
    for (size_t i = 0; i < better->count && slot->record->target; i++)
        if (strcmp(slot->record->target, better->bodies[i]) == 0)
            return true;
    return false;
}

/* ---- bodies ---- */

/* What the best body needs was linked by this thread, which initialises nothing: so the next call looks it up, and
 * does. A call that is looking a name up must find it where it is. */
static int look_up_next(struct tn__lazy_slot *slot, const char *best, struct tn_error *err)
{
    struct tn__lazy_record *record = slot->record;
    const struct tn_session *session = record->batch->library->session;
    size_t size = strlen(best) + 1;
    if (tn__lazy_has_later_target(record) && record->batch->calls)
        return tn__fail(err, TN_EDUP, "'%s' is being looked up", record->entry->name);
    char *name = tn__alloc(session->allocator, size);
    if (!name)
        return tn__no_memory(err, record->entry->name);
    if (tn__lazy_has_later_target(record))
        tn__free(session->allocator, (void *)record->target);
    record->target = memcpy(name, best, size);
    return tn__lazy_lead(tn__lazy_pool_of(session), slot, tn__lazy_pool_of(session)->entry, err);
}

static int raise_slot(struct tn_library *library, const struct tn__lazy_better *better, bool *changed,
                      struct tn_error *err)
{
    struct tn__lazy_slot *slot = tn__lazy_find_slot(library, better->name);
    uint64_t best = tn__lazy_linked_at(library, better->bodies[better->count - 1]);
    if (!better->is_current(better->context))
        return tn__fail(err, TN_EREMOVED, "the bodies of '%s' are others", better->name);
    if (!slot || !best)
        return tn__fail(err, TN_EUNDEF, "'%s' has no stub, or its code is gone", better->name);
    const struct tn__lazy_pool *pool = tn__lazy_pool_of(library->session);
    uint64_t now = atomic_load_explicit(&slot->target, memory_order_relaxed);
    bool may = now == pool->entry || now == best;
    for (size_t i = 0; i + 1 < better->count && !may; i++)
        may = now == tn__lazy_linked_at(library, better->bodies[i]);
    if (!may || slot->record->is_clients || !looks_up(slot, better))
        return tn__fail(err, TN_EDUP, "'%s' was redirected", better->name);
    int code = now == best                           ? 0
               : tn__library_is_initialized(library) ? tn__lazy_lead(pool, slot, best, err)
                                                     : look_up_next(slot, better->bodies[better->count - 1], err);
    *changed = now != best && !code;
    return code;
}

int tn__lazy_raise(struct tn_library *library, const struct tn__lazy_better *better, bool *changed,
                   struct tn_error *err)
{
    *changed = false;
    tn__session_lock(library->session);
    int code = tn__library_check(library, err);
    if (!code)
        code = raise_slot(library, better, changed, err);
    tn__session_unlock(library->session);
    return code;
}

/* ---- versions ---- */

static int cover(struct tn__lazy_slot *slot, uint64_t version, bool *is_first, struct tn_error *err)
{
    struct tn__lazy_record *record = slot->record;
    uint64_t before = record->version;
    *is_first = !before;
    record->version = version;
    int code = record->is_clients ? 0 : tn__lazy_reset(tn__lazy_pool_of(record->batch->library->session), slot, err);
    if (code)
        record->version = before;
    return code;
}

int tn__lazy_cover(struct tn_library *library, const char *name, const void *version, bool *is_first,
                   struct tn_error *err)
{
    tn__session_lock(library->session);
    int code = tn__library_check(library, err);
    struct tn__lazy_slot *slot = code ? NULL : tn__lazy_find_slot(library, name);
    if (slot)
        code = cover(slot, (uintptr_t)version, is_first, err);
    else if (!code)
        code = tn__fail(err, TN_EUNDEF, "'%s' is not redirectable in library %s", name, library->name);
    tn__session_unlock(library->session);
    return code;
}

void tn__lazy_uncover(struct tn_library *library, const char *name, const void *from, const void *to)
{
    bool is_first;
    tn__session_lock(library->session);
    struct tn__lazy_slot *slot = tn__library_check(library, NULL) ? NULL : tn__lazy_find_slot(library, name);
    if (slot && slot->record->version == (uintptr_t)from)
        cover(slot, (uintptr_t)to, &is_first, NULL);
    tn__session_unlock(library->session);
}
