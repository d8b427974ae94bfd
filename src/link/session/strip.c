/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Dead stripping: which sections the roots of a link lead to. What static linkers keep is kept:
 *
 *  - the sections that define the roots, and whatever a kept section's relocations refer to;
 *  - arrays of initializers and finalizers, and sections that say so themselves (SHF_GNU_RETAIN);
 *  - sections that are framed by __start_ and __stop_ symbols of a kept one (gather.c);
 *  - the other members of a kept section's COMDAT group, and sections that follow a kept one (SHF_LINK_ORDER);
 *  - sections of Mach-O that say so (S_ATTR_LIVE_SUPPORT), if they refer to something that is kept.
 *
 * .eh_frame is kept and keeps nothing by itself: an entry counts, with what it refers to, once its function does.
 *
 * Runs before the scan, so relocations have not been checked yet: what makes no sense is passed over here and found
 * there, if it matters. */

#include "link/session/contents.h"

struct place {
    const struct tn__object *object;
    struct tn__input_section *section;
};

struct marker {
    struct tn__link *link;
    struct place *work; /* live, and their relocations not looked at */
    size_t count, capacity;
    bool failed; /* out of memory */
};

static void mark_section(struct marker *marker, struct place place)
{
    if (!place.section || place.section->live || !tn__section_is_loaded(place.section))
        return;
    const struct tn_allocator *from = marker->link->session->allocator;
    if (!tn__grow(from, &marker->work, &marker->capacity, marker->count + 1, sizeof *marker->work)) {
        marker->failed = true;
        return;
    }
    place.section->live = true;
    marker->work[marker->count++] = place;
}

/* ---- references ---- */

static struct place place_of(const struct tn__object *object, uint32_t index) TN__LOCKED
{
    struct place none = {0};
    if (index >= object->data->symbol_count)
        return none;
    const struct tn__symbol *symbol = &object->data->symbols[index];
    if (symbol->entry) {
        const struct tn__entry *entry = tn__entry_target(symbol->entry);
        if (entry->kind != TN__ENTRY_OBJECT)
            return none;
        object = entry->object;
        symbol = &object->data->symbols[entry->symbol];
    }
    if (symbol->place != TN__PLACE_SECTION)
        return none;
    return (struct place){object, &object->data->sections[symbol->section]};
}

/* What a symbol leads to if nothing defines it: it is not known yet whether something does. */
static struct place stand_in_of(const struct tn__object *object, uint32_t index) TN__LOCKED
{
    const struct tn__symbol *symbol = index < object->data->symbol_count ? &object->data->symbols[index] : NULL;
    return symbol && symbol->stand_in == TN__STAND_IN_SLOT ? place_of(object, symbol->section) : (struct place){0};
}

typedef void visit_reloc(struct marker *marker, const struct place *from, const struct tn__reloc *reloc, void *context);

static void for_each_reloc(struct marker *marker, const struct place *from, visit_reloc *visit, void *context)
{
    struct tn__relocs relocs;
    tn__relocs_begin(&relocs, from->section);
    for (const struct tn__reloc *reloc; (reloc = tn__relocs_next(&relocs));)
        visit(marker, from, reloc, context);
}

static void mark_gathered(void *marker, const struct tn__object *object, struct tn__input_section *section)
{
    mark_section(marker, (struct place){object, section});
}

static void follow(struct marker *marker, const struct place *from, const struct tn__reloc *reloc,
                   void *unused) TN__LOCKED
{
    (void)unused;
    struct tn__entry *entry =
        reloc->symbol < from->object->data->symbol_count ? from->object->data->symbols[reloc->symbol].entry : NULL;
    if (!entry || tn__entry_target(entry)->kind != TN__ENTRY_BOUND) {
        mark_section(marker, place_of(from->object, reloc->symbol));
        mark_section(marker, stand_in_of(from->object, reloc->symbol));
        return;
    }
    struct tn__bound *bound = tn__find_bound(marker->link, tn__entry_target(entry));
    if (!bound->kept)
        tn__each_gathered(marker->link, &bound->wanted, mark_gathered, marker);
    bound->kept = true;
}

/* ---- what becomes live with a section, besides what its relocations refer to ---- */

/* Noted once, before anything is followed: a search through all objects for each section that becomes live would take
 * time that grows with the square of the file. */
struct tn__dependent {
    struct tn__dependent *next;
    struct place place;
};

static void note_dependent(struct marker *marker, struct tn__input_section *of, struct place place)
{
    struct tn__dependent *dependent = tn__arena_alloc(&marker->link->arena, sizeof *dependent);
    marker->failed |= !dependent;
    if (!dependent)
        return;
    *dependent = (struct tn__dependent){of->dependents, place};
    of->dependents = dependent;
}

/* Each member leads to the next one, and the last one to the first. */
static void note_group(struct marker *marker, const struct tn__object *object, const struct tn__group *group)
{
    struct tn__input_section *first = NULL, *last = NULL;
    for (uint32_t m = 0; m < group->count; m++) {
        struct tn__input_section *section = &object->data->sections[group->members[m]];
        if (!tn__section_is_loaded(section))
            continue;
        if (last)
            note_dependent(marker, last, (struct place){object, section});
        first = first ? first : section;
        last = section;
    }
    if (last != first)
        note_dependent(marker, last, (struct place){object, first});
}

/* The record that relocations are being visited in; they stand in order of their offsets. */
struct record {
    uint64_t start, end;
    bool is_cie;
    struct tn__input_section *function; /* where it lies; NULL: not known yet */
};

enum { EH_LENGTH = 4, EH_FUNCTION = 8 };

static bool find_record(const struct tn__input_section *section, uint64_t offset, struct record *record)
{
    if (offset < record->start)
        return false;
    while (offset >= record->end) {
        uint64_t start = record->end;
        if (!tn__inside(start, EH_FUNCTION, section->size))
            return false;
        uint64_t length = tn__get32(section->bytes + start);
        if (!length || !tn__inside(start + EH_LENGTH, length, section->size))
            return false;
        *record = (struct record){.start = start,
                                  .end = start + EH_LENGTH + length,
                                  .is_cie = !tn__get32(section->bytes + start + EH_LENGTH)};
    }
    return true;
}

/* An unreadable table keeps everything that it refers to. */
static void note_unwind(struct marker *marker, const struct place *from, const struct tn__reloc *reloc,
                        void *context) TN__LOCKED
{
    struct record *record = context;
    struct place to = place_of(from->object, reloc->symbol);
    bool known = from->section->bytes && find_record(from->section, reloc->offset, record);
    if (known && !record->is_cie && reloc->offset == record->start + EH_FUNCTION && to.section &&
        to.section->kind == TN__SECTION_CODE)
        record->function = to.section;
    else if (!known || record->is_cie)
        mark_section(marker, to);
    else if (record->function && to.section)
        note_dependent(marker, record->function, to);
}

/* A section that an earlier link has placed is kept. */
static bool is_linked(const struct tn__object *object, uint32_t index) TN__LOCKED
{
    struct tn__entry *entry = index < object->data->symbol_count ? object->data->symbols[index].entry : NULL;
    return entry && tn__entry_target(entry)->kind == TN__ENTRY_LINKED;
}

static void note_support(struct marker *marker, const struct place *from, const struct tn__reloc *reloc,
                         void *unused) TN__LOCKED
{
    (void)unused;
    struct place to = place_of(from->object, reloc->symbol);
    if (to.section)
        note_dependent(marker, to.section, *from);
    else if (is_linked(from->object, reloc->symbol))
        mark_section(marker, *from);
}

static void note_dependents(struct marker *marker, const struct tn__object *object)
{
    for (uint32_t i = 0; i < object->data->group_count; i++)
        note_group(marker, object, &object->data->groups[i]);
    for (uint32_t i = 1; i < object->data->section_count; i++) {
        struct tn__input_section *section = &object->data->sections[i];
        struct place place = {object, section};
        if (section->follows)
            note_dependent(marker, &object->data->sections[section->follows], place);
        if (section->role == TN__ROLE_UNWIND && tn__section_is_loaded(section))
            for_each_reloc(marker, &place, note_unwind, &(struct record){0});
        if (section->supports && tn__section_is_loaded(section))
            for_each_reloc(marker, &place, note_support, NULL);
    }
}

/* ---- all of them ---- */

/* Empties the worklist. */
static void follow_all(struct marker *marker)
{
    while (marker->count) {
        struct place place = marker->work[--marker->count];
        for (const struct tn__dependent *dependent = place.section->dependents; dependent; dependent = dependent->next)
            mark_section(marker, dependent->place);
        if (place.section->role != TN__ROLE_UNWIND)
            for_each_reloc(marker, &place, follow, NULL);
    }
}

/* Objects of other libraries are kept whole: only this library is to be stripped. */
static void mark_kept(struct marker *marker, const struct tn__object *object)
{
    bool whole = object->owner->library != marker->link->library;
    for (uint32_t i = 1; i < object->data->section_count; i++) {
        struct tn__input_section *section = &object->data->sections[i];
        if (whole || (section->role != TN__ROLE_NONE && section->role != TN__ROLE_MANAGED) || section->retained)
            mark_section(marker, (struct place){object, section});
    }
}

static int mark_roots(struct marker *marker, const struct tn__roots *roots) TN__LOCKED
{
    struct tn__link *link = marker->link;
    for (size_t i = 0; i < roots->count; i++) {
        struct tn__entry *entry = tn__symtab_find(&link->library->symtab, roots->names[i]);
        entry = entry ? tn__entry_target(entry) : NULL;
        if (!entry || entry->kind == TN__ENTRY_UNDEFINED || entry->kind == TN__ENTRY_LAZY)
            return tn__fail(link->err, TN_EUNDEF, "the root '%s' is not defined in library %s", roots->names[i],
                            link->library->name);
        if (entry->kind != TN__ENTRY_OBJECT)
            continue;
        const struct tn__symbol *symbol = &entry->object->data->symbols[entry->symbol];
        if (symbol->place == TN__PLACE_SECTION)
            mark_section(marker, (struct place){entry->object, &entry->object->data->sections[symbol->section]});
    }
    return 0;
}

/* ---- taking the rest away ---- */

static void strip_sections(struct tn__object *object)
{
    for (uint32_t i = 1; i < object->data->section_count; i++) {
        struct tn__input_section *section = &object->data->sections[i];
        if (tn__section_is_loaded(section) && !section->live)
            section->discarded = section->stripped = true;
        section->live = false;
        section->dependents = NULL;
    }
}

/* Removes the definitions that lay in stripped sections. */
static int strip_symbols(struct tn__link *link, struct tn__object *object) TN__LOCKED
{
    for (uint32_t i = 1; i < object->data->symbol_count; i++) {
        const struct tn__symbol *symbol = &object->data->symbols[i];
        struct tn__entry *entry = symbol->entry;
        if (!entry || symbol->place != TN__PLACE_SECTION || !object->data->sections[symbol->section].stripped ||
            entry->kind != TN__ENTRY_OBJECT || entry->object != object || entry->symbol != i)
            continue;
        if (!tn__journal_note(&link->journal, entry))
            return tn__no_memory(link->err, object->name);
        entry->kind = TN__ENTRY_UNDEFINED;
        entry->strength = TN__STRENGTH_NONE;
        entry->thread_local = false; /* `object` stays: it tells whose link has to restore the entry if it fails */
    }
    return 0;
}

static void mark_all(struct marker *marker)
{
    for (size_t i = 0; i < marker->link->count; i++)
        for (uint32_t s = 0; s < marker->link->objects[i]->data->section_count; s++)
            marker->link->objects[i]->data->sections[s].dependents = NULL;
    for (size_t i = 0; i < marker->link->count; i++) {
        note_dependents(marker, marker->link->objects[i]);
        mark_kept(marker, marker->link->objects[i]);
    }
    follow_all(marker);
}

static int strip(struct tn__link *link) TN__LOCKED
{
    struct marker marker = {.link = link};
    int code = mark_roots(&marker, link->request->roots);
    if (!code)
        mark_all(&marker);
    if (!code && marker.failed)
        code = tn__no_memory(link->err, NULL);
    tn__free(link->session->allocator, marker.work);
    for (size_t i = 0; i < link->count; i++)
        strip_sections(link->objects[i]);
    for (size_t i = 0; !code && i < link->count; i++)
        code = strip_symbols(link, link->objects[i]);
    return code;
}

int tn_link_roots(struct tn_library *library, const char *const *roots, size_t count, struct tn_error *err)
{
    if (!library || (count && !roots))
        return tn__fail(err, TN_EINVAL, "no library or no roots given");
    const struct tn__roots kept = {roots, count, strip};
    return tn__query_link(&(struct tn__request){.library = library, .roots = &kept}, err);
}
