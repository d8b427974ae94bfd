/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Removing objects: their definitions, their memory, themselves. */

#include "link/model/late.h"
#include "link/passes/link.h"

void tn__object_release_data(struct tn__object *object)
{
    if (!object->data)
        return;
    const struct tn_input input = object->data->input;
    struct tn__arena arena = object->data->arena; /* which the data lies in */
    object->data = NULL;
    tn__arena_free(&arena);
    if (input.release)
        input.release(input.context, input.bytes, input.length);
}

/* ---- definitions ---- */

void tn__entry_forget(struct tn_library *library, struct tn__entry *entry)
{
    library->fall_back_due |= entry->overrides;
    library->session->revision += entry->kind != TN__ENTRY_UNDEFINED && !tn__entry_is_generated(entry);
    entry->overrides = false;
    entry->kind = TN__ENTRY_UNDEFINED;
    entry->strength = TN__STRENGTH_NONE;
    entry->object = NULL;
    entry->hidden = entry->thread_local = false;
    entry->address = 0;
}

static void forget_definitions(const struct tn__object *object) TN__LOCKED
{
    struct tn_library *library = object->owner->library;
    if (library->symtab.late && library->symtab.late->object == object)
        library->symtab.late = NULL;
    for (uint32_t i = 0; i < object->entry_count; i++) {
        struct tn__entry *entry = object->entries[i];
        if (entry->group_owner == object) {
            entry->group_owner = NULL;
            library->fall_back_due |= entry->overrides;
        }
        if (entry->object == object)
            tn__entry_forget(library, entry);
    }
}

/* ---- objects ---- */

void tn__object_hide(struct tn__object *object)
{
    struct tn_library *library = object->owner->library;
    if (object->has_calls)
        tn__calls_forget(library, object);
    forget_definitions(object);
    object->entry_count = 0; /* the names may go before the object */
}

static void leave_places(struct tn__object *object)
{
    struct tn_session *session = object->owner->library->session;
    for (int zone = 0; zone < TN__PLACES; zone++)
        if (object->ranges[zone])
            tn__tree_remove(&session->places, &object->places[zone].tree);
    tn__free(session->allocator, object->places);
}

void tn__object_remove(struct tn__object *object)
{
    struct tn_library *library = object->owner->library;
    tn__unwind_remove(&library->session->unwind, object->unwind);
    if (object->has_calls) {
        tn__calls_forget(library, object);
        tn__calls_drop(&library->finalizers, object);
    }
    if (object->places)
        leave_places(object);
    forget_definitions(object);
    tn__object_give_back(object);
    tn__object_release_data(object);
    tn__list_remove(&object->owned);
    tn__list_remove(&object->queued);
    tn__free(library->session->allocator, object);
}
