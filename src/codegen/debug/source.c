/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An observer that keeps the debug information of linked objects, and tn_symbolize_source, which asks LLVM about it.
 * What was linked together is one file for LLVM, which reads it when it is asked for the first time. */

#include <pthread.h>

#include "base/fork.h"
#include "base/os.h"
#include "base/tree.h"
#include "codegen/debug/dwarf.h"
#include "codegen/llvm/fatal.h"
#include "link/observe/debug_image.h"
#include "link/observe/observer.h"
#include "tenon_codegen.h"

struct batch {
    const struct tn_session *session;
    struct tn__debug_image image;
    struct tn__dwarf *dwarf; /* NULL: not read yet */
    uint64_t generation;     /* of forks, when it was read */
    size_t live;             /* objects that are still there */
    struct member {
        struct tn__tree node; /* its key is where the object's code begins */
        uint64_t end;
        struct batch *batch;
    } members[];
};

/* A lock of its own: reading debug information takes long, and links of other sessions need not wait for it. */
static struct tn__mutex lock = TN__MUTEX(TN__LEVEL_SOURCES);
static struct tn__tree *members; /* of all sessions */

/* Forks do not wait for a reader, which may take long: the child abandons it, see find_frames. What changes the lists
 * holds a session's lock, for which forks wait. */
static void after_fork(bool in_child)
{
    if (!in_child)
        return;
    tn__mutex_forget(&lock);
    tn__mutex_init(&lock, TN__LEVEL_SOURCES);
}

static void lock_sources(void)
{
    static const struct tn__fork_hooks hooks = {.after = after_fork};
    tn__forks_watch(TN__LEVEL_SOURCES, &hooks);
    tn__mutex_lock(&lock);
}

/* ---- keeping ---- */

static int close_dwarf(void *context)
{
    tn__dwarf_close(context);
    return 0;
}

static void free_batch(struct batch *batch)
{
    if (batch->dwarf && batch->generation == tn__fork_generation())
        tn__contain_disposal(close_dwarf, batch->dwarf);
    tn__debug_image_free(&batch->image);
    tn__free(batch->session->allocator, batch);
}

static void removed(void *context, const struct tn_linked_object *const *objects, size_t count)
{
    (void)context;
    lock_sources();
    for (size_t i = 0; i < count; i++) {
        struct tn__tree *node = tn__tree_find(members, objects[i]->zones[TN_ZONE_CODE].address);
        if (!node)
            continue;
        struct batch *batch = tn__container_of(node, struct member, node)->batch;
        tn__tree_remove(&members, node);
        if (!--batch->live)
            free_batch(batch);
    }
    tn__mutex_unlock(&lock);
}

static void enter_objects(struct batch *batch, const struct tn_linked_object *const *objects, size_t count)
{
    lock_sources();
    for (size_t i = 0; i < count; i++) {
        const struct tn_range *code = &objects[i]->zones[TN_ZONE_CODE];
        if (!code->size)
            continue;
        struct member *member = &batch->members[batch->live++];
        *member = (struct member){.node.key = code->address, .end = code->address + code->size, .batch = batch};
        tn__tree_insert(&members, &member->node);
    }
    tn__mutex_unlock(&lock);
}

static int add_batch(const struct tn_session *session, const struct tn_linked_object *const *objects, size_t count,
                     struct tn_error *err)
{
    struct batch *batch = tn__alloc_zeroed(session->allocator, 1, sizeof *batch + count * sizeof *batch->members);
    if (!batch)
        return tn__no_memory(err, NULL);
    batch->session = session;
    int code = tn__debug_image_make(&batch->image, session->allocator, tn_codegen_decompress, objects, count, err);
    if (!code)
        enter_objects(batch, objects, count);
    if (code || !batch->live)
        free_batch(batch);
    return code;
}

static int linked(void *context, const struct tn_linked_object *const *objects, size_t count, struct tn_error *err)
{
    for (size_t first = 0, portion; first < count; first += portion) {
        portion = count - first < TN__IMAGE_PARTS ? count - first : TN__IMAGE_PARTS;
        int code = add_batch(context, objects + first, portion, err);
        if (code) {
            removed(context, objects, first);
            return code;
        }
    }
    return 0;
}

int tn_observe_sources(struct tn_session *session, struct tn_error *err)
{
    if (!session)
        return tn__fail(err, TN_EINVAL, "no session given");
    if (tn__is_observed(session, linked))
        return 0;
    int code = tn__session_check_here(session, "source lines", err); /* objects are found by their addresses */
    if (code)
        return code;
    const struct tn_observer observer = {
        .size = sizeof observer, .context = session, .linked = linked, .removed = removed};
    return tn_add_observer(session, &observer, err);
}

/* ---- asking ---- */

struct question {
    const struct tn_session *session;
    uint64_t address;
    void (*frame)(void *context, const struct tn_source *source);
    void *context;
    struct tn_error *err;
};

static struct batch *find_batch(const struct question *q)
{
    struct tn__tree *node = tn__tree_below(members, q->address);
    const struct member *member = node ? tn__container_of(node, struct member, node) : NULL;
    if (!member || q->address >= member->end || (q->session && member->batch->session != q->session))
        return NULL;
    return member->batch;
}

static void pass_on(void *user, const char *function, const char *file, uint32_t line, uint32_t column)
{
    const struct question *q = user;
    const struct tn_source source = {.function = function, .file = file, .line = line, .column = column};
    q->frame(q->context, &source);
}

static int find_frames(void *user)
{
    struct question *q = user;
    struct batch *batch = find_batch(q);
    if (batch && (!batch->dwarf || batch->generation != tn__fork_generation())) {
        batch->generation = tn__fork_generation();
        batch->dwarf = tn__dwarf_open(batch->image.bytes, batch->image.size);
    }
    if (!batch || !batch->dwarf || !tn__dwarf_find(batch->dwarf, q->address, pass_on, q))
        return tn__fail(q->err, TN_EUNDEF, "no debug information was kept for 0x%llx", (unsigned long long)q->address);
    return 0;
}

int tn_symbolize_source(const struct tn_session *session, const void *address,
                        void (*frame)(void *context, const struct tn_source *source), void *context,
                        struct tn_error *err)
{
    if (!frame)
        return tn__fail(err, TN_EINVAL, "no function to be told of frames");
    struct question question = {
        .session = session, .address = (uintptr_t)address, .frame = frame, .context = context, .err = err};
    lock_sources();
    int code = tn__contain(find_frames, &question, err);
    struct batch *batch = find_batch(&question);
    if (batch && (code == TN_EFATAL || code == TN_ENOMEM))
        batch->dwarf = NULL; /* LLVM left it halfway: abandoned, and read again next time */
    tn__mutex_unlock(&lock);
    return code;
}
