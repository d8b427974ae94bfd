/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Removed code that stays until threads have ended. Destructors of its thread_local objects run then, and such a thread
 * may outlive the library. So the code, data and unwind tables of a removed tracker stay, under a tracker of their own,
 * until no thread has a destructor of it left. All else goes at once: its names above all, so nothing new finds it. */

#include "link/session/contents.h"

/* ---- counting ---- */

static void wait_for(struct tn_tracker *tracker, enum tn__acknowledgement what)
{
    tn__list_remove(&tracker->lingering);
    tn__list_append(&tracker->library->session->later[what], &tracker->lingering);
}

static void free_tracker(struct tn_tracker *tracker) TN__LOCKED
{
    struct tn_library *library = tracker->library;
    tn__list_remove(&tracker->lingering);
    tn__tracker_empty(tracker);
    tn__tracker_free(tracker);
    tn__library_release(library);
}

/* True if nothing of a removed tracker is left to run. */
static bool count_down(struct tn__object *object)
{
    object->thread_exits--;
    return !tn__list_is_empty(&object->owner->lingering) && !--object->owner->thread_exits;
}

/* In the thread that has run it. In the child of a fork, locks of other subsystems are not ready yet, so the memory is
 * freed later. */
static bool ended(struct tn__thread_ends *owner, void *part, bool ran) TN__LOCK_UNCHECKED
{
    struct tn_session *session = tn__container_of(owner, struct tn_session, thread_exits);
    struct tn__object *object = part;
    if (ran)
        tn__session_lock(session);
    struct tn_tracker *tracker = object->owner;
    bool is_last = count_down(object);
    if (is_last && ran)
        free_tracker(tracker);
    else if (is_last)
        wait_for(tracker, TN__ACK_FORK);
    if (ran)
        tn__session_unlock(session);
    return false;
}

void tn__session_init_thread_exits(struct tn_session *session)
{
    session->thread_exits = (struct tn__thread_ends){ended};
    tn__thread_ends_prepare();
}

/* ---- removal ---- */

/* Objects that are not linked are not in use anywhere, and are removed at once. */
static void hide_objects(struct tn_tracker *tracker) TN__LOCKED
{
    for (TN_EACH_TO_REMOVE(struct tn__object, object, &tracker->objects, owned))
        if (object->data)
            tn__object_remove(object);
        else
            tn__object_hide(object);
}

static void hide_stubs(struct tn_tracker *tracker) TN__LOCKED
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
    if (!going->thread_exits)
        return false;
    wait_for(going, TN__ACK_THREADS);
    tn__library_use(going->library);
    return true;
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

void tn__session_sweep_lost(struct tn_session *session)
{
    for (TN_EACH_TO_REMOVE(struct tn_tracker, tracker, &session->later[TN__ACK_FORK], lingering))
        free_tracker(tracker);
}

/* ---- statistics ---- */

static void count_object(struct tn_stats *stats, const struct tn__object *object)
{
    stats->lingering_objects++;
    for (int zone = 0; zone < TN__PLACES; zone++)
        stats->lingering_bytes += object->ranges[zone] ? object->ranges[zone]->size : 0;
}

void tn__session_count_lingering(const struct tn_session *session, struct tn_stats *stats)
{
    for (size_t i = TN__ACK_THREADS; i <= TN__ACK_FORK; i++)
        for (TN_EACH(struct tn_tracker, tracker, &session->later[i], lingering))
            for (TN_EACH(struct tn__object, object, &tracker->objects, owned))
                count_object(stats, object);
}
