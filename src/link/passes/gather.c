/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* __start_NAME and __stop_NAME: where the sections called NAME begin and end, if NAME is a C identifier (GNU ld,
 * "Source Code Reference"); format/macho/steps.c has how Mach-O calls such bounds. Programs build
 * tables this way: each file adds entries, and one loop runs over all of them.
 *
 * A static linker knows all files of a program. Here, a library grows, and addresses that were handed out stay valid:
 * so these symbols belong to a single link. If something in it refers to them, the sections of that name in all objects
 * of the link are placed one after the other, in link order, in a range of their own, and the symbols are its bounds.
 * The objects share the range; the last one removed frees it. Lookups do not find the symbols.
 *
 * The entries have their kind only while a link is resolved, under the lock; their addresses are private to the
 * link.
 *
 * Few links have such symbols, and each program contains this: what only they need is cold, so that compilers make it
 * small. */

#include <stdlib.h>

#include "link/passes/steps.h"

/* No section is larger than any window; the sum of such sizes cannot overflow. */
static const uint64_t LARGEST = 1ULL << 40;

/* An object's share in a gathering. */
struct tn__gathered {
    struct tn__gathered *next;
    struct tn__gathering *gathering;
};

const struct tn__gathering *tn__gathered_next(const struct tn__gathered **next)
{
    const struct tn__gathering *gathering = *next ? (*next)->gathering : NULL;
    if (*next)
        *next = (*next)->next;
    return gathering;
}

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

/* Of a name of ELF files. */
static bool find_plain(const char *name, struct tn__gather_pattern *wanted, bool *is_end)
{
    static const char start[] = "__start_", stop[] = "__stop_";
    *is_end = strncmp(name, start, sizeof start - 1) != 0;
    if (*is_end && strncmp(name, stop, sizeof stop - 1))
        return false;
    name += *is_end ? sizeof stop - 1 : sizeof start - 1;
    if (!is_identifier(name))
        return false;
    *wanted = (struct tn__gather_pattern){name, strlen(name), TN__GATHER_SECTION};
    return true;
}

static int find_bound(struct tn__link *link, const char *name, struct tn__gather_pattern *wanted, bool *is_end)
{
    int code = 0;
    wanted->name = NULL;
    const struct tn_format *const *formats = link->session->formats;
    for (bool found = find_plain(name, wanted, is_end); !code && !found && *formats; formats++)
        if ((*formats)->steps && (*formats)->steps->parse_bound) {
            code = (*formats)->steps->parse_bound(link, name, wanted, is_end);
            found = wanted->name;
        }
    return code;
}

int tn__link_note_bound(struct tn__link *link, struct tn_library *library, struct tn__entry *entry, bool *noted)
{
    struct tn__gather_pattern wanted;
    bool is_end;
    *noted = false;
    int code = find_bound(link, entry->name, &wanted, &is_end);
    if (code || !wanted.name)
        return code;
    struct tn__bound *bound = tn__arena_alloc(&link->arena, sizeof *bound);
    if (!bound)
        return tn__no_memory(link->err, NULL);
    *bound = (struct tn__bound){
        .next = link->bounds, .library = library, .entry = entry, .wanted = wanted, .is_end = is_end};
    link->bounds = bound;
    link->bound_count++;
    entry->kind = TN__ENTRY_BOUND;
    *noted = true;
    return 0;
}

/* ---- the index: a link may have tens of thousands of bounds and of sections ---- */

/* A $ comes before all other characters, so that NAME and all NAME$SUFFIX are neighbours. */
static uint8_t rank(char c)
{
    return c == '$' ? 1 : (uint8_t)c;
}

/* Compares at most `most` characters. */
static int compare_names(const char *a, const char *b, size_t most)
{
    size_t i = 0;
    while (i < most && a[i] == b[i] && a[i])
        i++;
    return i == most ? 0 : rank(a[i]) - rank(b[i]);
}

static int by_name(const void *a, const void *b)
{
    const struct tn__named_section *p = a, *q = b;
    int names = compare_names(p->section->name, q->section->name, SIZE_MAX);
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

__attribute__((cold)) int tn__link_index_sections(struct tn__link *link)
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
            link->named[link->named_count] =
                (struct tn__named_section){link->objects[i], &link->objects[i]->data->sections[s], link->named_count};
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

/* The first section that is not before those wanted. */
static struct tn__named_section *first_named(const struct tn__link *link, const struct tn__gather_pattern *wanted)
{
    return &link->named[TN_BISECT(0, link->named_count, i,
                                  compare_names(link->named[i].section->name, wanted->name, wanted->length) < 0)];
}

/* True if the name is one of those wanted or lies between them. */
static bool is_among(const struct tn__input_section *section, const struct tn__gather_pattern *wanted)
{
    char next = compare_names(section->name, wanted->name, wanted->length) ? 'x' : section->name[wanted->length];
    switch (wanted->reach) {
    case TN__GATHER_SECTION:
        return !next;
    case TN__GATHER_GROUP:
        return !next || next == '$';
    default:
        return !strncmp(section->name, wanted->name, wanted->length);
    }
}

/* Goes to the next section, beginning at `at`, that is wanted; NULL behind the last one. */
static struct tn__named_section *gathered_from(const struct tn__link *link, struct tn__named_section *at,
                                               const struct tn__gather_pattern *wanted)
{
    for (; at < link->named + link->named_count && is_among(at->section, wanted); at++)
        if (tn__section_may_be_gathered(at->section) && (wanted->reach != TN__GATHER_GROUP || at->section->grouped))
            return at;
    return NULL;
}

void tn__each_gathered(const struct tn__link *link, const struct tn__gather_pattern *wanted, tn__visit_gathered *visit,
                       void *context)
{
    struct tn__named_section *at = first_named(link, wanted);
    for (; (at = gathered_from(link, at, wanted)); at++)
        visit(context, at->object, at->section);
}

int tn__link_settle_bounds(struct tn__link *link)
{
    int code = link->bounds ? tn__link_index_sections(link) : 0;
    for (struct tn__bound **at = &link->bounds, *bound; !code && (bound = *at);) {
        bool stays = gathered_from(link, first_named(link, &bound->wanted), &bound->wanted);
        if (!stays) {
            tn__entry_reset(bound->entry);
            stays = !tn__resolvers_ask(bound->library, bound->entry) && bound->wanted.may_lack;
        }
        if (stays) {
            bound->entry->kind = TN__ENTRY_BOUND;
            at = &bound->next;
        } else
            *at = bound->next;
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
                       struct tn__input_section *section)
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
    section->pinned = section->gathered = true;
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

static int collect_sections(struct tn__link *link, struct tn__gathering *gathering)
{
    struct tn__named_section *at = first_named(link, &gathering->wanted);
    int code = 0;
    for (; !code && (at = gathered_from(link, at, &gathering->wanted)); at++) {
        code = add_user(link, gathering, at->object);
        if (!code)
            code = add_section(link, gathering, at->object, at->section);
    }
    return code;
}

__attribute__((cold)) int tn__link_gather_wanted(struct tn__link *link, const struct tn__gather_pattern *wanted)
{
    const struct tn__named_section *first = gathered_from(link, first_named(link, wanted), wanted);
    if (!first || first->section->gathered)
        return 0;
    struct tn__gathering *gathering = tn__alloc_zeroed(link->session->allocator, 1, sizeof *gathering);
    if (!gathering)
        return tn__no_memory(link->err, NULL);
    gathering->wanted = *wanted;
    int code = collect_sections(link, gathering);
    if (!gathering->users) {
        tn__free(link->session->allocator, gathering);
        return code;
    }
    gathering->next = link->gatherings;
    link->gatherings = gathering;
    return code;
}

static int gather_groups(struct tn__link *link)
{
    for (size_t i = 0; i < link->count; i++)
        if (link->objects[i]->data->has_groups)
            return link->objects[i]->data->format->steps->gather_groups(link);
    return 0;
}

/* Whatever contains others comes first. */
int tn__link_gather(struct tn__link *link)
{
    static const uint8_t reaches[] = {TN__GATHER_SEGMENT, TN__GATHER_SECTION};
    int code = gather_groups(link);
    for (size_t i = 0; i < TN_COUNT(reaches); i++)
        for (const struct tn__bound *bound = link->bounds; !code && bound; bound = bound->next)
            if (bound->wanted.reach == reaches[i])
                code = tn__link_gather_wanted(link, &bound->wanted);
    return code;
}

static void place_section(void *context, const struct tn__object *object, struct tn__input_section *section)
{
    const struct tn__mem_range *range = context;
    (void)object;
    section->address = range->address + section->offset;
    section->write = range->write + section->offset;
}

static void extend_bound(void *context, const struct tn__object *object, struct tn__input_section *section)
{
    struct tn__bound *bound = context;
    (void)object;
    if (!section->gathered)
        return;
    if (bound->is_end)
        bound->address = section->address + section->size;
    else if (!bound->address)
        bound->address = section->address;
}

void tn__link_place_gathered(struct tn__link *link)
{
    for (const struct tn__gathering *gathering = link->gatherings; gathering; gathering = gathering->next)
        tn__each_gathered(link, &gathering->wanted, place_section, gathering->range);
    for (struct tn__bound *bound = link->bounds; bound; bound = bound->next) {
        bound->address = 0;
        tn__each_gathered(link, &bound->wanted, extend_bound, bound);
        if (!bound->address)
            bound->address = link->session->memory.windows[TN__WINDOW_NEAR].start;
    }
}

static void append_again(void *context, const struct tn__object *object, struct tn__input_section *section)
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
            tn__each_gathered(link, &gathering->wanted, append_again, gathering);
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
    for (uint32_t i = 1; object->data && i < object->data->section_count; i++) {
        struct tn__input_section *section = &object->data->sections[i];
        section->pinned &= !section->gathered; /* those of an image stay where they are */
        section->gathered = false;
    }
}
