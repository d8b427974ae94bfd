/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Members of archives: which of them a link loads, and when.
 *
 * Members are loaded in the order in which GNU ld loads them, which decides what is initialised first and which of
 * equal definitions is kept. An archive is searched after the objects that come before it, in passes: each pass loads
 * members from the first to the last, those that are wanted when it gets there, until a pass would load none. */

#include "link/passes/link.h"

/* A reference for which a member is wanted. */
struct wanted {
    struct tn__tree tree; /* by the member's offset, the first last, because trees are searched downward */
    struct wanted *next;  /* for the same member */
    struct tn_library *library;
    struct tn__entry *entry; /* that the reference leads to */
    bool comes_before;       /* what defines the entry so far */
    struct tn__open open;
};

static bool has_loaded(const struct tn__link *link, const struct tn__archive *archive, uint64_t member)
{
    return tn__tree_find(link->loaded, (uintptr_t)archive->input.bytes + member);
}

/* The first of the archive that is promised to define the entry, lies at `least` or behind it, and is not loaded. */
static int find_promised(struct tn__link *link, struct tn__archive *archive, struct tn__entry *entry, uint64_t least)
{
    struct tn__archive_symbol *found;
    size_t count;
    int code = tn__archive_find(archive, entry->name, &found, &count, link->err);
    size_t at = TN_BISECT(0, count, i, found[i].member < least);
    while (at < count && has_loaded(link, archive, found[at].member))
        at++;
    if (at < count) {
        entry->archive = archive;
        entry->member = found[at].member;
    }
    return code;
}

int tn__link_pass_members(struct tn__link *link, struct tn_library *library, struct tn__entry *entry)
{
    struct tn__archive *own = entry->archive;
    if (!has_loaded(link, own, entry->member))
        return 0;
    int code = find_promised(link, own, entry, entry->member);
    bool is_in_own = !has_loaded(link, own, entry->member);
    for (struct tn__archive *at = library->archives; !code && !is_in_own && at->number > own->number; at = at->next)
        code = find_promised(link, at, entry, 0); /* the latest comes first, and the nearest is the last to be found */
    if (!code && has_loaded(link, entry->archive, entry->member))
        tn__entry_reset(entry);
    return code;
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

static int want(struct tn__link *link, struct tn__archive *archive, uint64_t member, struct wanted reference)
{
    struct wanted *wanted = tn__arena_alloc(&link->arena, sizeof *wanted);
    if (!wanted)
        return tn__no_memory(link->err, archive->name);
    note_archive(link, archive);
    *wanted = reference;
    wanted->tree.key = ~member;
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

int tn__link_want_member(struct tn__link *link, const struct tn__open *open, struct tn_library *library,
                         struct tn__entry *entry)
{
    return want(link, entry->archive, entry->member,
                (struct wanted){.library = library, .entry = entry, .open = *open});
}

static bool is_common(const struct tn__entry *entry)
{
    return entry->kind == TN__ENTRY_OBJECT && tn__strength_is_common(entry->strength);
}

/* True if a member of the archive, behind what refers to the entry, would be loaded rather than what defines the entry
 * so far: that of an earlier archive, a definition of a later input that is not strong, or any common symbol. */
static bool comes_before(const struct tn__link *link, const struct tn__archive *archive, const struct tn__entry *entry)
{
    if (entry->kind == TN__ENTRY_LAZY)
        return entry->archive->number < archive->number;
    return is_common(entry) || tn__entry_is_later(entry, archive->number, &link->journal);
}

/* Any member that defines a common symbol may have a value for it; for a reference the first is taken. */
static int want_of_archive(struct tn__link *link, struct tn__archive *archive, struct wanted reference, bool *any)
{
    struct tn__archive_symbol *found;
    size_t count;
    int code = tn__archive_find(archive, reference.entry->name, &found, &count, link->err);
    if (count > 1 && !is_common(reference.entry))
        count = 1;
    for (size_t i = 0; !code && i < count; i++)
        if (!has_loaded(link, archive, found[i].member)) {
            code = want(link, archive, found[i].member, reference);
            *any = true;
        }
    return code;
}

int tn__link_want_before(struct tn__link *link, const struct tn__object *object, struct tn__entry *entry, bool *any)
{
    struct tn_library *library = object->owner->library;
    struct wanted reference = {.library = library, .entry = entry, .comes_before = true, .open = {library, entry, 0}};
    int code = 0;
    *any = false;
    for (struct tn__archive *at = library->archives; !code && at && at->number >= object->data->number; at = at->next)
        if (comes_before(link, at, entry))
            code = want_of_archive(link, at, reference, any);
    return code;
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

bool tn__link_members_are_due(const struct tn__link *link, const struct tn__object *object)
{
    const struct tn__archive *archive = link->wanted_members ? link->archives : NULL;
    while (archive && !archive->wanted)
        archive = archive->next_wanted;
    return archive && archive->number < object->data->number &&
           tn__container_of(archive->wanted, struct wanted, tree)->library == object->owner->library;
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

/* Loads the one at which the link is. */
static int load_member(struct tn__link *link, struct tn_library *library) TN__LOCKED
{
    struct tn__archive *archive = link->scanned;
    uint64_t offset = archive->at;
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
        code = tn__library_read(library, &input,
                                (struct tn__input_bytes){.may_change = archive->source.may_change || archive->thin},
                                &data, link->err);
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
    link->reached = tn__max64(link->reached, archive->number);
    member->behind = link->reached;
    /* Objects of this link may refer to what it has taken over from them. */
    bool took = library->fall_back_due;
    return took ? tn__link_need_object(link, member) : 0;
}

/* Its entry may have been defined meanwhile. Before a common symbol of an earlier input only a value counts. */
static int is_still_wanted(const struct tn__link *link, const struct wanted *wanted, bool *is)
{
    struct tn__archive *archive = link->scanned;
    const struct tn__entry *entry = wanted->entry;
    *is = wanted->comes_before
              ? comes_before(link, archive, entry)
              : entry->kind == TN__ENTRY_LAZY && entry->archive == archive && entry->member == archive->at;
    *is = *is && !has_loaded(link, archive, archive->at);
    return *is && is_common(entry) && !tn__entry_is_later(entry, archive->number, &link->journal)
               ? tn__archive_has_value(archive, entry->name, archive->at, is, link->err)
               : 0;
}

/* Loads it, unless it is not needed any more, and goes on with the references that wanted it. */
static int load_next(struct tn__link *link) TN__LOCKED
{
    const struct wanted *wanted = next_wanted(link);
    int code = 0;
    for (const struct wanted *at = wanted; !code && at; at = at->next) {
        bool is;
        code = is_still_wanted(link, at, &is);
        if (!code && is)
            code = load_member(link, at->library);
    }
    for (; !code && wanted; wanted = wanted->next)
        code = tn__link_need_entry(link, wanted->open.library, wanted->open.entry, wanted->open.how);
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

int tn__link_load_member_before(struct tn__link *link, size_t at)
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
