/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Trackers own objects, so that some of a library's objects can be removed together. */

#include "lazy.h"
#include "link.h"
#include "observer.h"

int tn_tracker_create(struct tn_library *library, struct tn_tracker **out, struct tn_error *err)
{
    if (!library || !out)
        return tn__fail(err, TN_EINVAL, "a tracker needs a library");
    pthread_mutex_lock(&library->session->lock);
    struct tn_tracker *tracker = tn__alloc(library->session->allocator, sizeof *tracker);
    if (tracker) {
        tracker->library = library;
        tn__list_init(&tracker->objects);
        tn__list_init(&tracker->lazy);
        tn__list_append(&library->trackers, &tracker->listed);
        *out = tracker;
    }
    pthread_mutex_unlock(&library->session->lock);
    return tracker ? 0 : tn__fail(err, TN_ENOMEM, "out of memory");
}

/* Until no object of it is part of a link. */
static void wait_for_links(struct tn_tracker *tracker)
{
    struct tn_session *session = tracker->library->session;
    struct tn__list *node = tracker->objects.next;
    while (node != &tracker->objects) {
        bool busy = tn__container_of(node, struct tn__object, owned)->link;
        if (busy)
            pthread_cond_wait(&session->idle, &session->lock);
        node = busy ? tracker->objects.next : node->next; /* meanwhile the list may have changed */
    }
}

void tn__tracker_empty(struct tn_tracker *tracker)
{
    const struct tn__watch *watch = tracker->library->session->watch;
    wait_for_links(tracker);
    if (watch)
        watch->removed(tracker);
    while (tracker->objects.next != &tracker->objects)
        tn__object_remove(tn__container_of(tracker->objects.next, struct tn__object, owned));
    if (tracker->library->session->lazy)
        tracker->library->session->lazy->forget(tracker);
}

int tn_tracker_remove(struct tn_tracker *tracker, struct tn_error *err)
{
    if (!tracker)
        return tn__fail(err, TN_EINVAL, "no tracker given");
    if (!tn__calls_finalize(tracker))
        return tn__fail(err, TN_ENOMEM, "out of memory");
    struct tn_session *session = tracker->library->session;
    pthread_mutex_lock(&session->lock);
    tn__tracker_empty(tracker);
    pthread_mutex_unlock(&session->lock);
    return 0;
}

void tn_tracker_destroy(struct tn_tracker *tracker)
{
    if (!tracker)
        return;
    struct tn_library *library = tracker->library;
    pthread_mutex_lock(&library->session->lock);
    while (tracker->objects.next != &tracker->objects) {
        struct tn__object *object = tn__container_of(tracker->objects.next, struct tn__object, owned);
        tn__list_remove(&object->owned);
        tn__list_append(&library->own.objects, &object->owned);
        object->owner = &library->own;
    }
    while (tracker->lazy.next != &tracker->lazy) {
        struct tn__list *node = tracker->lazy.next;
        tn__list_remove(node);
        tn__list_append(&library->own.lazy, node);
    }
    tn__list_remove(&tracker->listed);
    tn__free(library->session->allocator, tracker);
    pthread_mutex_unlock(&library->session->lock);
}
