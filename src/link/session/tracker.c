/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Trackers own objects, definitions and promises, so that some of a library's can be removed together. */

#include "link/session/contents.h"

void tn__tracker_init(struct tn_tracker *tracker, struct tn_library *library)
{
    *tracker = (struct tn_tracker){.library = library};
    tn__list_init(&tracker->listed);
    tn__list_init(&tracker->objects);
    tn__list_init(&tracker->lazy);
    tn__list_init(&tracker->promises);
    tn__list_init(&tracker->callbacks);
    tn__list_init(&tracker->retirements);
    tn__list_init(&tracker->lingering);
}

struct tn_tracker *tn__tracker_make(struct tn_library *library)
{
    struct tn_tracker *tracker = tn__alloc(library->session->allocator, sizeof *tracker);
    if (!tracker)
        return NULL;
    tn__tracker_init(tracker, library);
    tn__list_append(&library->trackers, &tracker->listed);
    return tracker;
}

struct tn_tracker *tn__tracker_make_hidden(struct tn_library *library)
{
    struct tn_tracker *tracker = tn__tracker_make(library);
    if (tracker)
        tracker->hidden = true;
    return tracker;
}

void tn__tracker_free(struct tn_tracker *tracker)
{
    tn__list_remove(&tracker->listed);
    tn__free(tracker->library->session->allocator, tracker);
}

int tn_tracker_create(struct tn_library *library, struct tn_tracker **out, struct tn_error *err)
{
    if (!library || !out)
        return tn__fail(err, TN_EINVAL, "a tracker needs a library");
    struct tn_tracker *tracker = NULL;
    tn__session_lock(library->session);
    int code = tn__library_check(library, err);
    if (!code && !(tracker = tn__tracker_make(library)))
        code = tn__no_memory(err, NULL);
    if (!code)
        *out = tracker;
    tn__session_unlock(library->session);
    return code;
}

struct tn_tracker *tn_library_tracker(struct tn_library *library)
{
    return library ? &library->own : NULL;
}

/* ---- code that threads may be running ---- */

/* Ends a round, and begins the next one. */
static bool withdraw(struct tn__retirement *r, const struct tn__instances *instances)
{
    bool any = false;
    for (struct tn_tracker *owner = NULL; (owner = tn__library_next_owner(r->library, r->tracker, owner));)
        instances->clear(owner, &r->round);
    instances->begin(&r->round);
    for (struct tn_tracker *owner = NULL; (owner = tn__library_next_owner(r->library, r->tracker, owner));)
        any |= instances->withdraw(owner, &r->round);
    return any;
}

bool tn__retirement_look(struct tn__retirement *r)
{
    struct tn_session *session = r->library->session;
    bool any = r->is_led_to;
    r->is_led_to = false;
    if (tn__instances())
        any |= withdraw(r, tn__instances());
    if (r->going && session->lazy)
        any |= session->lazy->lead_away(session, &r->places);
    if (r->going && !any)
        tn__retirement_leave(r);
    return any;
}

void tn__retirement_wait(struct tn__retirement *r)
{
    struct tn_session *session = r->library->session;
    while (tn__retirement_look(r)) {
        tn__session_pause(session);
        tn__session_quiesce(session);
        tn__session_lock(session);
    }
}

/* ---- removal ---- */

bool tn__tracker_is_busy(const struct tn_tracker *tracker)
{
    for (TN_EACH(struct tn__object, object, &tracker->objects, owned))
        if (object->link)
            return true;
    return false;
}

void tn__tracker_wait(struct tn_tracker *tracker)
{
    struct tn_session *session = tracker->library->session;
    while (tn__tracker_is_busy(tracker))
        tn__session_wait(session);
}

void tn__tracker_empty(struct tn_tracker *tracker)
{
    struct tn_session *session = tracker->library->session;
    tn__tracker_wait(tracker);
    if (tn__instances()) {
        struct tn__retirement r = {.library = tracker->library, .tracker = tracker};
        if (tn__retirement_look(&r)) /* only where the session ends: no thread runs its code */
            tn__retirement_look(&r);
    }
    if (session->observers.removed)
        session->observers.removed(tracker);
    tn__exits_forget(tracker);
    tn__callbacks_forget(tracker);
    while (tracker->objects.next != &tracker->objects)
        tn__object_remove(tn__container_of(tracker->objects.next, struct tn__object, owned));
    if (session->lazy)
        session->lazy->forget(tracker);
    tn__promises_remove(tracker);
}

/* Runs the finalizers, once no thread finds the tracker's code in a code instance. False when memory is out: none has
 * run. */
static bool finalize(struct tn_tracker *tracker)
{
    struct tn_library *library = tracker->library;
    struct tn__calls_list finalizers = {.from = library->session->allocator};
    tn__session_lock(library->session);
    if (tn__instances())
        tn__retirement_wait(&(struct tn__retirement){.library = library, .tracker = tracker});
    bool taken = tn__calls_take(tracker, &finalizers);
    bool runs = taken && (finalizers.count || tracker->exits || tn__thread_end_waits());
    tn__session_unlock(library->session);
    if (runs)
        tn__ending_run(library, tracker, &finalizers);
    return taken;
}

int tn__tracker_remove(struct tn_tracker *tracker, void (*instead)(void *context), void *context, struct tn_error *err)
{
    struct tn_session *session = tracker->library->session;
    if (!finalize(tracker))
        return tn__no_memory(err, NULL);
    tn__callbacks_end(tracker->library, tracker);
    tn__session_lock(session);
    int code = tn__library_check(tracker->library, err);
    if (!code) {
        tn__tracker_wait(tracker);
        code = tn__library_dispose(tracker->library, tracker, err);
        if (instead)
            instead(context);
        tn__library_fall_back(tracker->library);
        tn__library_sweep_if_due(tracker->library);
        tn__session_sweep_lost(session);
    }
    tn__session_unlock(session);
    tn__query_continue(session);
    return code;
}

int tn__tracker_check_closed(const struct tn_tracker *tracker, struct tn_error *err)
{
    if (!tracker)
        return tn__fail(err, TN_EINVAL, "no tracker given");
    return tracker == &tracker->library->own ? tn__library_check_closed(tracker->library, false, err) : 0;
}

int tn_tracker_remove(struct tn_tracker *tracker, struct tn_error *err)
{
    int code = tn__tracker_check_closed(tracker, err);
    return code ? code : tn__tracker_remove(tracker, NULL, NULL, err);
}

static void append_all(struct tn__list *to, struct tn__list *from)
{
    while (!tn__list_is_empty(from)) {
        struct tn__list *node = from->next;
        tn__list_remove(node);
        tn__list_append(to, node);
    }
}

void tn__tracker_give(struct tn_tracker *from, struct tn_tracker *to)
{
    for (TN_EACH(struct tn__object, object, &from->objects, owned))
        object->owner = to;
    for (TN_EACH(struct tn__lazy_batch, batch, &from->lazy, owned))
        batch->owner = to;
    append_all(&to->objects, &from->objects);
    append_all(&to->lazy, &from->lazy);
    tn__exits_give(from, to);
    tn__callbacks_give(from, to);
}

/* Code instances that were published for it since its code was hidden may lead there: the retirement goes on to watch
 * them, whatever becomes of the tracker. */
static void leave_retirements(struct tn_tracker *tracker)
{
    while (!tn__list_is_empty(&tracker->retirements)) {
        struct tn__retirement *r = tn__container_of(tracker->retirements.previous, struct tn__retirement, of_tracker);
        if (tn__instances())
            tn__instances()->move(tracker, r->going);
        tn__list_remove(&r->of_tracker);
        r->tracker = r->going;
    }
}

void tn__tracker_transfer(struct tn_tracker *from, struct tn_tracker *to)
{
    for (TN_EACH(struct tn_responsibility, promise, &from->promises, owned))
        promise->owner = to;
    append_all(&to->promises, &from->promises);
    leave_retirements(from);
    tn__tracker_give(from, to);
    if (tn__instances())
        tn__instances()->move(from, to);
}

int tn_tracker_transfer(struct tn_tracker *from, struct tn_tracker *to, struct tn_error *err)
{
    if (!from || !to || from->library != to->library)
        return tn__fail(err, TN_EINVAL, "a transfer needs two trackers of one library");
    tn__session_lock(from->library->session);
    int code = tn__library_check(from->library, err);
    if (!code && from != to)
        tn__tracker_transfer(from, to);
    tn__session_unlock(from->library->session);
    return code;
}

void tn_tracker_destroy(struct tn_tracker *tracker)
{
    if (!tracker || tracker == &tracker->library->own)
        return;
    struct tn_library *library = tracker->library;
    tn__session_lock(library->session);
    tn__tracker_transfer(tracker, &library->own);
    tn__tracker_free(tracker);
    tn__session_unlock(library->session);
}
