/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Definitions that are in no object file: addresses, aliases, and re-exports of another library's symbols. Those that a
 * tracker owns belong to an object without data, so that they are removed like everything else. */

#include "link/session/contents.h"

/* One definition, whatever the call that makes it. */
struct definition {
    struct tn__entry *entry;
    uint8_t strength, kind;
    bool hidden, thread_local, callable;
    uint64_t address;          /* absolute */
    struct tn__entry *target;  /* alias */
    struct tn_library *source; /* of the target */
};

struct definitions {
    struct tn_library *library, *source; /* source NULL: addresses */
    struct tn_tracker *owner;            /* NULL: none */
    struct definition *items;
    size_t count;
};

/* ---- entering ---- */

static void enter_definition(const struct definition *d, struct tn__object *owner)
{
    struct tn__entry *entry = d->entry;
    entry->kind = d->kind;
    entry->strength = d->strength;
    entry->hidden = d->hidden;
    entry->thread_local = d->thread_local;
    entry->callable = d->callable;
    entry->object = owner;
    if (d->target) {
        tn__entry_lead(entry, d->source, d->target);
    } else
        entry->address = d->address;
    if (owner)
        owner->entries[owner->entry_count++] = entry;
}

/* It is not taken if it is weak and there is a definition already. */
static int define_entry(const struct definition *d, struct tn__object *owner, struct tn__journal *journal, bool *taken,
                        struct tn_error *err) TN__LOCKED
{
    int code = tn__entry_yields(d->entry, d->strength, "the client", taken, err);
    if (code || !*taken)
        return code;
    if (d->target && tn__entry_leads_to(d->target, d->entry, NULL))
        return tn__fail(err, TN_EINVAL, "'%s' would be an alias of itself, through '%s'", d->entry->name,
                        d->target->name);
    if (!tn__journal_note(journal, d->entry))
        return tn__no_memory(err, NULL);
    enter_definition(d, owner);
    return 0;
}

/* Each is checked against the ones entered before it, so that duplicates among them are found. */
static int enter_each(const struct definitions *all, struct tn__object *owner, struct tn__journal *journal,
                      struct tn_error *err) TN__LOCKED
{
    bool taken;
    int code = 0;
    for (size_t i = 0; !code && i < all->count; i++)
        code = define_entry(&all->items[i], owner, journal, &taken, err);
    return code;
}

static struct tn__object *new_owner(struct tn_tracker *tracker, size_t count)
{
    struct tn__object *object =
        tn__alloc(tracker->library->session->allocator, sizeof *object + count * sizeof(struct tn__entry *));
    if (!object)
        return NULL;
    *object = (struct tn__object){.name = "the client", .owner = tracker};
    tn__list_init(&object->owned);
    tn__list_init(&object->queued);
    tn__list_append(&tracker->objects, &object->owned);
    return object;
}

/* Enters all or none. Releases the lock while a link holds one of the names. */
static int enter_all(const struct definitions *all, struct tn_error *err) TN__LOCKED
{
    struct tn_session *session = all->library->session;
    struct tn__journal journal = {.arena.from = session->allocator};
    struct tn__object *owner = NULL;
    int code = tn__entries_wait(all->library, all->source, all->count ? &all->items->entry : NULL, sizeof *all->items,
                                all->count, err);
    if (!code && all->owner && !(owner = new_owner(all->owner, all->count)))
        code = tn__no_memory(err, NULL);
    if (!code)
        code = enter_each(all, owner, &journal, err);
    if (code) {
        tn__journal_undo(&journal);
        if (owner) {
            owner->entry_count = 0;
            tn__object_remove(owner);
        }
    } else
        tn__promises_discard(session, &journal);
    tn__journal_free(&journal);
    return code;
}

int tn__entry_define(struct tn__entry *entry, uint64_t flags, struct tn__journal *journal, bool *taken,
                     struct tn_error *err)
{
    const struct definition d = {.entry = entry,
                                 .kind = TN__ENTRY_ABSOLUTE,
                                 .strength = tn__strength_of_flags(flags),
                                 .hidden = flags & TN_SYMBOL_HIDDEN};
    return define_entry(&d, NULL, journal, taken, err);
}

/* ---- public ---- */

/* What a caller's array says of definition `i`; target NULL: an address. */
struct description {
    const char *name, *target;
    uint64_t flags, address;
};

typedef struct description describe(const void *array, size_t i);

static int check_description(const struct description *d, struct tn_error *err)
{
    if (!d->name || !*d->name)
        return tn__fail(err, TN_EINVAL, "a definition needs a name");
    uint64_t known = TN_SYMBOL_WEAK | TN_SYMBOL_HIDDEN | (d->target ? 0 : TN_SYMBOL_THREAD_LOCAL | TN_SYMBOL_CALLABLE);
    bool is_both = d->flags & TN_SYMBOL_THREAD_LOCAL && d->flags & TN_SYMBOL_CALLABLE;
    if (d->flags & ~known || is_both)
        return tn__fail(err, TN_EINVAL, "'%s': unknown flags %#llx", d->name, (unsigned long long)d->flags);
    return 0;
}

static int fill(struct definition *out, const struct description *d, struct tn_library *library,
                struct tn_library *source, struct tn_error *err) TN__LOCKED
{
    out->kind = source ? TN__ENTRY_ALIAS : TN__ENTRY_ABSOLUTE;
    out->strength = tn__strength_of_flags(d->flags);
    out->hidden = d->flags & TN_SYMBOL_HIDDEN;
    out->thread_local = d->flags & TN_SYMBOL_THREAD_LOCAL;
    out->callable = d->flags & TN_SYMBOL_CALLABLE;
    out->address = d->address;
    out->entry = tn__symtab_intern(&library->symtab, d->name);
    out->source = source;
    out->target = source ? tn__symtab_intern(&source->symtab, d->target) : NULL;
    return out->entry && (out->target || !source) ? 0 : tn__fail(err, TN_ENOMEM, "'%s': out of memory", d->name);
}

/* What the library needs of the source is initialised first. */
static int note_source(struct tn_library *library, struct tn_library *source, struct tn_error *err)
{
    for (size_t i = 0; i < library->source_count; i++)
        if (library->sources[i] == source)
            return 0;
    if (!tn__grow(library->session->allocator, &library->sources, &library->source_capacity, library->source_count + 1,
                  sizeof(struct tn_library *)))
        return tn__no_memory(err, library->name);
    library->sources[library->source_count++] = source;
    return 0;
}

static int define(struct definitions *all, describe *describe_one, const void *array, struct tn_error *err) TN__LOCKED
{
    int code = tn__libraries_check(all->library, all->source, err);
    for (size_t i = 0; !code && i < all->count; i++) {
        struct description d = describe_one(array, i);
        code = check_description(&d, err);
        if (!code)
            code = fill(&all->items[i], &d, all->library, all->source, err);
    }
    if (!code && all->source && all->source != all->library)
        code = note_source(all->library, all->source, err);
    return code ? code : enter_all(all, err);
}

static int define_array(struct tn_library *library, struct tn_tracker *owner, struct tn_library *source,
                        describe *describe_one, const void *array, size_t count, struct tn_error *err)
{
    if (!library || (count && !array))
        return tn__fail(err, TN_EINVAL, "no library or no definitions given");
    if (owner && owner->library != library)
        return tn__fail(err, TN_EINVAL, "%s: the tracker belongs to another library", library->name);
    if (source && source->session != library->session)
        return tn__fail(err, TN_EINVAL, "%s: re-exports need a library of the same session", library->name);
    const struct tn_allocator *from = library->session->allocator;
    struct definitions all = {library, source, owner, tn__alloc_zeroed(from, count, sizeof *all.items), count};
    if (!all.items && count)
        return tn__no_memory(err, NULL);
    tn__session_lock(library->session);
    int code = define(&all, describe_one, array, err);
    tn__session_unlock(library->session);
    tn__free(from, all.items);
    return code;
}

static struct description of_definition(const void *array, size_t i)
{
    const struct tn_definition *d = (const struct tn_definition *)array + i;
    return (struct description){.name = d->name, .flags = d->flags, .address = (uintptr_t)d->address};
}

static struct description of_reexport(const void *array, size_t i)
{
    const struct tn_reexport *r = (const struct tn_reexport *)array + i;
    return (struct description){.name = r->name, .target = r->target ? r->target : r->name, .flags = r->flags};
}

int tn_define_all(struct tn_library *library, const struct tn_definition *definitions, size_t count,
                  struct tn_tracker *owner, struct tn_error *err)
{
    return define_array(library, owner, NULL, of_definition, definitions, count, err);
}

int tn_reexport(struct tn_library *library, const struct tn_reexport *symbols, size_t count, struct tn_library *source,
                struct tn_tracker *owner, struct tn_error *err)
{
    if (!source)
        return tn__fail(err, TN_EINVAL, "no library to re-export from given");
    return define_array(library, owner, source, of_reexport, symbols, count, err);
}

int tn_define(struct tn_library *library, const char *name, const void *address, struct tn_error *err)
{
    return tn_define_all(library, &(struct tn_definition){.name = name, .address = address}, 1, NULL, err);
}

int tn_define_alias(struct tn_library *library, const char *name, const char *of, struct tn_error *err)
{
    if (!library || !name || !*name || !of || !*of)
        return tn__fail(err, TN_EINVAL, "an alias needs a library and two names");
    return tn_reexport(library, &(struct tn_reexport){.name = name, .target = of}, 1, library, NULL, err);
}
