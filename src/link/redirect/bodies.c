/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Bodies of lazy functions that have better ones. Their objects are moved to a tracker of their own, and that is
 * retired. First the functions get other names to look up, so that a cell that is reset finds the best body, and
 * nothing is compiled anew. */

#include "link/redirect/cell.h"
#include "link/session/contents.h"

struct bodies {
    struct tn_library *library;
    const struct tn__lazy_bodies *functions;
    size_t count, old_count;
    char **names;              /* copies of `best`; NULL once they are a cell's */
    struct tn__object **taken; /* and whose they were: */
    struct tn_tracker **owners;
    size_t taken_count;
};

/* The function's, unless it looks up that body already, or a better one. */
static struct tn__cell *cell_of(const struct bodies *b, size_t i) TN__LOCKED
{
    const struct tn__lazy_better *better = &b->functions[i].better;
    struct tn__cell *cell = tn__lazy_cell_of(b->library, better);
    return cell && cell->facts->body < better->body ? cell : NULL;
}

static int check_function(const struct bodies *b, size_t i, struct tn_error *err) TN__LOCKED
{
    const struct tn__cell *cell = cell_of(b, i);
    const char *name = b->functions[i].better.name;
    if (!tn__lazy_linked_at(b->library, b->functions[i].better.best))
        return tn__fail(err, TN_EUNDEF, "'%s' has no better body", name);
    if (cell && !tn__cell_may_look_up_as(cell))
        return tn__fail(err, TN_ENOTSUP, "'%s' is being looked up", name);
    return 0;
}

static bool may_go(const struct tn__object *object) TN__LOCKED
{
    return !object->has_constants && !object->has_calls && !object->thread_exits && !object->gathered &&
           !object->link && !object->owner->hidden && !object->owner->exits && !tn__callbacks_of(object->owner);
}

static bool is_taken(const struct bodies *b, const struct tn__object *object)
{
    for (size_t i = 0; i < b->taken_count; i++)
        if (b->taken[i] == object)
            return true;
    return false;
}

static int note_object(struct bodies *b, const char *name, struct tn_error *err) TN__LOCKED
{
    const struct tn__entry *entry = tn__symtab_find(&b->library->symtab, name);
    struct tn__object *object = entry && entry->kind == TN__ENTRY_LINKED ? entry->object : NULL;
    if (!object || is_taken(b, object))
        return 0;
    if (!may_go(object))
        return tn__fail(err, TN_ENOTSUP, "%s: its constants may be in use", object->name);
    b->taken[b->taken_count] = object;
    b->owners[b->taken_count++] = object->owner;
    return 0;
}

static void look_up_best(struct bodies *b, size_t i) TN__LOCKED
{
    struct tn__cell *cell = cell_of(b, i);
    if (!cell)
        return;
    tn__cell_look_up_as(cell, b->names[i], b->functions[i].better.body);
    b->names[i] = NULL;
}

static void give(struct tn__object *object, struct tn_tracker *owner)
{
    tn__list_remove(&object->owned);
    tn__list_append(&owner->objects, &object->owned);
    object->owner = owner;
}

static int take(void *context, struct tn_tracker *tracker, struct tn_error *err) TN__LOCKED
{
    struct bodies *b = context;
    int code = tn__library_check(b->library, err);
    for (size_t i = 0; i < b->count && !code; i++) {
        code = check_function(b, i, err);
        for (size_t k = 0; k < b->old_count && !code; k++)
            code = note_object(b, b->functions[i].old[k], err);
    }
    if (!code && !b->taken_count)
        code = tn__fail(err, TN_EUNDEF, "there is no earlier body");
    for (size_t i = 0; i < b->count && !code; i++)
        look_up_best(b, i);
    for (size_t i = 0; i < b->taken_count && !code; i++)
        give(b->taken[i], tracker);
    return code;
}

/* The same. What the functions look up is right either way. */
static void give_back(void *context)
{
    const struct bodies *b = context;
    for (size_t i = 0; i < b->taken_count; i++)
        give(b->taken[i], b->owners[i]);
}

static void done(void *context, const struct tn_error *err)
{
    (void)context, (void)err;
}

static bool copy_names(struct bodies *b)
{
    for (size_t i = 0; i < b->count; i++) {
        size_t size = strlen(b->functions[i].better.best) + 1;
        b->names[i] = tn__alloc(b->library->session->allocator, size);
        if (!b->names[i])
            return false;
        memcpy(b->names[i], b->functions[i].better.best, size);
    }
    return true;
}

int tn__lazy_retire(struct tn_library *library, const struct tn__lazy_bodies *functions, size_t count, size_t old_count,
                    struct tn_error *err)
{
    const struct tn_allocator *from = library->session->allocator;
    struct tn__arena arena = {.from = from};
    size_t most = count * old_count + 1;
    struct bodies b = {library,
                       functions,
                       count,
                       old_count,
                       tn__arena_array(&arena, count + 1, sizeof *b.names),
                       tn__arena_array(&arena, most, sizeof *b.taken),
                       tn__arena_array(&arena, most, sizeof *b.owners)};
    struct tn_tracker *tracker = NULL;
    if (!b.names || !b.taken || !b.owners) {
        tn__arena_free(&arena);
        return tn__no_memory(err, library->name);
    }
    memset(b.names, 0, count * sizeof *b.names);
    int code = copy_names(&b) ? tn_tracker_create(library, &tracker, err) : tn__no_memory(err, library->name);
    if (!code)
        code = tn__tracker_retire_these(tracker, &(struct tn__taking){take, give_back, &b}, done, NULL, err);
    tn_tracker_destroy(tracker);
    for (size_t i = 0; i < count; i++)
        tn__free(from, b.names[i]);
    tn__arena_free(&arena);
    return code;
}
