/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What libraries define, for clients that look without linking: names of libraries, flags of symbols, all symbols. */

#include "link/model/late.h"
#include "link/session/contents.h"

/* ---- one entry ---- */

/* By the kind of what an entry leads to. 0: it has to be searched for, or nothing defines it. */
static const uint16_t flags_of_kind[] = {
    [TN__ENTRY_UNDEFINED] = 0,
    [TN__ENTRY_HOST] = TN_KNOWN_DEFINED | TN_KNOWN_READY,
    [TN__ENTRY_LAZY] = TN_KNOWN_DEFINED | TN_KNOWN_IN_ARCHIVE,
    [TN__ENTRY_OBJECT] = TN_KNOWN_DEFINED,
    [TN__ENTRY_LINKED] = TN_KNOWN_DEFINED | TN_KNOWN_READY,
    [TN__ENTRY_ABSOLUTE] = TN_KNOWN_DEFINED | TN_KNOWN_READY,
    [TN__ENTRY_ALIAS] = 0, /* found in another library, by a search */
    [TN__ENTRY_PROMISED] = TN_KNOWN_DEFINED | TN_KNOWN_PROMISED,
    [TN__ENTRY_FAILED] = TN_KNOWN_DEFINED | TN_KNOWN_FAILED,
    [TN__ENTRY_BOUND] = 0, /* during a link; its objects define it */
    [TN__ENTRY_GOT] = TN_KNOWN_DEFINED,
    [TN__ENTRY_HANDLE] = TN_KNOWN_DEFINED,
};

/* By what the client has said, or an address of an object. */
static bool is_declared(const struct tn__entry *entry)
{
    switch (entry->kind) {
    case TN__ENTRY_OBJECT:
    case TN__ENTRY_LINKED:
    case TN__ENTRY_ABSOLUTE:
    case TN__ENTRY_PROMISED:
    case TN__ENTRY_FAILED:
        return entry->callable;
    default:
        return false;
    }
}

static bool is_callable(const struct tn_session *session, const struct tn__entry *entry)
{
    if (is_declared(entry))
        return true;
    if (entry->kind == TN__ENTRY_OBJECT) {
        const struct tn__object_data *data = entry->object->data;
        const struct tn__symbol *symbol = &data->symbols[entry->symbol];
        return symbol->place == TN__PLACE_SECTION && data->sections[symbol->section].kind == TN__SECTION_CODE;
    }
    const struct tn__mem_range *code = entry->kind == TN__ENTRY_LINKED ? entry->object->ranges[TN_ZONE_CODE] : NULL;
    return (code && entry->address - code->address < code->size) ||
           (session->lazy && session->lazy->is_stub(session, entry));
}

static uint64_t describe_rank(const struct tn__entry *entry)
{
    return (entry->strength == TN__STRENGTH_WEAK ? TN_KNOWN_WEAK : 0U) | (entry->hidden ? TN_KNOWN_HIDDEN : 0U);
}

/* `target` is what the entry leads to. */
static uint64_t describe(const struct tn_session *session, const struct tn__entry *entry,
                         const struct tn__entry *target)
{
    if (tn__entry_is_generated(target) || !flags_of_kind[target->kind]) /* a generator may not know it */
        return 0;
    return flags_of_kind[target->kind] | describe_rank(entry) |
           (is_callable(session, target) ? TN_KNOWN_CALLABLE : 0U) |
           (target->thread_local ? TN_KNOWN_THREAD_LOCAL : 0U);
}

/* ---- where a lookup would find a name ---- */

static uint64_t ask_resolvers(const struct tn_library *library, const char *name)
{
    return tn__resolvers_find(library, name) ? flags_of_kind[TN__ENTRY_HOST] : 0;
}

/* What an alias of the library leads to, perhaps through others. `*library` becomes the target's. */
static const struct tn__entry *follow(const struct tn_library **library, const struct tn__entry *entry)
{
    while (entry->kind == TN__ENTRY_ALIAS && !tn__entry_is_found(entry)) {
        *library = entry->library;
        entry = entry->target;
    }
    return entry;
}

/* Sets *is_short if memory is out. */
static const struct tn__entry *find(const struct tn_library *library, const char *name, bool *is_short) TN__LOCKED
{
    const struct tn__entry *entry = tn__symtab_find(&library->symtab, name);
    *is_short |= !entry && tn__symtab_is_late(&library->symtab, name);
    return entry;
}

/* In a library of the search order. */
static uint64_t describe_there(const struct tn_search *search, const char *name, bool *is_short) TN__LOCKED
{
    const struct tn_library *library = search->library;
    const struct tn__entry *entry = find(library, name, is_short);
    if (entry && tn__entry_is_offered(entry, search, 0))
        return describe(library->session, entry, follow(&library, entry));
    bool own = entry && entry->kind != TN__ENTRY_UNDEFINED && !tn__entry_is_found(entry);
    return own ? 0 : ask_resolvers(library, name);
}

/* What was found in the search order earlier is searched again, because it may have gone. The target of an alias may be
 * what its library has to search for, too; an alias found by that search is followed, but not searched for. */
static uint64_t describe_entry(const struct tn_library *library, const struct tn__entry *entry, const char *name,
                               bool *is_short) TN__LOCKED
{
    const struct tn__entry *target = entry ? follow(&library, entry) : NULL;
    uint64_t flags = entry ? describe(library->session, entry, target) : 0;
    if (flags)
        return flags;
    name = target ? target->name : name;
    flags = ask_resolvers(library, name);
    for (size_t i = 0; !flags && i < library->search_count; i++)
        flags = describe_there(&library->search[i], name, is_short);
    return flags && target != entry ? flags | describe_rank(entry) : flags;
}

int tn_lookup_flags(struct tn_library *library, struct tn_known *symbols, size_t count, struct tn_error *err)
{
    if (!library || (count && !symbols))
        return tn__fail(err, TN_EINVAL, "no library or no symbols given");
    for (size_t i = 0; i < count; i++)
        if (!symbols[i].name)
            return tn__fail(err, TN_EINVAL, "symbol %zu has no name", i);
    tn__session_lock(library->session);
    int code = tn__library_check(library, err);
    bool is_short = false;
    for (size_t i = 0; !code && i < count; i++) {
        const struct tn__entry *entry = find(library, symbols[i].name, &is_short);
        symbols[i].flags = describe_entry(library, entry, symbols[i].name, &is_short);
        if (is_short)
            code = tn__no_memory(err, library->name);
    }
    tn__session_unlock(library->session);
    return code;
}

/* ---- all symbols ---- */

/* Archives define without strength, so that everything else comes first. */
static bool is_listed(const struct tn__entry *entry)
{
    bool defined = entry->kind != TN__ENTRY_UNDEFINED && (entry->strength || entry->kind == TN__ENTRY_LAZY);
    return defined && !tn__entry_is_own(entry);
}

/* Copies the names, because entries may go once the lock is released. */
static int list_symbols(const struct tn_library *library, struct tn__arena *arena, struct tn_known **out, size_t *count,
                        struct tn_error *err) TN__LOCKED
{
    if (!tn__symtab_enter_late(&library->symtab))
        return tn__no_memory(err, library->name);
    *out = tn__arena_array(arena, library->symtab.count, sizeof **out);
    if (!*out)
        return tn__no_memory(err, library->name);
    bool is_short = false;
    for (size_t i = 0; library->symtab.slots && i <= library->symtab.mask; i++) {
        const struct tn__entry *entry = library->symtab.slots[i];
        if (!entry || !is_listed(entry))
            continue;
        struct tn_known *symbol = &(*out)[(*count)++];
        symbol->name = tn__arena_text(arena, entry->name, strlen(entry->name));
        symbol->flags = TN_KNOWN_DEFINED | describe_entry(library, entry, entry->name, &is_short);
        if (!symbol->name || is_short)
            return tn__no_memory(err, library->name);
    }
    return 0;
}

int tn_library_each_symbol(struct tn_library *library, int (*visit)(void *context, const struct tn_known *symbol),
                           void *context, struct tn_error *err)
{
    if (!library || !visit)
        return tn__fail(err, TN_EINVAL, "no library or no function to call given");
    struct tn__arena arena = {.from = library->session->allocator};
    struct tn_known *symbols = NULL;
    size_t count = 0;
    tn__session_lock(library->session);
    int code = tn__library_check(library, err);
    if (!code)
        code = list_symbols(library, &arena, &symbols, &count, err);
    tn__session_unlock(library->session);
    for (size_t i = 0; !code && i < count; i++)
        code = visit(context, &symbols[i]);
    tn__arena_free(&arena);
    return code;
}

/* ---- libraries ---- */

uint64_t tn_library_number(const struct tn_library *library)
{
    return library ? library->number : UINT64_MAX;
}

struct tn_library *tn_library_find(struct tn_session *session, const char *name)
{
    if (!session || !name)
        return NULL;
    struct tn_library *found = NULL;
    tn__session_lock(session);
    for (struct tn_library *library = session->libraries; library; library = library->next)
        if (!library->removed && !strcmp(library->name, name))
            found = library; /* the list has the newest one first */
    tn__session_unlock(session);
    return found;
}
