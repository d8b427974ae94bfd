/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Destructors of loaded code's thread_local objects, which run when their threads end, and what that means for removal: such a
 * thread may outlive the library. So the code, data and unwind tables of a removed tracker stay, under a tracker of their own,
 * until no thread has a destructor of it left. All else goes at once: its names above all, so nothing new finds it. */

#include "link/lazy/lazy.h"
#include "link/demand/promise.h"

int tn__cxa_thread_atexit(void (*function)(void *), void *argument, void *handle)
{
    return tn__exit_keep(&(struct tn__exit){.function = function, .argument = argument}, handle, true);
}

/* ---- counting ---- */

/* Under the session's lock. */
int tn__object_add_thread_exit(struct tn__object *object, const struct tn__exit *what)
{
    struct tn_tracker *owner = object->owner;
    if (!tn__thread_end_add(&owner->library->session->thread_exits, object, what->function, what->argument))
        return -1;
    object->thread_exits++;
    owner->thread_exits += owner->lingers;
    return 0;
}

static void free_tracker(struct tn_tracker *tracker)
{
    tn__list_remove(&tracker->listed);
    tn__free(tracker->library->session->allocator, tracker);
}

static bool count_down(struct tn__object *object)
{
    object->thread_exits--;
    return object->owner->lingers && !--object->owner->thread_exits;
}

static struct tn_session *session_of(struct tn__thread_ends *owner)
{
    return tn__container_of(owner, struct tn_session, thread_exits);
}

/* In the thread that ends. */
static bool ran(struct tn__thread_ends *owner, void *part)
{
    struct tn_session *session = session_of(owner);
    struct tn__object *object = part;
    tn__session_lock(session);
    struct tn_tracker *tracker = object->owner;
    if (count_down(object)) {
        tn__tracker_empty(tracker);
        free_tracker(tracker);
    }
    tn__session_unlock(session);
    return false;
}

/* In the child of a fork, under the locks of all sessions. Other subsystems are not ready yet, so the memory is freed later. */
static void lost(struct tn__thread_ends *owner, void *part)
{
    session_of(owner)->lost_thread_exits |= count_down(part);
}

void tn__session_init_thread_exits(struct tn_session *session)
{
    session->thread_exits = (struct tn__thread_ends){ran, lost};
}

/* ---- running those of the calling thread ---- */

struct selection {
    const struct tn_library *library;
    const struct tn_tracker *owner; /* NULL: any of the library's */
};

static bool is_selected(void *context, void *part)
{
    const struct selection *selection = context;
    const struct tn_tracker *owner = ((const struct tn__object *)part)->owner;
    return selection->owner ? owner == selection->owner : owner->library == selection->library;
}

void tn__thread_exits_run(struct tn_library *library, const struct tn_tracker *owner)
{
    struct tn_session *session = library->session;
    struct selection selection = {library, owner};
    for (struct tn__thread_end *end;;) {
        tn__session_lock(session); /* which guards owners */
        end = tn__thread_end_take(&session->thread_exits, is_selected, &selection);
        tn__session_unlock(session);
        if (!end)
            return;
        tn__thread_end_run(end);
    }
}

/* ---- removal ---- */

/* Objects that are not linked are not in use anywhere, and are removed at once. */
static void hide_objects(struct tn_tracker *going)
{
    for (struct tn__list *node = going->objects.next, *next; node != &going->objects; node = next) {
        struct tn__object *object = tn__container_of(node, struct tn__object, owned);
        next = node->next;
        if (object->data)
            tn__object_remove(object);
        else
            tn__object_hide(object);
    }
}

void tn__tracker_hide(struct tn_tracker *tracker, struct tn_tracker *going)
{
    struct tn_session *session = tracker->library->session;
    tn__tracker_give(tracker, going);
    hide_objects(going);
    tn__promises_remove(tracker);
    if (session->lazy)
        session->lazy->hide(going);
}

static uint64_t count(const struct tn_tracker *tracker)
{
    uint64_t count = 0;
    for (const struct tn__list *node = tracker->objects.next; node != &tracker->objects; node = node->next)
        count += tn__container_of(node, struct tn__object, owned)->thread_exits;
    return count;
}

bool tn__tracker_linger(struct tn_tracker *going)
{
    going->thread_exits = count(going);
    going->lingers = going->thread_exits;
    return going->lingers;
}

static bool is_lingering(const struct tn_tracker *tracker)
{
    return tracker->lingers && !tracker->library->session->closing;
}

/* Trackers of this library from `tracker` on, or this one only. */
static struct tn_tracker *next_of(struct tn_library *library, struct tn_tracker *only, struct tn_tracker *previous)
{
    struct tn_tracker *next = previous;
    if (only)
        return previous ? NULL : only;
    do
        next = tn__library_next_tracker(library, next);
    while (next && is_lingering(next));
    return next;
}

int tn__library_dispose(struct tn_library *library, struct tn_tracker *only, struct tn_error *err)
{
    struct tn_tracker *going = NULL, *tracker = NULL;
    uint64_t exits = 0;
    while (!library->session->closing && (tracker = next_of(library, only, tracker)))
        exits += count(tracker);
    if (exits && !(going = tn__tracker_make(library)))
        return tn__fail(err, TN_ENOMEM, "%s: out of memory", library->name);
    while ((tracker = next_of(library, only, tracker)))
        if (!going)
            tn__tracker_empty(tracker);
        else if (tracker != going)
            tn__tracker_hide(tracker, going);
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

static void add_object(struct tn_stats *stats, const struct tn__object *object)
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
                add_object(stats, tn__container_of(node, struct tn__object, owned));
}
