/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Removed code that stays until threads have ended. Destructors of its thread_local objects run then, and such a thread
 * may outlive the library. So the code, data and unwind tables of a removed tracker stay, under a tracker of their own,
 * until no thread has a destructor of it left. All else goes at once: its names above all, so nothing new finds it. */

#include "link/session/contents.h"

/* ---- counting ---- */

static void free_tracker(struct tn_tracker *tracker)
{
    struct tn_library *library = tracker->library;
    tn__tracker_free(tracker);
    tn__library_release(library);
}

static bool count_down(struct tn__object *object)
{
    object->thread_exits--;
    return object->owner->lingers && !--object->owner->thread_exits;
}

/* In the thread that has run it. In the child of a fork, locks of other subsystems are not ready yet, so the memory is
 * freed later. */
static bool ended(struct tn__thread_ends *owner, void *part, bool ran)
{
    struct tn_session *session = tn__container_of(owner, struct tn_session, thread_exits);
    struct tn__object *object = part;
    if (!ran) {
        session->lost_thread_exits |= count_down(object);
        return false;
    }
    tn__session_lock(session);
    struct tn_tracker *tracker = object->owner;
    if (count_down(object)) {
        tn__tracker_empty(tracker);
        free_tracker(tracker);
    }
    tn__session_unlock(session);
    return false;
}

void tn__session_init_thread_exits(struct tn_session *session)
{
    session->thread_exits = (struct tn__thread_ends){ended};
}

/* ---- removal ---- */

/* Objects that are not linked are not in use anywhere, and are removed at once. */
static void hide_objects(struct tn_tracker *tracker)
{
    for (TN_EACH_TO_REMOVE(struct tn__object, object, &tracker->objects, owned))
        if (object->data)
            tn__object_remove(object);
        else
            tn__object_hide(object);
}

static void hide_stubs(struct tn_tracker *tracker)
{
    for (TN_EACH(struct tn__lazy_batch, batch, &tracker->lazy, owned)) {
        batch->hidden = true;
        for (size_t i = 0; i < batch->count; i++)
            if (tn__lazy_is_defined(&batch->facts[i]))
                tn__entry_forget(batch->library, batch->facts[i].entry);
    }
}

void tn__tracker_hide(struct tn_tracker *tracker, struct tn_tracker *going)
{
    hide_objects(tracker);
    hide_stubs(tracker);
    tn__promises_remove(tracker);
    tn__tracker_give(tracker, going);
}

static uint64_t count(const struct tn_tracker *tracker)
{
    uint64_t count = 0;
    for (TN_EACH(struct tn__object, object, &tracker->objects, owned))
        count += object->thread_exits;
    return count;
}

bool tn__tracker_linger(struct tn_tracker *going)
{
    going->thread_exits = count(going);
    going->lingers = going->thread_exits;
    if (going->lingers)
        tn__library_use(going->library);
    return going->lingers;
}

struct tn_tracker *tn__library_next_owner(struct tn_library *library, struct tn_tracker *only,
                                          const struct tn_tracker *previous)
{
    if (only)
        return previous ? NULL : only;
    struct tn_tracker *next = tn__library_next_tracker(library, previous);
    while (next && next->hidden && !library->session->closing)
        next = tn__library_next_tracker(library, next);
    return next;
}

int tn__library_dispose(struct tn_library *library, struct tn_tracker *only, struct tn_error *err)
{
    struct tn_tracker *going = NULL, *tracker = NULL;
    uint64_t exits = 0;
    while (!library->session->closing && (tracker = tn__library_next_owner(library, only, tracker)))
        exits += count(tracker);
    if (exits && !(going = tn__tracker_make_hidden(library)))
        return tn__no_memory(err, library->name);
    while ((tracker = tn__library_next_owner(library, only, tracker)))
        if (going)
            tn__tracker_hide(tracker, going);
        else
            tn__tracker_empty(tracker);
    if (going)
        tn__tracker_linger(going);
    return 0;
}

/* ---- after a fork ---- */

static void sweep_library(struct tn_library *library)
{
    for (struct tn_tracker *tracker = NULL, *next = tn__library_next_tracker(library, NULL); (tracker = next);) {
        next = tn__library_next_tracker(library, tracker);
        if (tracker->lingers && !tracker->thread_exits) {
            tn__tracker_empty(tracker);
            free_tracker(tracker);
        }
    }
}

void tn__session_sweep_lost(struct tn_session *session)
{
    if (!session->lost_thread_exits)
        return;
    session->lost_thread_exits = false;
    for (struct tn_library *library = session->libraries; library; library = library->next)
        sweep_library(library);
}

/* ---- statistics ---- */

static void count_object(struct tn_stats *stats, const struct tn__object *object)
{
    stats->lingering_objects++;
    for (int zone = 0; zone < TN_ZONES; zone++)
        stats->lingering_bytes += object->ranges[zone] ? object->ranges[zone]->size : 0;
}

void tn__session_count_lingering(const struct tn_session *session, struct tn_stats *stats)
{
    for (struct tn_library *library = session->libraries; library; library = library->next)
        for (struct tn_tracker *tracker = NULL; (tracker = tn__library_next_tracker(library, tracker));)
            for (struct tn__list *node = tracker->objects.next; tracker->lingers && node != &tracker->objects;
                 node = node->next)
                count_object(stats, tn__container_of(node, struct tn__object, owned));
}
