/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Where a library looks for what it does not define: resolvers, generators, other libraries. What is found elsewhere
 * leaves an alias without strength in the library's own table: the next link has it at once, and any definition
 * overrides it. */

#include "link/model/late.h"
#include "link/passes/link.h"

void *tn__resolvers_find(const struct tn_library *library, const char *name)
{
    const struct tn__dl_hooks *dl = library->session->dl;
    void *address = dl && dl->find ? dl->find(name) : NULL;
    for (const struct tn__supplier *r = library->resolvers.first; r && !address; r = r->next)
        address = r->resolve(r->context, name);
    return address;
}

bool tn__resolvers_ask(const struct tn_library *library, struct tn__entry *entry)
{
    void *address = tn__resolvers_find(library, entry->name);
    if (address) {
        entry->kind = TN__ENTRY_HOST;
        entry->address = (uintptr_t)address;
    }
    return address;
}

static struct tn__supplier *next_generator(const struct tn_library *library, const struct tn__entry *entry)
{
    struct tn__supplier *generator = library->generators.first;
    while (generator && generator->number <= entry->asked)
        generator = generator->next;
    return generator;
}

struct tn__supplier *tn__generator_for(const struct tn__missing *missing)
{
    return missing->entry->kind == TN__ENTRY_PROMISED ? NULL : next_generator(missing->library, missing->entry);
}

/* If a generator has to be asked, records that and sets *noted. */
static int note_missing(struct tn__link *link, struct tn_library *library, struct tn__entry *entry, bool *noted)
{
    struct tn__needs *needs = link->needs;
    *noted = next_generator(library, entry) != NULL;
    if (!*noted || (entry->kind == TN__ENTRY_UNDEFINED && entry->noted == link->number))
        return 0;
    if (tn__entry_is_found(entry))
        tn__entry_reset(entry);
    if (!tn__grow(link->session->allocator, &needs->missing, &needs->missing_capacity, needs->missing_count + 1,
                  sizeof *needs->missing))
        return tn__no_memory(link->err, NULL);
    entry->noted = link->number;
    needs->missing[needs->missing_count++] = (struct tn__missing){library, entry};
    return 0;
}

bool tn__entry_is_offered(const struct tn__entry *entry, const struct tn_search *search, unsigned how)
{
    if (entry->hidden && !(search->flags & TN_SEARCH_HIDDEN))
        return false;
    switch (entry->kind) {
    case TN__ENTRY_OBJECT:
    case TN__ENTRY_LINKED:
    case TN__ENTRY_ABSOLUTE:
    case TN__ENTRY_HOST:
    case TN__ENTRY_PROMISED:
    case TN__ENTRY_FAILED:
        return true;
    case TN__ENTRY_LAZY:
        return !(how & TN__NEED_WEAK);
    case TN__ENTRY_ALIAS:
        return !tn__entry_is_found(entry);
    default:
        return false;
    }
}

void tn__entry_lead(struct tn__entry *alias, struct tn_library *library, struct tn__entry *target)
{
    alias->target = target;
    alias->library = library;
    target->aliased = true;
    library->found_by_others = true;
}

/* Searches where another library would search. The name gets an entry there only if something there may define it. */
static int ask(struct tn__link *link, struct tn_library *library, const char *name, unsigned how,
               struct tn__entry **found) TN__LOCKED
{
    bool noted = false;
    *found = NULL;
    if (!library->generators.first && (!library->resolvers.first || how & TN__NEED_TLS))
        return 0;
    struct tn__entry *entry = tn__symtab_intern(&library->symtab, name);
    if (!entry)
        return tn__no_memory(link->err, NULL);
    if (entry->kind != TN__ENTRY_UNDEFINED && !tn__entry_is_found(entry)) /* what it found itself does not count */
        return 0;
    bool known = !(how & TN__NEED_TLS) && tn__resolvers_ask(library, entry);
    int code = known ? 0 : note_missing(link, library, entry, &noted);
    if (known || noted)
        *found = entry;
    return code;
}

/* True if `at` is on the way from `first` to `entry`. */
static bool is_between(const struct tn__entry *first, const struct tn__entry *at, const struct tn__entry *entry)
{
    for (; first && first != at && first != entry; first = first->kind == TN__ENTRY_ALIAS ? first->target : NULL)
        ;
    return first == at;
}

bool tn__entry_leads_to(struct tn__entry *alias, const struct tn__entry *entry, const struct tn__entry *first)
{
    /* So a chain of aliases costs what it is long, but in the worst order, every other one first: then n of them take n
     * * n / 4 steps, 45 ms for 10,000. Looking all of them up takes twice as many. */
    if (alias != entry && !entry->aliased)
        return false;
    bool any_found = false;
    struct tn__entry *at = alias;
    for (; at != entry && at->kind == TN__ENTRY_ALIAS; at = at->target)
        any_found |= tn__entry_is_found(at);
    if (at != entry || !any_found)
        return at == entry;
    for (at = alias; at != entry; at = at->target)
        if (tn__entry_is_found(at) && !is_between(first, at, entry)) {
            tn__entry_reset(at);
            return false;
        }
    return true;
}

int tn__link_search(struct tn__link *link, struct tn_library *library, struct tn__entry *entry, unsigned how,
                    const struct tn__entry *first)
{
    if (!(how & TN__NEED_TLS) && tn__resolvers_ask(library, entry))
        return 0;
    bool noted;
    int code = note_missing(link, library, entry, &noted);
    for (size_t i = 0; !code && !noted && i < library->search_count; i++) {
        const struct tn_search *search = &library->search[i];
        if (search->library->removed)
            continue;
        const struct tn__symtab *there = &search->library->symtab;
        struct tn__entry *found = tn__symtab_find(there, entry->name);
        if (!found && tn__symtab_is_late(there, entry->name))
            return tn__no_memory(link->err, NULL);
        if (!found || !tn__entry_is_offered(found, search, how))
            code = ask(link, search->library, entry->name, how, &found);
        if (code || !found || tn__entry_leads_to(found, entry, first))
            continue;
        if (found->kind != TN__ENTRY_UNDEFINED) { /* else a generator is to be asked */
            entry->kind = TN__ENTRY_ALIAS;
            entry->object = NULL;
            tn__entry_lead(entry, search->library, found);
        }
        break;
    }
    return code;
}

/* ---- public ---- */

/* The number may be that of a generator that was removed, so a query that has begun may not ask a new one. */
static int number_supplier(struct tn__supplier *supplier, const struct tn__supplier *last, struct tn_error *err)
{
    supplier->number = (uint16_t)(last ? last->number + 1 : 1);
    return supplier->number ? 0 : tn__fail(err, TN_ENOMEM, "a library has too many resolvers or generators");
}

int tn__library_add_supplier(struct tn_library *library, struct tn__suppliers *list, struct tn__supplier supplier,
                             struct tn_error *err)
{
    struct tn_session *session = library->session;
    tn__session_lock(session);
    struct tn__supplier *kept = NULL;
    int code = tn__library_check(library, err);
    if (!code)
        code = number_supplier(&supplier, list->first ? tn__container_of(list->end, struct tn__supplier, next) : NULL,
                               err);
    if (!code && !(kept = tn__alloc(session->allocator, sizeof *kept)))
        code = tn__no_memory(err, NULL);
    if (!code) {
        *kept = supplier;
        *list->end = kept;
        list->end = &kept->next;
    }
    tn__session_unlock(session);
    return code;
}

int tn_add_resolver(struct tn_library *library, tn_resolver *function, void *context, struct tn_error *err)
{
    if (!library || !function)
        return tn__fail(err, TN_EINVAL, "no library or no resolver given");
    return tn__library_add_supplier(library, &library->resolvers,
                                    (struct tn__supplier){.resolve = function, .context = context}, err);
}

int tn_add_generator(struct tn_library *library, tn_generate *function, void *context, struct tn_error *err)
{
    if (!library || !function)
        return tn__fail(err, TN_EINVAL, "no library or no generator given");
    return tn__library_add_supplier(library, &library->generators,
                                    (struct tn__supplier){.generate = function, .context = context}, err);
}

static int check_search(const struct tn_library *library, const struct tn_search *others, size_t count,
                        struct tn_error *err) TN__LOCKED
{
    int code = tn__library_check(library, err);
    for (size_t i = 0; !code && i < count; i++) {
        if (!others[i].library || others[i].library->session != library->session)
            return tn__fail(err, TN_EINVAL, "%s: its search order may name libraries of its own session only",
                            library->name);
        if (others[i].flags & ~(uint64_t)TN_SEARCH_HIDDEN)
            return tn__fail(err, TN_EINVAL, "%s: unknown search flags %#llx", library->name,
                            (unsigned long long)others[i].flags);
        code = tn__library_check(others[i].library, err);
    }
    return code;
}

int tn_library_search(struct tn_library *library, const struct tn_search *others, size_t count, struct tn_error *err)
{
    if (!library || (count && !others))
        return tn__fail(err, TN_EINVAL, "no library or no libraries to search given");
    struct tn_session *session = library->session;
    tn__session_lock(session);
    struct tn_search *copy = NULL;
    int code = check_search(library, others, count, err);
    if (!code && count && !(copy = tn__alloc_zeroed(session->allocator, count, sizeof *copy)))
        code = tn__no_memory(err, NULL);
    if (!code) {
        for (size_t i = 0; i < count; i++)
            copy[i] = others[i];
        tn__free(session->allocator, library->search);
        library->search = copy;
        library->search_count = count;
    }
    tn__session_unlock(session);
    return code;
}
