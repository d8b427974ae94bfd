/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Finds the objects of a link: those asked for, and all that their references lead to, including archive members and
 * objects of other libraries. A worklist visits each object and each reference once.
 *
 * Members are loaded in the order in which GNU ld loads them, which decides what is initialised first and which of
 * equal definitions is kept. An archive is searched after the objects that come before it, in passes: each pass loads
 * members from the first to the last, those that are wanted when it gets there, until a pass would load none. */

#include "link/core/link.h"

static int need_object(struct tn__link *link, struct tn__object *object)
{
    if (object->link)
        return object->link == link ? 0 : TN__BUSY;
    if (!object->data)
        return 0; /* linked */
    if (link->needs->resume && object->explored == link->needs->query)
        return 0;
    if (!tn__grow(link->session->allocator, &link->objects, &link->capacity, link->count + 1, sizeof *link->objects))
        return tn__no_memory(link->err, object->name);
    object->link = link;
    link->objects[link->count++] = object;
    return 0;
}

/* ---- members of archives ---- */

/* A reference for which a member is wanted. */
struct wanted {
    struct tn__tree tree; /* by the member's offset, the first last, because trees are searched downward */
    struct wanted *next;  /* for the same member */
    struct tn_library *library;
    struct tn__entry *entry; /* that the reference leads to */
    struct tn__open open;
};

static bool is_loaded(const struct tn__link *link, const struct tn__entry *entry)
{
    return tn__tree_find(link->loaded, (uintptr_t)entry->archive->input.bytes + entry->member);
}

static void note_archive(struct tn__link *link, struct tn__archive *archive)
{
    if (archive->link == link->number)
        return;
    archive->link = link->number;
    archive->loaded = archive->at = 0;
    archive->wanted = NULL;
    struct tn__archive **at = &link->archives;
    while (*at && (*at)->number < archive->number)
        at = &(*at)->next_wanted;
    archive->next_wanted = *at;
    *at = archive;
}

static int want_member(struct tn__link *link, const struct tn__open *open, struct tn_library *library,
                       struct tn__entry *entry)
{
    struct tn__archive *archive = entry->archive;
    struct wanted *wanted = tn__arena_alloc(&link->arena, sizeof *wanted);
    if (!wanted)
        return tn__no_memory(link->err, archive->name);
    note_archive(link, archive);
    *wanted = (struct wanted){{.key = ~entry->member}, NULL, library, entry, *open};
    struct tn__tree *same = tn__tree_find(archive->wanted, wanted->tree.key);
    if (same) {
        struct wanted *first = tn__container_of(same, struct wanted, tree);
        wanted->next = first->next;
        first->next = wanted;
        return 0;
    }
    tn__tree_insert(&archive->wanted, &wanted->tree);
    link->wanted_members++;
    return 0;
}

/* The next member to be loaded. There is one. */
static struct wanted *next_wanted(struct tn__link *link)
{
    struct tn__archive *archive = link->scanned;
    if (!archive || !archive->wanted) {
        for (archive = link->archives; !archive->wanted;)
            archive = archive->next_wanted;
        archive->at = 0;
        link->scanned = archive;
    }
    struct tn__tree *node = tn__tree_below(archive->wanted, ~archive->at);
    if (!node) /* another pass */
        node = tn__tree_below(archive->wanted, UINT64_MAX);
    tn__tree_remove(&archive->wanted, node);
    link->wanted_members--;
    archive->at = ~node->key;
    return tn__container_of(node, struct wanted, tree);
}

/* True if members come before the object's references: it is of a later input than their archive. */
static bool are_members_due(const struct tn__link *link, const struct tn__object *object)
{
    const struct tn__archive *archive = link->wanted_members ? link->archives : NULL;
    while (archive && !archive->wanted)
        archive = archive->next_wanted;
    return archive && archive->number < object->input &&
           tn__container_of(archive->wanted, struct wanted, tree)->library == object->owner->library;
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
static void follow_alias(struct tn_library **library, struct tn__entry **at, const struct tn__entry *searched)
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
                           struct tn__entry *entry)
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

static int need_entry(struct tn__link *link, struct tn_library *library, struct tn__entry *entry, unsigned how)
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
            if (!is_loaded(link, entry))
                return want_member(link, &open, library, entry);
            tn__entry_reset(entry); /* the archive's index promised what the member does not define */
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
            return need_object(link, entry->object);
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

static int resolve_object(struct tn__link *link, struct tn__object *object)
{
    struct tn_library *library = object->owner->library;
    for (uint32_t i = object->data->first_global; i < object->data->symbol_count; i++) {
        const struct tn__symbol *symbol = &object->data->symbols[i];
        if (!symbol->entry)
            continue;
        bool open = symbol->place == TN__PLACE_UNDEFINED;
        bool variable = symbol->type == TN__TYPE_TLS && !link->session->imports_tls;
        int code = need_entry(link, library, symbol->entry,
                              (open && symbol->binding == TN__BIND_WEAK ? TN__NEED_WEAK : 0U) |
                                  (open && variable ? TN__NEED_TLS : 0U));
        if (code)
            return code;
    }
    object->explored = link->needs->query;
    return 0;
}

/* Members do not overlap, so those that one link loads are together no larger than their archive. */
static int count_member(struct tn__link *link, struct tn__archive *archive, const struct tn_input *input)
{
    archive->loaded += archive->thin ? 0 : input->length;
    return archive->loaded <= archive->input.length
               ? 0
               : tn__fail(link->err, TN_EFORMAT, "%s: its members overlap", archive->name);
}

static int note_member(struct tn__link *link, const struct tn__archive *archive, uint64_t offset)
{
    struct tn__tree *node = tn__arena_alloc(&link->arena, sizeof *node);
    if (!node)
        return tn__no_memory(link->err, archive->name);
    node->key = (uintptr_t)archive->input.bytes + offset;
    tn__tree_insert(&link->loaded, node);
    return 0;
}

static int load_member(struct tn__link *link, const struct wanted *wanted)
{
    struct tn_library *library = wanted->library;
    struct tn__archive *archive = wanted->entry->archive;
    uint64_t offset = wanted->entry->member;
    struct tn_input input;
    char *name;
    int code = note_member(link, archive, offset);
    if (!code)
        code = tn__archive_load(archive, offset, &input, &name, link->err);
    if (code)
        return code;
    code = count_member(link, archive, &input);
    struct tn__object_data data;
    input.flags = archive->input.flags;
    if (!code)
        code = tn__library_read(library, &input, archive->source.may_change || archive->thin, &data, link->err);
    if (!code && tn__library_is_held(library, &data)) {
        tn__arena_free(&data.arena);
        code = TN__BUSY;
    }
    if (!code)
        code = tn__library_add(&library->own, &data, &link->members, (struct tn__origin){.input = archive->number},
                               &link->journal, link->err);
    tn__free(link->session->allocator, name);
    if (code) {
        if (input.release)
            input.release(input.context, input.bytes, input.length);
        return code;
    }
    struct tn__object *member = tn__container_of(link->members.previous, struct tn__object, queued);
    /* Objects of this link may refer to what it has taken over from them. */
    bool took = library->fall_back_due;
    return took ? need_object(link, member) : 0;
}

/* Loads it, unless it is not needed any more, and goes on with the references that wanted it. */
static int load_next(struct tn__link *link)
{
    const struct wanted *wanted = next_wanted(link);
    int code = 0;
    for (const struct wanted *at = wanted; !code && at; at = at->next)
        if (at->entry->kind == TN__ENTRY_LAZY && at->entry->archive == link->scanned &&
            at->entry->member == link->scanned->at && !is_loaded(link, at->entry))
            code = load_member(link, at);
    for (; !code && wanted; wanted = wanted->next)
        code = need_entry(link, wanted->open.library, wanted->open.entry, wanted->open.how);
    return code;
}

static void reverse(struct tn__object **first, struct tn__object **end)
{
    for (; first < end; first++) {
        struct tn__object *object = *--end;
        *end = *first;
        *first = object;
    }
}

/* The same ahead of the link's object `at`: what this brings comes first. */
static int load_next_before(struct tn__link *link, size_t at)
{
    size_t count = link->count;
    int code = load_next(link);
    if (at == count)
        return code;
    reverse(link->objects + at, link->objects + count);
    reverse(link->objects + count, link->objects + link->count);
    reverse(link->objects + at, link->objects + link->count);
    return code;
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

static int need_queue(struct tn__link *link)
{
    int code = 0;
    const struct tn__list *queue = &link->library->queue;
    for (struct tn__list *node = queue->next; !code && node != queue; node = node->next) {
        struct tn__object *object = tn__container_of(node, struct tn__object, queued);
        if (is_requested(link->request, object))
            code = need_object(link, object);
    }
    return code;
}

static int need_name(struct tn__link *link, const char *name)
{
    struct tn__entry *entry = tn__symtab_intern(&link->library->symtab, name);
    return entry ? need_entry(link, link->library, entry, 0) : tn__no_memory(link->err, NULL);
}

static int need_open(struct tn__link *link)
{
    int code = 0;
    for (size_t i = 0; !code && i < link->needs->resume_count; i++) {
        const struct tn__open *open = &link->needs->resume[i];
        if (!open->library->removed)
            code = need_entry(link, open->library, open->entry, open->how);
    }
    return code;
}

static int need_request(struct tn__link *link)
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
        code = i == link->count || are_members_due(link, link->objects[i]) ? load_next_before(link, i)
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
