/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Which objects belong to a link: the ones asked for, and from them whatever their references lead to, members of
 * archives included. A worklist, each object and each reference once. */

#include "link.h"

int tn__link_need_object(struct tn__link *link, struct tn__object *object)
{
    if (object->link)
        return object->link == link ? 0 : TN__BUSY;
    if (!object->data)
        return 0; /* linked */
    if (!tn__grow(link->session->allocator, &link->objects, &link->capacity, link->count + 1, sizeof *link->objects))
        return tn__fail(link->err, TN_ENOMEM, "%s: out of memory", object->name);
    object->link = link;
    link->objects[link->count++] = object;
    return 0;
}

static int load_member(struct tn__link *link, struct tn__entry *entry)
{
    struct tn_input input;
    char *name;
    struct tn__archive *archive = entry->archive;
    int code = tn__archive_load(archive, entry->member, &input, &name, link->err);
    if (code)
        return code;
    struct tn__object_data data;
    input.flags = archive->input.flags;
    code = tn__library_read(link->library, &input, &data, link->err);
    if (!code && tn__library_is_held(link->library, &data)) {
        tn__arena_free(&data.arena);
        code = TN__BUSY;
    }
    if (!code)
        code = tn__library_add(&link->library->own, &data, &link->members, &link->journal, link->err);
    tn__free(link->session->allocator, name);
    if (code) {
        if (input.release)
            input.release(input.context, input.bytes, input.length);
        return code;
    }
    if (entry->kind == TN__ENTRY_LAZY)
        entry->kind = TN__ENTRY_UNDEFINED; /* the archive's index promised what the member does not define */
    return 0;
}

static void ask_resolvers(struct tn__link *link, struct tn__entry *entry)
{
    for (const struct tn__resolver *r = link->library->resolvers; r; r = r->next) {
        void *address = r->function(r->context, entry->name);
        if (address) {
            entry->kind = TN__ENTRY_HOST;
            entry->address = (uintptr_t)address;
            return;
        }
    }
}

int tn__link_need_entry(struct tn__link *link, struct tn__entry *entry)
{
    entry = tn__entry_target(entry);
    if (entry->kind == TN__ENTRY_LAZY) {
        int code = load_member(link, entry);
        if (code)
            return code;
    }
    if (entry->kind == TN__ENTRY_OBJECT)
        return tn__link_need_object(link, entry->object);
    if (entry->kind != TN__ENTRY_UNDEFINED)
        return 0;
    bool noted;
    int code = tn__link_note_bound(link, entry, &noted);
    if (!code && !noted)
        ask_resolvers(link, entry);
    return code;
}

/* References that lead nowhere new. A weak one is satisfied by what is there, but pulls no member in (gABI, archive files);
 * a thread-local one is not asked of resolvers, which could answer for one thread only. */
static bool stays_open(const struct tn__symbol *symbol)
{
    return symbol->place == TN__PLACE_UNDEFINED &&
           ((symbol->binding == TN__BIND_WEAK && symbol->entry->kind == TN__ENTRY_LAZY) ||
            (symbol->type == TN__TYPE_TLS && symbol->entry->kind == TN__ENTRY_UNDEFINED));
}

static int resolve_object(struct tn__link *link, const struct tn__object *object)
{
    for (uint32_t i = 1; i < object->data->symbol_count; i++) {
        const struct tn__symbol *symbol = &object->data->symbols[i];
        if (!symbol->entry || stays_open(symbol))
            continue;
        int code = tn__link_need_entry(link, symbol->entry);
        if (code)
            return code;
    }
    return 0;
}

int tn__link_resolve(struct tn__link *link)
{
    for (size_t i = 0; i < link->count; i++) {
        int code = resolve_object(link, link->objects[i]);
        if (code)
            return code;
    }
    tn__link_settle_bounds(link, ask_resolvers);
    return 0;
}
