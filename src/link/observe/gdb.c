/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Links are shown to debuggers (jit_interface.h). Each makes one entry; when objects of it are removed, what is left is
 * registered again. */

#include "base/tree.h"
#include "link/observe/debug_image.h"
#include "link/observe/jit_interface.h"
#include "link/observe/observer.h"

/* ---- batches ---- */

/* The objects of one link. */
struct batch {
    struct tn__jit_entry entry;
    struct tn__debug_image image;
    size_t live;     /* objects that are still there, */
    size_t listed;   /* and those that can still be found */
    bool registered; /* false while it is being changed */
    struct member {
        struct tn__tree node; /* its key is the object's id */
        struct batch *batch;
    } members[]; /* as in the image's parts */
};

struct gdb {
    struct tn_session *session;
    struct tn__tree *members; /* of all batches */
};

static int add_batch(struct gdb *gdb, const struct tn_linked_object *const *objects, size_t count, struct tn_error *err)
{
    struct batch *batch = tn__alloc_zeroed(gdb->session->allocator, 1, sizeof *batch + count * sizeof *batch->members);
    if (!batch)
        return tn__no_memory(err, NULL);
    int code =
        tn__debug_image_make(&batch->image, gdb->session->allocator, gdb->session->decompress, objects, count, err);
    if (code) {
        tn__free(gdb->session->allocator, batch);
        return code;
    }
    batch->entry.bytes = batch->image.bytes;
    batch->entry.size = batch->image.size;
    batch->live = batch->listed = count;
    batch->registered = true;
    for (size_t i = 0; i < count; i++) {
        batch->members[i] = (struct member){.node.key = objects[i]->id, .batch = batch};
        tn__tree_insert(&gdb->members, &batch->members[i].node);
    }
    tn__observers_lock();
    tn__jit_register(&batch->entry);
    tn__observers_unlock();
    return 0;
}

static struct member *find_member(struct gdb *gdb, const struct tn_linked_object *object)
{
    struct tn__tree *node = tn__tree_find(gdb->members, object->id);
    return node ? tn__container_of(node, struct member, node) : NULL;
}

/* A debugger must not see an entry change, so each is unregistered, changed, and registered again. */
static void removed(void *context, const struct tn_linked_object *const *objects, size_t count)
{
    struct gdb *gdb = context;
    tn__observers_lock();
    for (size_t i = 0; i < count; i++) {
        struct member *member = find_member(gdb, objects[i]);
        if (!member)
            continue; /* linked before this session was observed */
        struct batch *batch = member->batch;
        if (batch->registered)
            tn__jit_unregister(&batch->entry);
        batch->registered = false;
        tn__debug_image_erase(&batch->image, (size_t)(member - batch->members));
        batch->live--;
    }
    for (size_t i = 0; i < count; i++) {
        struct member *member = find_member(gdb, objects[i]);
        if (!member)
            continue;
        struct batch *batch = member->batch;
        tn__tree_remove(&gdb->members, &member->node);
        if (batch->live && !batch->registered) {
            tn__jit_register(&batch->entry);
            batch->registered = true;
        }
        if (!--batch->listed) {
            tn__debug_image_free(&batch->image);
            tn__free(gdb->session->allocator, batch);
        }
    }
    tn__observers_unlock();
}

/* Relative addresses in an image must fit 32 bits, so objects of windows that are far apart get separate images. */
static bool is_near(const struct tn_linked_object *a, const struct tn_linked_object *b)
{
    uint64_t x = a->zones[TN_ZONE_CODE].address, y = b->zones[TN_ZONE_CODE].address;
    return !x || !y || (x < y ? y - x : x - y) < 1ULL << 30;
}

static int linked(void *context, const struct tn_linked_object *const *objects, size_t count, struct tn_error *err)
{
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && end - first < TN__IMAGE_PARTS; end++)
            if (!is_near(objects[first], objects[end]))
                break;
        int code = add_batch(context, objects + first, end - first, err);
        if (code) {
            removed(context, objects, first);
            return code;
        }
    }
    return 0;
}

static void closed(void *context)
{
    struct gdb *gdb = context;
    tn__free(gdb->session->allocator, gdb);
}

int tn_observe_gdb(struct tn_session *session, struct tn_error *err)
{
    if (!session)
        return tn__fail(err, TN_EINVAL, "no session given");
    if (tn__is_observed(session, linked))
        return 0;
    int code = tn__session_check_here(session, "debuggers", err);
    if (code)
        return code;
    tn__session_lock(session);
    code = tn__codemem_make_private(&session->memory, err);
    tn__session_unlock(session);
    if (code)
        return code;
    struct gdb *gdb = tn__alloc_zeroed(session->allocator, 1, sizeof *gdb);
    if (!gdb)
        return tn__no_memory(err, NULL);
    gdb->session = session;
    const struct tn_observer observer = {
        .size = sizeof observer, .context = gdb, .linked = linked, .removed = removed, .closed = closed};
    code = tn_add_observer(session, &observer, err);
    if (code)
        tn__free(session->allocator, gdb);
    return code;
}
