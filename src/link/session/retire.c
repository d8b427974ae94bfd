/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Removing code that other threads may be running. First its names are removed, so that no lookup finds it any more;
 * then tn_quiesce waits until all threads that had found it have let go of it; then it is freed. In between it belongs
 * to a tracker of its own, which keeps it apart from what the client adds meanwhile.
 *
 * Before letting go, a thread may have stored the code's address elsewhere: in a code instance, or, at the end of a
 * first call, in the slot of a lazy function. So these are checked again after the wait, and if any led to the code,
 * another wait follows. */

#include <stdlib.h>

#include "link/session/contents.h"

struct retirement {
    struct tn_tracker *tracker; /* the client's */
    struct tn_tracker *going;
    struct tn__places places;
    struct tn__calls_list finalizers;
};

/* ---- where the code lies ---- */

static int by_address(const void *a, const void *b)
{
    const struct tn_range *x = a, *y = b;
    return (x->address > y->address) - (x->address < y->address);
}

/* Code in gathered sections lies outside of the object's range: of that code, only the starts of functions are
 * noted. */
static void note_places(struct tn__places *places, const struct tn__object *object)
{
    const struct tn__range *code = object->ranges[TN_ZONE_CODE];
    if (code)
        places->items[places->count++] = (struct tn_range){code->address, code->size};
    for (uint32_t i = 0; i < object->entry_count; i++) {
        const struct tn__entry *entry = object->entries[i];
        if (entry->kind == TN__ENTRY_LINKED && entry->object == object &&
            (!code || entry->address - code->address >= code->size))
            places->items[places->count++] = (struct tn_range){entry->address, 1};
    }
}

static bool find_places(const struct tn_tracker *tracker, struct tn__places *places)
{
    size_t most = 0;
    for (TN_EACH(struct tn__object, object, &tracker->objects, owned))
        most += 1 + object->entry_count;
    places->items = tn__alloc(tracker->library->session->allocator, most * sizeof *places->items);
    if (!places->items && most)
        return false;
    for (TN_EACH(struct tn__object, object, &tracker->objects, owned))
        note_places(places, object);
    if (places->count)
        qsort(places->items, places->count, sizeof *places->items, by_address);
    return true;
}

/* ---- the steps ---- */

/* Under the lock: removes the code's names. TN_ENOMEM: nothing has changed. */
static int hide(struct retirement *r, struct tn_error *err)
{
    struct tn_library *library = r->tracker->library;
    tn__tracker_wait(r->tracker);
    int code = tn__library_check(library, err);
    if (!code && (!find_places(r->tracker, &r->places) || !tn__calls_take(r->tracker, &r->finalizers)))
        code = tn__no_memory(err, NULL);
    if (code)
        return code;
    tn__tracker_hide(r->tracker, r->going);
    tn__library_fall_back(library);
    return 0;
}

/* Redirects whatever still leads to the code; true if there was anything. */
static bool lead_away(const struct retirement *r)
{
    struct tn_session *session = r->tracker->library->session;
    bool any = tn__tracker_withdraw(r->tracker);
    tn__session_lock(session);
    any |= session->lazy && session->lazy->lead_away(session, &r->places);
    tn__session_unlock(session);
    return any;
}

/* What threads still need of it goes with them. */
static void remove_hidden(struct retirement *r)
{
    struct tn_library *library = r->going->library;
    tn__thread_exits_run(library, r->going);
    tn__exits_run(library, r->going);
    tn__calls_run(&r->finalizers);
    tn__thread_exits_run(library, r->going);
    tn__session_lock(library->session);
    if (tn__tracker_linger(r->going))
        r->going = NULL;
    else
        tn__tracker_empty(r->going);
    tn__library_sweep_if_due(library);
    tn__session_sweep_lost(library->session);
    tn__session_unlock(library->session);
}

int tn_tracker_retire(struct tn_tracker *tracker, struct tn_error *err)
{
    if (!tracker)
        return tn__fail(err, TN_EINVAL, "no tracker given");
    struct tn_session *session = tracker->library->session;
    struct retirement r = {.tracker = tracker, .finalizers.from = session->allocator};
    int code = tn_tracker_create(tracker->library, &r.going, err);
    if (code)
        return code;
    tn__session_lock(session);
    code = hide(&r, err);
    tn__session_unlock(session);
    tn__query_continue(session);
    if (!code) {
        lead_away(&r);
        do {
            tn__session_quiesce(session);
            if (tn__instances())
                tn__instances()->clear(tracker);
        } while (lead_away(&r));
        remove_hidden(&r);
    }
    tn_tracker_destroy(r.going);
    tn__free(session->allocator, r.places.items);
    return code;
}
