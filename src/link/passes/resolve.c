/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Finds the objects of a link: those asked for, and all that their references lead to, including archive members and
 * objects of other libraries. A worklist visits each object and each reference once. */

#include "link/passes/link.h"

int tn__link_need_object(struct tn__link *link, struct tn__object *object)
{
    if (object->link)
        return object->link == link ? 0 : TN__BUSY;
    if (!object->data)
        return 0; /* linked */
    if (link->needs->resume && object->data->explored == link->needs->query)
        return 0;
    if (!tn__grow(link->session->allocator, &link->objects, &link->capacity, link->count + 1, sizeof *link->objects))
        return tn__no_memory(link->err, object->name);
    object->link = link;
    link->objects[link->count++] = object;
    return 0;
}

/* The link has to wait until this promise is kept. Everything else that it lacks is still collected, so that all of it
 * can be made in parallel. */
static int wait_for(struct tn__link *link, struct tn__entry *entry)
{
    struct tn__promise *promise = entry->promise;
    struct tn__needs *needs = link->needs;
    entry->wanted = true;
    if (promise->noted == link->number)
        return 0;
    if (!tn__grow(link->session->allocator, &needs->promises, &needs->promise_capacity, needs->promise_count + 1,
                  sizeof(struct tn__promise *)))
        return tn__no_memory(link->err, NULL);
    promise->noted = link->number;
    needs->promises[needs->promise_count++] = promise;
    return 0;
}

/* Goes on from an alias to its target. A stale alias is reset instead, to be searched again, unless the last search has
 * made it. */
static void follow_alias(struct tn_library **library, struct tn__entry **at,
                         const struct tn__entry *searched) TN__LOCKED
{
    struct tn__entry *entry = *at;
    if (entry != searched && tn__entry_is_stale(entry)) {
        tn__entry_reset(entry);
        return;
    }
    *library = entry->library;
    *at = entry->target;
}

/* Looks an undefined entry up, to which the reference `open` led. If it is still undefined afterwards, nothing defines
 * it. */
static int find_definition(struct tn__link *link, const struct tn__open *open, struct tn_library *library,
                           struct tn__entry *entry) TN__LOCKED
{
    bool noted;
    if (library->removed)
        return 0;
    int code = tn__link_note_bound(link, library, entry, &noted);
    return code || noted ? code : tn__link_search(link, library, entry, open->how, open->entry);
}

/* The next round begins here. */
static int note_open(struct tn__link *link, const struct tn__open *open)
{
    struct tn__needs *needs = link->needs;
    if (!tn__grow(link->session->allocator, &needs->open, &needs->open_capacity, needs->open_count + 1,
                  sizeof *needs->open))
        return tn__no_memory(link->err, NULL);
    needs->open[needs->open_count++] = *open;
    return 0;
}

int tn__link_need_entry(struct tn__link *link, struct tn_library *library, struct tn__entry *entry, unsigned how)
{
    const struct tn__open open = {library, entry, how};
    const struct tn__needs before = *link->needs;
    const struct tn__entry *searched = NULL; /* the last one: what it was bound to may have to be searched too */
    for (int code = 0; !code;)
        switch (entry->kind) {
        case TN__ENTRY_ALIAS:
            follow_alias(&library, &entry, searched);
            break;
        case TN__ENTRY_LAZY:
            if (how & TN__NEED_WEAK)
                return 0;
            code = tn__link_pass_members(link, library, entry);
            if (!code && entry->kind == TN__ENTRY_LAZY)
                return tn__link_want_member(link, &open, library, entry);
            if (code)
                return code;
            break;
        case TN__ENTRY_UNDEFINED:
            if (searched == entry)
                return link->needs->promise_count > before.promise_count ||
                               link->needs->missing_count > before.missing_count
                           ? note_open(link, &open)
                           : 0;
            searched = entry;
            code = find_definition(link, &open, library, entry);
            if (code)
                return code;
            break;
        case TN__ENTRY_OBJECT:
            return tn__link_need_object(link, entry->object);
        case TN__ENTRY_PROMISED:
            code = wait_for(link, entry);
            return code ? code : note_open(link, &open);
        case TN__ENTRY_FAILED:
            link->needs->failed = entry;
            return TN__FAILED;
        default:
            return 0;
        }
    return 0;
}

/* True for the symbol that the entry of a common one stands for; for references to what is not strong, is a copy of a
 * COMDAT group, or would come of an archive before the object. */
static bool may_be_before(const struct tn__object *object, const struct tn__symbol *symbol)
{
    const struct tn__entry *entry = symbol->entry;
    if (symbol->place == TN__PLACE_COMMON)
        return entry->object == object && tn__strength_is_common(entry->strength);
    if (symbol->place != TN__PLACE_UNDEFINED || symbol->binding == TN__BIND_WEAK)
        return false;
    return entry->kind == TN__ENTRY_LAZY
               ? entry->archive->number < object->data->number
               : entry->strength && (entry->strength < TN__STRENGTH_STRONG || tn__entry_is_copy(entry));
}

static int resolve_object(struct tn__link *link, struct tn__object *object) TN__LOCKED
{
    struct tn_library *library = object->owner->library;
    for (uint32_t i = object->data->first_global; i < tn__object_entered_end(object->data); i++) {
        const struct tn__symbol *symbol = &object->data->symbols[i];
        if (!symbol->entry)
            continue;
        bool open = symbol->place == TN__PLACE_UNDEFINED;
        bool variable = symbol->type == TN__TYPE_TLS && !link->session->imports_tls;
        bool before = library->archives && may_be_before(object, symbol);
        int code = before ? tn__link_want_before(link, object, symbol->entry, &before) : 0;
        if (!code && !before)
            code = tn__link_need_entry(link, library, symbol->entry,
                                       (open && symbol->binding == TN__BIND_WEAK ? TN__NEED_WEAK : 0U) |
                                           (open && variable ? TN__NEED_TLS : 0U));
        if (code)
            return code;
    }
    object->data->explored = link->needs->query;
    return 0;
}

/* ---- what is asked for ---- */

/* What a promise brings is linked as far as it is needed, but its initializers are needed by no symbol. */
static bool is_requested(const struct tn__request *request, const struct tn__object *object)
{
    if (request->everything || request->roots)
        return true;
    bool any = false;
    for (uint32_t i = 1; object->is_made && i < object->data->section_count && !any; i++)
        any = object->data->sections[i].role == TN__ROLE_INIT && !object->data->sections[i].discarded;
    return any;
}

static int need_queue(struct tn__link *link) TN__LOCKED
{
    int code = 0;
    const struct tn__list *queue = &link->library->queue;
    for (struct tn__list *node = queue->next; !code && node != queue; node = node->next) {
        struct tn__object *object = tn__container_of(node, struct tn__object, queued);
        if (is_requested(link->request, object))
            code = tn__link_need_object(link, object);
    }
    return code;
}

static int need_name(struct tn__link *link, const char *name) TN__LOCKED
{
    struct tn__entry *entry = tn__symtab_intern(&link->library->symtab, name);
    return entry ? tn__link_need_entry(link, link->library, entry, 0) : tn__no_memory(link->err, NULL);
}

static int need_open(struct tn__link *link) TN__LOCKED
{
    int code = 0;
    for (size_t i = 0; !code && i < link->needs->resume_count; i++) {
        const struct tn__open *open = &link->needs->resume[i];
        if (!open->library->removed)
            code = tn__link_need_entry(link, open->library, open->entry, open->how);
    }
    return code;
}

static int need_request(struct tn__link *link) TN__LOCKED
{
    if (link->needs->resume)
        return need_open(link);
    const struct tn__request *request = link->request;
    int code = request->everything || request->initializers || request->roots ? need_queue(link) : 0;
    for (size_t i = 0; !code && i < request->count; i++) {
        const struct tn_wanted *wanted = &request->symbols[i];
        const struct tn__entry *entry = tn__symtab_find(&link->library->symtab, wanted->name);
        if (!entry || tn__wanted_sees(wanted, entry)) /* else it is hidden: see tn__request_check */
            code = need_name(link, wanted->name);
    }
    for (size_t i = 0; !code && request->roots && i < request->roots->count; i++)
        code = need_name(link, request->roots->names[i]);
    return code;
}

/* True if a generator has to be asked first: of this library, or of one in its search order. */
static bool is_missing(const struct tn__needs *needs, const char *name)
{
    for (size_t i = 0; i < needs->missing_count; i++)
        if (!strcmp(needs->missing[i].entry->name, name))
            return true;
    return false;
}

int tn__request_check(const struct tn__request *request, const struct tn__needs *needs, struct tn_error *err)
{
    int code = 0;
    for (size_t i = 0; i < request->count; i++) {
        const struct tn_wanted *symbol = &request->symbols[i];
        struct tn__entry *entry = tn__symtab_find(&request->library->symtab, symbol->name);
        const struct tn__entry *target = entry ? tn__entry_target(entry) : NULL;
        bool defined = target && target->kind != TN__ENTRY_UNDEFINED;
        if (symbol->flags & TN_WANTED_WEAK || (defined && tn__wanted_sees(symbol, entry)) ||
            is_missing(needs, symbol->name))
            continue;
        if (code)
            tn__append(err, "\n");
        else
            code = tn__fail(err, TN_EUNDEF, "%s", "");
        tn__append(err, "'%s' is %s in library %s", target ? target->name : symbol->name,
                   defined ? "hidden" : "not defined", request->library->name);
    }
    return code;
}

int tn__link_resolve(struct tn__link *link)
{
    int code = need_request(link);
    for (size_t i = 0; !code && (i < link->count || link->wanted_members);)
        code = i == link->count || tn__link_members_are_due(link, link->objects[i])
                   ? tn__link_load_member_before(link, i)
                   : resolve_object(link, link->objects[i++]);
    if (code)
        return code;
    code = tn__link_settle_bounds(link);
    if (code)
        return code;
    if (link->needs->promise_count || link->needs->missing_count)
        return TN__WAIT;
    return link->needs->resume ? TN__EXPLORED : tn__request_check(link->request, link->needs, link->err);
}
