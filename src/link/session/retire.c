/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Removing code that other threads may be running. First its names are removed, so that no lookup finds it any more;
 * then tn_quiesce waits until all threads that had found it have let go of it; then it is freed. In between it belongs
 * to a tracker of its own, which keeps it apart from what the client adds meanwhile.
 *
 * Before letting go, a thread may have stored the code's address elsewhere: in a code instance, or, at the end of a
 * first call, in the cell of a lazy function. There a thread may find it that the wait does not wait for any more. So
 * after the wait it is checked whether the address was stored since the last look, and if it was, another wait follows.
 * To look where slots lead by then would not do: a client may have redirected them meanwhile. */

#include <stdlib.h>

#include "link/session/contents.h"

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
    const struct tn__mem_range *image = object->ranges[TN__PART_IMAGE], *stubs = object->ranges[TN_ZONE_CODE],
                               *code = image ? image : stubs;
    if (code)
        places->items[places->count++] = (struct tn_range){code->address, code->size};
    if (image && stubs)
        places->items[places->count++] = (struct tn_range){stubs->address, stubs->size};
    for (uint32_t i = 0; i < object->entry_count; i++) {
        const struct tn__entry *entry = object->entries[i];
        if (entry->kind == TN__ENTRY_LINKED && entry->object == object &&
            (!code || entry->address - code->address >= code->size))
            places->items[places->count++] = (struct tn_range){entry->address, 1};
    }
}

static struct tn_tracker *next_owner(const struct tn__retirement *r, const struct tn_tracker *previous)
{
    return tn__library_next_owner(r->library, r->tracker, previous);
}

static bool find_places(struct tn__retirement *r)
{
    struct tn__places *places = &r->places;
    size_t most = 0;
    for (struct tn_tracker *owner = NULL; (owner = next_owner(r, owner));)
        for (TN_EACH(struct tn__object, object, &owner->objects, owned))
            most += 2 + object->entry_count;
    places->items = tn__alloc(r->library->session->allocator, most * sizeof *places->items);
    if (!places->items && most)
        return false;
    for (struct tn_tracker *owner = NULL; (owner = next_owner(r, owner));)
        for (TN_EACH(struct tn__object, object, &owner->objects, owned))
            note_places(places, object);
    if (places->count)
        qsort(places->items, places->count, sizeof *places->items, by_address);
    return true;
}

/* ---- the steps ---- */

static void wait_for_links(const struct tn__retirement *r) TN__LOCKED
{
    if (r->tracker)
        tn__tracker_wait(r->tracker);
    else
        tn__library_wait_for_links(r->library);
}

/* What the hiding needs memory for. */
static bool prepare(struct tn__retirement *r) TN__LOCKED
{
    r->finalizers.from = r->library->session->allocator;
    if (!(r->going = tn__tracker_make_hidden(r->library)) || !find_places(r))
        return false;
    if (r->tracker)
        return tn__calls_take(r->tracker, &r->finalizers);
    r->finalizers = tn__calls_take_all(r->library);
    return true;
}

static void free_parts(struct tn__retirement *r) TN__LOCKED
{
    const struct tn_allocator *from = r->library->session->allocator;
    tn__retirement_leave(r);
    tn__free(from, r->places.items);
    tn__free(from, r->finalizers.items);
    if (r->going)
        tn__tracker_free(r->going);
}

int tn__retirement_begin(struct tn__retirement *r, struct tn_error *err)
{
    struct tn_library *library = r->library;
    tn__list_init(&r->of_tracker);
    tn__list_init(&r->of_session);
    int code = tn__library_check(library, err);
    if (code)
        return code;
    bool whole = !r->tracker;
    library->removed = library->is_being_removed = whole; /* no thread adds to it or searches it from here on */
    r->is_led_to = true;
    wait_for_links(r);
    if (!whole)
        code = tn__library_check(library, err);
    if (!code && !prepare(r))
        code = tn__no_memory(err, NULL);
    if (code) {
        library->removed &= !whole;
        library->is_being_removed &= !whole;
        free_parts(r);
        return code;
    }
    for (struct tn_tracker *owner = NULL; (owner = next_owner(r, owner));)
        tn__tracker_hide(owner, r->going);
    if (whole)
        tn__library_forget_names(library);
    else
        tn__list_append(&r->tracker->retirements, &r->of_tracker);
    tn__list_append(&library->session->retirements, &r->of_session);
    tn__library_fall_back(library);
    tn__library_use(library);
    return 0;
}

void tn__retirement_finalize(struct tn__retirement *r)
{
    tn__ending_run(r->library, r->going, &r->finalizers);
    tn__callbacks_end(r->library, r->going);
}

void tn__retirement_end(struct tn__retirement *r, struct tn__supplier **resolvers)
{
    struct tn_library *library = r->library;
    struct tn_session *session = library->session;
    if (r->going && tn__tracker_linger(r->going)) /* NULL: in the child of a fork, where this step begins again */
        r->going = NULL;
    else if (r->going)
        tn__tracker_empty(r->going);
    if (!r->tracker)
        tn__library_close(library, resolvers);
    tn__library_sweep_if_due(library);
    tn__session_sweep_lost(session);
    free_parts(r);
    tn__library_release(library);
}

/* ---- all of them at once ---- */

static int retire(struct tn__retirement *r, struct tn_error *err)
{
    struct tn_session *session = r->library->session;
    struct tn__supplier *resolvers = NULL;
    r->waits = true;
    r->caller = pthread_self();
    tn__session_lock(session);
    int code = tn__retirement_begin(r, err);
    tn__session_unlock(session);
    tn__query_continue(session);
    if (code)
        return code;
    tn__session_lock(session);
    tn__retirement_wait(r);
    tn__session_pause(session);
    tn__retirement_finalize(r);
    tn__session_lock(session);
    tn__retirement_end(r, &resolvers);
    tn__session_unlock(session);
    tn__suppliers_free(session->allocator, resolvers); /* without the lock: closing may run client code */
    return 0;
}

int tn_tracker_retire(struct tn_tracker *tracker, struct tn_error *err)
{
    int code = tn__tracker_check_closed(tracker, err);
    return code ? code : retire(&(struct tn__retirement){.library = tracker->library, .tracker = tracker}, err);
}

int tn__library_retire(struct tn_library *library, struct tn_error *err)
{
    return retire(&(struct tn__retirement){.library = library}, err);
}
