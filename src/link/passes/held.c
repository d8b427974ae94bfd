/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What other threads still use while the session's lock is free. A link works without the lock: the definitions that it
 * has laid out must not change. A thread that waits gives the lock up: the names that it points to must stay. */

#include "link/model/late.h"
#include "link/passes/link.h"

/* ---- by links ---- */

static bool is_building(const struct tn__object *object)
{
    return object && object->link && object->link->building;
}

/* What a link has laid out must not change under it, and if it fails, it takes back what it has changed. */
bool tn__entry_is_held(const struct tn__entry *entry)
{
    return entry && (is_building(entry->object) || is_building(entry->group_owner));
}

static bool is_name_held(const struct tn_library *library, const char *name, uint64_t key) TN__LOCKED
{
    const struct tn__symtab *table = &library->symtab;
    const struct tn__entry *entry = tn__symtab_find_key(table, name, key);
    return entry ? tn__entry_is_held(entry) : tn__symtab_is_late(table, name) && is_building(table->late->object);
}

bool tn__library_is_held(const struct tn_library *library, const struct tn__object_data *data)
{
    if (!library->building)
        return false;
    bool held = false;
    for (uint32_t i = 1; !held && i < data->symbol_count; i++)
        if (data->symbols[i].binding != TN__BIND_LOCAL && data->symbols[i].place != TN__PLACE_UNDEFINED)
            held = is_name_held(library, data->symbols[i].name, data->symbols[i].key);
    for (uint32_t i = 0; !held && i < data->group_count; i++)
        held = tn__entry_is_held(tn__symtab_find_key(&library->symtab, data->groups[i].signature, data->groups[i].key));
    return held;
}

/* ---- by threads that wait ---- */

int tn__library_check(const struct tn_library *library, struct tn_error *err)
{
    return library->removed ? tn__fail(err, TN_EREMOVED, "library %s was removed", library->name) : 0;
}

int tn__libraries_check(const struct tn_library *library, const struct tn_library *other, struct tn_error *err)
{
    int code = tn__library_check(library, err);
    return code || !other ? code : tn__library_check(other, err);
}

int tn__entries_wait(struct tn_library *library, struct tn_library *other, struct tn__entry *const *first,
                     size_t distance, size_t count, struct tn_error *err)
{
    int code = tn__libraries_check(library, other, err);
    struct tn_library *const both[] = {library, other ? other : library};
    for (size_t i = 0; i < TN_COUNT(both); i++)
        tn__library_hold(both[i]); /* the names stay where they are while the lock is given up */
    for (size_t i = 0; !code && i < count;) {
        bool held = tn__entry_is_held(*(struct tn__entry *const *)(const void *)((const char *)first + i * distance));
        if (held) {
            tn__session_wait(library->session);
            code = tn__libraries_check(library, other, err); /* a removed one defines nothing */
        }
        i = held ? 0 : i + 1;
    }
    for (size_t i = 0; i < TN_COUNT(both); i++)
        tn__library_drop(both[i]);
    return code;
}

void tn__suppliers_free(const struct tn_allocator *from, struct tn__supplier *first)
{
    for (struct tn__supplier *supplier = first, *next; supplier; supplier = next) {
        next = supplier->next;
        if (supplier->close)
            supplier->close(supplier->context);
        tn__free(from, supplier);
    }
}

struct tn__supplier *tn__generator_drop(struct tn__supplier *generator)
{
    return !--generator->users && generator->removed ? generator : NULL;
}

void tn__library_free_names(struct tn_library *library)
{
    for (struct tn__supplier *generator = library->generators.first, *next; generator; generator = next) {
        next = generator->next;
        tn__free(library->session->allocator, generator); /* only one that the client has removed has to be closed */
    }
    library->generators.first = NULL;
    tn__symtab_free(&library->symtab);
}

void tn__library_hold(struct tn_library *library)
{
    library->readers++;
    tn__library_use(library);
}

void tn__library_drop(struct tn_library *library)
{
    if (!--library->readers && library->removed && !library->is_being_removed)
        tn__library_free_names(library);
    tn__library_release(library);
}

void tn__library_use(struct tn_library *library)
{
    __atomic_add_fetch(&library->users, 1, __ATOMIC_RELAXED);
}

void tn__library_release(struct tn_library *library)
{
    struct tn_session *session = library->session;
    if (__atomic_sub_fetch(&library->users, 1, __ATOMIC_ACQ_REL) || session->closing)
        return;
    struct tn_library **at = &session->libraries;
    while (*at != library)
        at = &(*at)->next;
    *at = library->next;
    tn__session_defer(session, &library->deferred);
}
