/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Names that nothing defines, refers to or waits for any more are removed from a library's table, so that a program
 * that keeps adding and removing new names does not grow. There are no reference counts: when the table has doubled
 * since the last sweep and definitions were removed meanwhile, all entries still in use are marked and the others freed
 * for new names. So entering names costs nothing extra, and removing them little. */

#include "link/demand/promise.h"

/* The library being swept, and how much work that was. */
struct sweep {
    struct tn_library *library;
    size_t work;
};

static void mark_entry(struct sweep *s, struct tn__entry *entry)
{
    if (entry)
        entry->in_use = true;
    s->work++;
}

static void mark_object(struct sweep *s, const struct tn__object *object) TN__LOCKED
{
    const struct tn__object_data *data = object->data; /* NULL once it is linked: it refers to nothing by name then */
    for (uint32_t i = 0; i < object->entry_count; i++)
        mark_entry(s, object->entries[i]);
    for (uint32_t i = 1; data && i < data->symbol_count; i++)
        mark_entry(s, data->symbols[i].entry);
    for (uint32_t i = 0; data && i < data->group_count; i++)
        mark_entry(s, tn__symtab_find_key(&s->library->symtab, data->groups[i].signature, data->groups[i].key));
}

static void mark_promise(struct sweep *s, const struct tn_responsibility *promise)
{
    for (size_t i = 0; i < promise->count; i++)
        mark_entry(s, promise->entries[i]);
}

/* Functions with stubs, also those whose removal waits for a call. */
static void mark_stubs(struct sweep *s, const struct tn__list *batches)
{
    for (TN_EACH(const struct tn__lazy_batch, batch, batches, owned))
        for (size_t i = 0; batch->library == s->library && i < batch->count; i++)
            mark_entry(s, batch->facts[i].entry);
}

static void mark_tracker(struct sweep *s, const struct tn_tracker *tracker) TN__LOCKED
{
    for (TN_EACH(struct tn__object, object, &tracker->objects, owned))
        mark_object(s, object);
    for (TN_EACH(struct tn_responsibility, promise, &tracker->promises, owned))
        mark_promise(s, promise);
    mark_stubs(s, &tracker->lazy);
}

/* The entries at which queries will continue, and those for which they have asked generators. */
static void mark_queries(struct sweep *s)
{
    const struct tn__list *queries = &s->library->session->queries;
    for (TN_EACH(const struct tn__query, query, queries, listed)) {
        for (size_t i = 0; i < query->open_count; i++)
            if (query->open[i].library == s->library)
                mark_entry(s, query->open[i].entry);
        for (size_t i = 0; i < query->asked_count; i++)
            if (query->asked_of[i].library == s->library)
                mark_entry(s, query->asked_of[i].entry);
    }
}

static void mark_targets(struct sweep *s, const struct tn_library *library)
{
    const struct tn__symtab *table = &library->symtab;
    for (size_t i = 0; table->slots && i <= table->mask; i++)
        if (table->slots[i] && table->slots[i]->kind == TN__ENTRY_ALIAS && table->slots[i]->library == s->library)
            mark_entry(s, table->slots[i]->target);
    s->work += table->count;
}

static void mark_all(struct sweep *s) TN__LOCKED
{
    struct tn_library *library = s->library;
    const struct tn_session *session = library->session;
    for (struct tn_tracker *tracker = NULL; (tracker = tn__library_next_tracker(library, tracker));)
        mark_tracker(s, tracker);
    mark_stubs(s, &session->later[TN__ACK_FIRST_CALLS]);
    mark_queries(s);
    for (const struct tn_library *other = session->libraries; other; other = other->next)
        if (other == library || library->found_by_others)
            mark_targets(s, other);
}

/* True if the entry may go: it is not marked, and undefined or a stale alias. Clears the mark. */
static bool is_unused(struct tn__entry *entry) TN__LOCKED
{
    bool used = entry->in_use || entry->group_owner ||
                (entry->kind == TN__ENTRY_UNDEFINED ? entry->asked != 0 : !tn__entry_is_stale(entry));
    entry->in_use = false;
    return !used;
}

void tn__library_sweep(struct tn_library *library)
{
    struct sweep s = {.library = library};
    struct tn__symtab *table = &library->symtab;
    if (library->removed || library->readers ||
        library->session->building) /* these may hold entries that nothing marks: another time */
        return;
    mark_all(&s);
    tn__symtab_filter(table, is_unused);
    table->swept_revision = library->session->revision;
    table->sweep_at = tn__max64(tn__max64(TN__SWEEP_LEAST, 2 * table->count), table->count + s.work / 4);
}
