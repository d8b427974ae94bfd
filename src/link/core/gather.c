/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* __start_NAME and __stop_NAME: where the sections called NAME begin and end, if NAME is a C identifier (GNU ld,
 * "Source Code Reference"); for Mach-O, section$start$SEGMENT$SECTION and section$end$SEGMENT$SECTION. Programs build
 * tables this way: each file adds entries, and one loop runs over all of them.
 *
 * A static linker knows all files of a program. Here, a library grows, and addresses that were handed out stay valid:
 * so these symbols belong to a single link. If something in it refers to them, the sections of that name in all objects
 * of the link are placed one after the other, in link order, in a range of their own, and the symbols are its bounds.
 * The objects share the range; the last one removed frees it. Lookups do not find the symbols.
 *
 * The entries have their kind only while a link is resolved, under the lock; their addresses are private to the
 * link. */

#include <stdlib.h>

#include "link/core/link.h"

/* No section is larger than any window; the sum of such sizes cannot overflow. */
static const uint64_t LARGEST = 1ULL << 40;

/* An object's share in a gathering. */
struct tn__gathered {
    struct tn__gathered *next;
    struct tn__gathering *gathering;
};

/* A section of an object of the link. The first one of each name has the gathering of that name, if there is one. */
struct tn__named_section {
    struct tn__object *object;
    struct tn__section *section;
    size_t place; /* in link order */
    struct tn__gathering *gathering;
};

static bool is_identifier(const char *name)
{
    if (!*name || (*name >= '0' && *name <= '9'))
        return false;
    for (; *name; name++)
        if (!(*name >= 'a' && *name <= 'z') && !(*name >= 'A' && *name <= 'Z') && !(*name >= '0' && *name <= '9') &&
            *name != '_')
            return false;
    return true;
}

/* What follows the beginning of a name; NULL if it begins otherwise. */
static const char *behind(const char *name, const char *beginning)
{
    size_t length = strlen(beginning);
    return strncmp(name, beginning, length) ? NULL : name + length;
}

int tn__link_note_bound(struct tn__link *link, struct tn_library *library, struct tn__entry *entry, bool *noted)
{
    bool of_segment = *entry->name == '\1';
    const char *start = behind(entry->name, of_segment ? "\1section$start$" : "__start_");
    const char *stop = behind(entry->name, of_segment ? "\1section$end$" : "__stop_"), *section = start ? start : stop;
    *noted = false;
    if (!section || !(of_segment ? strchr(section, '$') != NULL : is_identifier(section)))
        return 0;
    struct tn__bound *bound = tn__arena_alloc(&link->arena, sizeof *bound);
    if (bound && of_segment) { /* sections are called "__DATA,__data" */
        char *copy = tn__arena_text(&link->arena, section, strlen(section));
        section = copy;
        if (copy)
            *strchr(copy, '$') = ',';
    }
    if (!bound || !section)
        return tn__no_memory(link->err, NULL);
    *bound = (struct tn__bound){link->bounds, library, entry, section, !start, 0, false};
    link->bounds = bound;
    link->bound_count++;
    entry->kind = TN__ENTRY_BOUND;
    *noted = true;
    return 0;
}

static bool is_gathered(const struct tn__section *section)
{
    return tn__section_is_loaded(section) && !tn__section_is_tls(section);
}

/* ---- the index: a link may have tens of thousands of bounds and of sections ---- */

static int by_name(const void *a, const void *b)
{
    const struct tn__named_section *p = a, *q = b;
    int names = strcmp(p->section->name, q->section->name);
    return names ? names : p->place < q->place ? -1 : p->place > q->place;
}

static int by_entry(const void *a, const void *b)
{
    const struct tn__bound *p = *(struct tn__bound *const *)a, *q = *(struct tn__bound *const *)b;
    return p->entry < q->entry ? -1 : p->entry > q->entry;
}

/* Names may share bytes, and sorting compares them. */
static bool has_plain_names(const struct tn__object_data *data)
{
    uint64_t sum = 0, most = tn__names_limit(data);
    for (uint32_t s = 1; s < data->section_count && sum <= most; s++)
        sum += strlen(data->sections[s].name) + 1;
    return sum <= most;
}

static int index_sections(struct tn__link *link)
{
    size_t count = 0;
    for (size_t i = 0; i < link->count; i++) {
        if (!has_plain_names(link->objects[i]->data))
            return tn__object_fail_names(link->objects[i]->data, "sections", link->err);
        count += link->objects[i]->data->section_count;
    }
    link->named = tn__arena_array(&link->arena, count, sizeof *link->named);
    if (!link->named)
        return tn__no_memory(link->err, NULL);
    for (size_t i = 0; i < link->count; i++)
        for (uint32_t s = 1; s < link->objects[i]->data->section_count; s++, link->named_count++)
            link->named[link->named_count] = (struct tn__named_section){
                link->objects[i], &link->objects[i]->data->sections[s], link->named_count, NULL};
    qsort(link->named, link->named_count, sizeof *link->named, by_name);
    return 0;
}

static int index_bounds(struct tn__link *link)
{
    link->bounds_by_entry = tn__arena_array(&link->arena, link->bound_count, sizeof(struct tn__bound *));
    if (!link->bounds_by_entry)
        return tn__no_memory(link->err, NULL);
    size_t count = 0;
    for (struct tn__bound *bound = link->bounds; bound; bound = bound->next)
        link->bounds_by_entry[count++] = bound;
    link->bound_count = count;
    qsort(link->bounds_by_entry, count, sizeof(struct tn__bound *), by_entry);
    return 0;
}

/* The first section of the name or, if there is none, of the next one. */
static struct tn__named_section *first_named(const struct tn__link *link, const char *name)
{
    return &link->named[TN_BISECT(0, link->named_count, i, strcmp(link->named[i].section->name, name) < 0)];
}

/* Goes to the next section, beginning at `at`, that is gathered under the name; NULL behind the last one. */
static struct tn__named_section *gathered_from(const struct tn__link *link, struct tn__named_section *at,
                                               const char *name)
{
    for (; at < link->named + link->named_count && !strcmp(at->section->name, name); at++)
        if (is_gathered(at->section))
            return at;
    return NULL;
}

void tn__each_gathered(const struct tn__link *link, const char *name, tn__visit_gathered *visit, void *context)
{
    struct tn__named_section *at = first_named(link, name);
    for (; (at = gathered_from(link, at, name)); at++)
        visit(context, at->object, at->section);
}

int tn__link_settle_bounds(struct tn__link *link)
{
    int code = link->bounds ? index_sections(link) : 0;
    for (struct tn__bound **at = &link->bounds, *bound; !code && (bound = *at);)
        if (gathered_from(link, first_named(link, bound->section), bound->section)) {
            at = &bound->next;
        } else {
            *at = bound->next;
            tn__entry_reset(bound->entry);
            tn__resolvers_ask(bound->library, bound->entry);
        }
    return code || !link->bounds ? code : index_bounds(link);
}

void tn__link_forget_bounds(struct tn__link *link)
{
    for (const struct tn__bound *bound = link->bounds; bound; bound = bound->next)
        tn__entry_reset(bound->entry);
}

struct tn__bound *tn__find_bound(const struct tn__link *link, const struct tn__entry *entry)
{
    return link->bounds_by_entry[TN_BISECT(0, link->bound_count, i, link->bounds_by_entry[i]->entry < entry)];
}

/* ---- gathering ---- */

static int add_section(struct tn__link *link, struct tn__gathering *gathering, const struct tn__object *object,
                       struct tn__section *section)
{
    bool is_code = section->kind == TN__SECTION_CODE;
    enum tn_zone zone = is_code ? TN_ZONE_CODE : section->kind == TN__SECTION_RODATA ? TN_ZONE_RODATA : TN_ZONE_DATA;
    if (gathering->alignment && is_code != (gathering->zone == TN_ZONE_CODE))
        return tn__fail(link->err, TN_ENOTSUP, "%s: sections %s of code and of data cannot lie together", object->name,
                        section->name);
    if (section->size > LARGEST || section->alignment > LARGEST || gathering->size > LARGEST)
        return tn__fail(link->err, TN_ENOMEM, "%s: sections %s fit no window", object->name, section->name);
    if (!gathering->alignment || zone == TN_ZONE_DATA)
        gathering->zone = zone;
    section->offset = tn__align_up(gathering->size, section->alignment);
    int code =
        gathering->alignment ? tn__object_count_gap(link, object, section, section->offset - gathering->size) : 0;
    if (code)
        return code;
    gathering->size = section->offset + section->size;
    gathering->alignment = tn__max64(gathering->alignment, section->alignment);
    gathering->low |= object->plan->low;
    section->pinned = true;
    return 0;
}

static int add_user(struct tn__link *link, struct tn__gathering *gathering, struct tn__object *object)
{
    if (object->gathered && object->gathered->gathering == gathering)
        return 0;
    struct tn__gathered *part = tn__alloc(link->session->allocator, sizeof *part);
    if (!part)
        return tn__no_memory(link->err, object->name);
    *part = (struct tn__gathered){object->gathered, gathering};
    object->gathered = part;
    gathering->users++;
    return 0;
}

static int collect_sections(struct tn__link *link, struct tn__gathering *gathering, struct tn__named_section *at)
{
    int code = 0;
    for (; !code && (at = gathered_from(link, at, gathering->name)); at++) {
        code = add_user(link, gathering, at->object);
        if (!code)
            code = add_section(link, gathering, at->object, at->section);
    }
    return code;
}

static struct tn__gathering *find_gathering(const struct tn__link *link, const char *name)
{
    const struct tn__named_section *first = first_named(link, name);
    return first < link->named + link->named_count && !strcmp(first->section->name, name) ? first->gathering : NULL;
}

/* What is allocated here belongs to the objects that take part, and is freed with them. */
static int gather(struct tn__link *link, const char *name)
{
    struct tn__gathering *gathering = tn__alloc_zeroed(link->session->allocator, 1, sizeof *gathering);
    if (!gathering)
        return tn__no_memory(link->err, NULL);
    gathering->name = name;
    struct tn__named_section *first = first_named(link, name);
    int code = collect_sections(link, gathering, first);
    if (!gathering->users) {
        tn__free(link->session->allocator, gathering);
        return code;
    }
    gathering->next = link->gatherings;
    link->gatherings = first->gathering = gathering;
    return code;
}

int tn__link_gather(struct tn__link *link)
{
    int code = 0;
    for (const struct tn__bound *bound = link->bounds; !code && bound; bound = bound->next)
        if (!find_gathering(link, bound->section))
            code = gather(link, bound->section);
    return code;
}

static void place_section(void *context, const struct tn__object *object, struct tn__section *section)
{
    const struct tn__range *range = context;
    (void)object;
    section->address = range->address + section->offset;
    section->write = range->write + section->offset;
}

void tn__link_place_gathered(struct tn__link *link)
{
    for (const struct tn__gathering *gathering = link->gatherings; gathering; gathering = gathering->next)
        tn__each_gathered(link, gathering->name, place_section, gathering->range);
    for (struct tn__bound *bound = link->bounds; bound; bound = bound->next) {
        const struct tn__gathering *gathering = find_gathering(link, bound->section);
        if (gathering)
            bound->address = gathering->range->address + (bound->is_end ? gathering->size : 0);
    }
}

static void append_again(void *context, const struct tn__object *object, struct tn__section *section)
{
    struct tn__gathering *gathering = context;
    (void)object;
    section->offset = tn__align_up(gathering->size, section->alignment);
    gathering->size = section->offset + section->size;
}

void tn__link_place_gathered_code(struct tn__link *link)
{
    for (struct tn__gathering *gathering = link->gatherings; gathering; gathering = gathering->next)
        if (gathering->zone == TN_ZONE_CODE) {
            gathering->size = 0;
            tn__each_gathered(link, gathering->name, append_again, gathering);
        }
    tn__link_place_gathered(link);
}

void tn__link_clear_gathered(const struct tn__link *link)
{
    for (const struct tn__gathering *gathering = link->gatherings; gathering; gathering = gathering->next)
        if (!gathering->range->fresh)
            memset(gathering->range->write, 0, gathering->size);
}

void tn__object_leave_gathered(struct tn__object *object)
{
    const struct tn_allocator *from = object->owner->library->session->allocator;
    for (struct tn__gathered *part = object->gathered, *next; part; part = next) {
        struct tn__gathering *gathering = part->gathering;
        next = part->next;
        tn__free(from, part);
        if (--gathering->users)
            continue;
        if (gathering->range)
            tn__codemem_give(gathering->window, gathering->range);
        tn__free(from, gathering);
    }
    object->gathered = NULL;
    for (uint32_t i = 1; object->data && i < object->data->section_count; i++)
        object->data->sections[i].pinned = false;
}
