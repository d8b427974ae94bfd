/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* One link from start to end: the phases in order, each over all objects of the link, and the rollback on failure. */

#include "link/passes/link.h"
#include "link/passes/steps.h"
#include "link/tls/tls.h"

typedef int object_phase(struct tn__link *link, struct tn__object *object);

static int each_object(struct tn__link *link, object_phase *run)
{
    int code = 0;
    for (size_t i = 0; !code && i < link->count; i++)
        code = run(link, link->objects[i]);
    return code;
}

static int strip(struct tn__link *link) TN__LOCKED
{
    return link->request->roots ? link->request->roots->strip(link) : 0;
}

static int bind_all(struct tn__link *link) TN__LOCKED
{
    link->low_window = link->session->memory.windows[TN__WINDOW_LOW].end != 0;
    return each_object(link, tn__object_bind);
}

/* Names that are missing may be the program's: a library does not see these by itself. */
static int fail_undefined(struct tn__link *link)
{
    const struct tn_library *library = link->library;
    if (!library->resolvers.first && !library->generators.first && !library->search_count)
        tn__append(link->err,
                   "\nnothing of the program is visible to library %s, which has no resolver (tn_add_resolver)",
                   library->name);
    return TN_EUNDEF;
}

static int scan_all(struct tn__link *link)
{
    int code = each_object(link, tn__object_scan);
    if (code)
        return code;
    if (link->undefined)
        return fail_undefined(link);
    /* Objects in different windows may be out of each other's reach. */
    bool low = link->low_window;
    for (size_t i = 0; i < link->count; i++)
        low |= link->objects[i]->plan->low;
    low &= link->session->memory.windows[TN__WINDOW_NEAR].end > 1ULL << 31;
    return low ? each_object(link, tn__object_scan_branches) : 0;
}

/* What the objects will take of each window, in the order in which they do. */
struct sums {
    bool one_window; /* the near window is below 2 GiB */
    size_t sizes[TN__WINDOWS][TN_ZONES], alignments[TN__WINDOWS][TN_ZONES];
};

static void add_to_sums(struct sums *sums, bool low, int zone, size_t size, size_t alignment)
{
    int window = low && !sums->one_window ? TN__WINDOW_LOW : TN__WINDOW_NEAR;
    size_t *sum = &sums->sizes[window][zone], *largest = &sums->alignments[window][zone];
    *sum = tn__align_up(tn__align_up(*sum, alignment) + size, TN__RANGE_GRANULE);
    *largest = tn__max64(*largest, alignment);
}

static struct sums sum_up(const struct tn__link *link)
{
    struct sums sums = {.one_window = link->session->memory.windows[TN__WINDOW_NEAR].end <= 1ULL << 31};
    for (const struct tn__gathering *g = link->gatherings; g; g = g->next)
        add_to_sums(&sums, g->low, g->zone, g->size, g->alignment);
    for (size_t i = 0; i < link->count; i++) {
        const struct tn__plan *plan = link->objects[i]->plan;
        for (int zone = 0; zone < TN_ZONES; zone++)
            if (plan->sizes[zone])
                add_to_sums(&sums, plan->low, zone, plan->sizes[zone], plan->alignments[zone]);
    }
    return sums;
}

static void begin_runs(struct tn__link *link) TN__LOCKED
{
    struct tn__codemem *memory = &link->session->memory;
    const struct sums sums = sum_up(link);
    for (int i = 0; i < TN__WINDOWS; i++)
        for (int zone = 0; zone < TN_ZONES; zone++) {
            struct tn__window *window = &memory->windows[i];
            size_t size = sums.sizes[i][zone];
            struct tn_error unused; /* taking the first object will fail for the same reason */
            if (size && (i == TN__WINDOW_NEAR || !tn__codemem_low_window(memory, &window, &unused)))
                tn__run_begin(window, zone, size, sums.alignments[i][zone], &link->runs[i][zone]);
        }
}

static void end_runs(struct tn__link *link) TN__LOCKED
{
    for (int i = 0; i < TN__WINDOWS; i++)
        for (int zone = 0; zone < TN_ZONES; zone++)
            tn__run_end(&link->session->memory.windows[i], zone);
}

static int publish_runs(struct tn__link *link)
{
    int code = 0;
    for (int i = 0; i < TN__WINDOWS; i++)
        for (int zone = 0; !code && zone < TN_ZONES; zone++)
            code = tn__run_publish(&link->session->memory.windows[i], zone, &link->runs[i][zone], link->err);
    return code;
}

static bool is_large(const struct tn__link *link)
{
    size_t sum = 0;
    for (const struct tn__gathering *g = link->gatherings; g; g = g->next)
        sum += g->zone == TN_ZONE_DATA ? 0 : g->size;
    for (size_t i = 0; i < link->count; i++)
        sum += link->objects[i]->plan->sizes[TN_ZONE_CODE] + link->objects[i]->plan->sizes[TN_ZONE_RODATA];
    return sum >= TN__LARGE_LINK;
}

static int take_all(struct tn__link *link) TN__LOCKED
{
    link->large = is_large(link);
    if (link->large)
        begin_runs(link);
    int code = 0;
    for (struct tn__gathering *g = link->gatherings; !code && g; g = g->next) {
        struct tn__backing backing;
        g->window = &link->session->memory.windows[TN__WINDOW_NEAR];
        if (g->low)
            code = tn__codemem_low_window(&link->session->memory, &g->window, link->err);
        if (!code)
            code = tn__codemem_take(g->window, g->zone, g->size ? g->size : 1, g->alignment, 0, &g->range, &backing,
                                    link->err);
    }
    if (!code)
        code = each_object(link, tn__object_take);
    if (link->large)
        end_runs(link);
    return code;
}

static int place_all(struct tn__link *link)
{
    tn__link_place_gathered(link);
    int code = each_object(link, tn__object_place);
    for (size_t i = 0; !code && i < link->count; i++)
        tn__object_find_addresses(link, link->objects[i]);
    return code;
}

static int shrink_all(struct tn__link *link)
{
    return tn__link_shrink(link, NULL);
}

static int copy_all(struct tn__link *link)
{
    tn__link_clear_gathered(link);
    for (size_t i = 0; i < link->count; i++)
        tn__object_copy(link->objects[i]);
    return 0;
}

static int layout_all(struct tn__link *link)
{
    return each_object(link, tn__object_layout);
}

static int apply_all(struct tn__link *link)
{
    return each_object(link, tn__object_apply);
}

/* ---- for another address space ---- */

static int arrange(struct tn__link *link)
{
    return link->session->detached->arrange(link);
}

static int finish(struct tn__link *link)
{
    return link->session->detached->finish ? link->session->detached->finish(link) : 0;
}

/* ---- protection ---- */

static int protect_all(struct tn__link *link)
{
    int code = link->large ? publish_runs(link) : 0;
    for (struct tn__gathering *g = link->gatherings; !code && g; g = g->next)
        code = tn__codemem_publish(g->window, g->range, link->err);
    for (size_t i = 0; i < link->count; i++) {
        struct tn__object *object = link->objects[i];
        for (int zone = 0; !code && zone < TN_ZONES; zone++)
            if (object->ranges[zone])
                code = tn__codemem_publish(object->window, object->ranges[zone], link->err);
        if (!code && object->data->image)
            code = object->data->image->protect(link, object);
    }
    return code;
}

/* Nothing is written to the objects' code and constants any more. */
static int settle_all(struct tn__link *link) TN__LOCKED
{
    int code = 0;
    for (struct tn__gathering *g = link->gatherings; !code && g; g = g->next)
        code = tn__codemem_settle(g->range, link->err);
    for (size_t i = 0; i < link->count; i++)
        for (int zone = 0; !code && zone < TN_ZONES; zone++)
            code = tn__codemem_settle(link->objects[i]->ranges[zone], link->err);
    return code || !link->large ? code : tn__codemem_seal(&link->session->memory, link->err);
}

/* ---- publish ---- */

static int publish_tls(struct tn__link *link)
{
    int code = 0;
    for (size_t i = 0; !code && i < link->count; i++) {
        struct tn__object *object = link->objects[i];
        if (object->ranges[TN__PART_TLS])
            code = tn__tls_publish(object->ranges[TN__PART_TLS], object->plan->tls_image, object->plan->tls_zero_offset,
                                   link->err);
    }
    /* Threads that start from now on have the values. */
    if (!code && link->direct_tls)
        code = link->session->check_threads->check(link->direct_tls, link->err);
    return code;
}

/* Makes space for what registering the objects needs, so that nothing can fail halfway. They may belong to several
 * libraries. */
static int reserve_lists(struct tn__link *link) TN__LOCKED
{
    size_t tables = 0, bytes = 0;
    bool reserved = true;
    for (size_t i = 0; i < link->count; i++) {
        struct tn_library *library = link->objects[i]->owner->library;
        size_t counts[TN__ROLES] = {0};
        for (uint32_t s = 0; s < link->objects[i]->data->section_count; s++) {
            const struct tn__input_section *section = &link->objects[i]->data->sections[s];
            counts[section->role]++;
            bytes += section->role == TN__ROLE_UNWIND ? section->size : 0;
        }
        tables += counts[TN__ROLE_UNWIND];
        reserved &= tn__calls_reserve(&library->initializers, counts[TN__ROLE_INIT]) &&
                    tn__calls_reserve(&library->waiting, counts[TN__ROLE_FINI]);
    }
    for (size_t i = 0; i < link->count; i++) {
        struct tn_library *library = link->objects[i]->owner->library;
        library->initializers.reserved = library->waiting.reserved = 0;
    }
    if (reserved && tn__unwind_prepare(&link->session->unwind, tables, bytes, &link->tables))
        return 0;
    return tn__no_memory(link->err, NULL);
}

/* Where the object's code begins, gathered sections apart unless it has no other, and without stubs if it has an image;
 * 0: there is none. */
static uint64_t code_of(const struct tn__object *object)
{
    if (object->ranges[TN_ZONE_CODE] && !object->data->image)
        return object->ranges[TN_ZONE_CODE]->address;
    uint64_t lowest = 0;
    for (uint32_t i = 0; i < object->data->section_count; i++) {
        const struct tn__input_section *section = &object->data->sections[i];
        if (section->kind == TN__SECTION_CODE && section->address && section->address - 1 < lowest - 1)
            lowest = section->address;
    }
    return lowest;
}

/* A set of tables stays within a window (unwind_sets.c), or an image: its number, which no other one has. */
static uint32_t window_of(const struct tn__link *link, const struct tn__object *object)
{
    const struct tn__mem_range *image = object->ranges[TN__PART_IMAGE];
    return image ? (uint32_t)(image->address >> 12) | 1U << 31
                 : (uint32_t)(object->window - link->session->memory.windows);
}

static void register_unwind(struct tn__link *link, struct tn__object *object,
                            const struct tn__input_section *section) TN__LOCKED
{
    uint64_t code = code_of(object);
    if (!code)
        return; /* every entry is one of a discarded function */
    struct tn__unwind_table *table = link->tables;
    link->tables = table->next;
    table->next = object->unwind;
    object->unwind = table;
    struct tn__unwind_table as = {
        .address = section->address,
        .code = code,
        .size = section->size < UINT32_MAX ? (uint32_t)section->size : UINT32_MAX,
        .window = window_of(link, object),
    };
    tn__unwind_register(&link->session->unwind, table, as);
}

static void register_calls(struct tn__calls_list *list, struct tn_library *library, struct tn__object *object,
                           const struct tn__input_section *section) TN__LOCKED
{
    tn__calls_add(list, object, section, ++library->sequence);
    if (!tn__session_is_elsewhere(library->session))
        tn__library_set_pending(library, true);
    object->has_calls = true;
    if (!object->first_call)
        object->first_call = library->sequence;
}

static void register_sections(struct tn__link *link, struct tn__object *object) TN__LOCKED
{
    struct tn_library *library = object->owner->library;
    const bool is_elsewhere = tn__session_is_elsewhere(link->session); /* nothing of it runs here */
    for (uint32_t i = 0; i < object->data->section_count; i++) {
        const struct tn__input_section *section = &object->data->sections[i];
        if (!tn__section_is_loaded(section) || !section->size)
            continue;
        if (section->role == TN__ROLE_INIT)
            register_calls(&library->initializers, library, object, section);
        else if (is_elsewhere)
            continue;
        else if (section->role == TN__ROLE_FINI)
            register_calls(&library->waiting, library, object, section);
        else if (section->role == TN__ROLE_UNWIND)
            register_unwind(link, object, section);
    }
}

/* A library's code is not where that of other objects is. */
static bool is_code_of_image(const struct tn__object_data *data, const struct tn__symbol *symbol)
{
    return data->image && symbol->place == TN__PLACE_SECTION &&
           data->sections[symbol->section].kind == TN__SECTION_CODE;
}

static void publish_symbols(struct tn__object *object)
{
    for (uint32_t i = 0; i < object->entry_count; i++) {
        struct tn__entry *entry = object->entries[i];
        if (entry->kind == TN__ENTRY_OBJECT && entry->object == object) {
            const struct tn__symbol *symbol = &object->data->symbols[entry->symbol];
            entry->kind = TN__ENTRY_LINKED;
            entry->callable |= is_code_of_image(object->data, symbol);
            entry->address = object->plan->addresses[entry->symbol];
            entry->size = symbol->size < UINT32_MAX ? (uint32_t)symbol->size : UINT32_MAX;
        }
    }
}

/* Frees the bytes of objects and the arrays made from them, which are no longer needed. */
static void release_object(struct tn__object *object)
{
    struct tn__symtab *table = &object->owner->library->symtab;
    object->link = NULL;
    if (object->data->late && table->late == object->data->late)
        table->late = tn__container_of(object->ranges[TN__PART_IMAGE], struct tn__image, range)->late;
    tn__list_remove(&object->queued);
    tn__list_append(&object->owner->library->session->unplaced, &object->queued);
    object->plan = NULL;
    tn__object_release_data(object);
}

static void count(struct tn_stats *stats, const struct tn__object *object)
{
    stats->objects++;
    stats->got_slots += object->plan->got_words;
    stats->stubs += object->plan->stub_count;
    for (uint32_t i = 0; i < object->data->section_count; i++)
        if (tn__section_is_loaded(&object->data->sections[i]))
            stats->relocations += object->data->sections[i].reloc_count;
}

/* Only now it is known that what other threads have linked meanwhile stays. */
static int agree(struct tn__link *link)
{
    const struct tn__steps *steps = link->session->formats[0]->steps;
    return steps && steps->agree ? steps->agree(link) : 0;
}

static int publish_all(struct tn__link *link) TN__LOCKED
{
    int code = agree(link);
    if (!code)
        code = reserve_lists(link);
    if (!code)
        code = publish_tls(link);
    if (!code && link->session->observers.linked)
        code = link->session->observers.linked(link);
    if (code)
        return code;
    link->session->variant = link->variant;
    link->session->variant_of = link->variant_of;
    for (size_t i = 0; i < link->count && !tn__session_is_elsewhere(link->session); i++)
        tn__object_fill_ifuncs(link->objects[i]);
    for (size_t i = 0; i < link->count; i++) {
        count(&link->session->stats, link->objects[i]);
        register_sections(link, link->objects[i]);
        publish_symbols(link->objects[i]);
    }
    for (size_t i = 0; i < link->count; i++)
        release_object(link->objects[i]);
    return 0;
}

/* ---- the whole ---- */

/* Meanwhile, other threads leave alone what belongs to this link. */
static void set_building(struct tn__link *link, bool building)
{
    uint32_t change = building ? 1 : UINT32_MAX; /* plus or minus one */
    link->session->building += change;
    for (size_t i = 0; i < link->count; i++)
        link->objects[i]->owner->library->building += change;
    link->building = building;
}

enum stage { RESOLVE, BUILD, PUBLISH };
enum method { ALWAYS, PACKED, DETACHED }; /* objects go into the window's zones; for another address space (hooks.h) */

/* All phases, in order. Those without the lock touch only memory and arrays that are private to this link, and what
 * no thread changes while the library is building. doc/LINKER.md has the same table (tests/build/phases.sh). */
static const struct phase {
    const char *name;
    enum stage stage;
    enum method method;
    bool locked;
    uint8_t timer;
    int (*run)(struct tn__link *link);
} phases[] = {
    {"resolve", RESOLVE, ALWAYS, true, TN__LINK_RESOLVE, tn__link_resolve},
    {"strip", RESOLVE, ALWAYS, true, TN__LINK_RESOLVE, strip},
    {"bind", RESOLVE, ALWAYS, true, TN__LINK_RESOLVE, bind_all},
    {"scan", BUILD, ALWAYS, false, TN__LINK_RESOLVE, scan_all},
    {"gather", BUILD, PACKED, false, TN__LINK_LAYOUT, tn__link_gather},
    {"arrange", BUILD, DETACHED, false, TN__LINK_LAYOUT, arrange},
    {"layout", BUILD, PACKED, false, TN__LINK_LAYOUT, layout_all},
    {"take", BUILD, PACKED, true, TN__LINK_LAYOUT, take_all},
    {"place", BUILD, PACKED, false, TN__LINK_LAYOUT, place_all},
    {"shrink", BUILD, PACKED, false, TN__LINK_LAYOUT, shrink_all},
    {"copy", BUILD, PACKED, false, TN__LINK_COPY, copy_all},
    {"apply", BUILD, ALWAYS, false, TN__LINK_APPLY, apply_all},
    {"finish", BUILD, DETACHED, false, TN__LINK_APPLY, finish},
    {"protect", BUILD, PACKED, false, TN__LINK_PUBLISH, protect_all},
    {"settle", BUILD, ALWAYS, true, TN__LINK_PUBLISH, settle_all},
    {"publish", PUBLISH, ALWAYS, true, TN__LINK_PUBLISH, publish_all},
};

/* Releases the lock for phases that do without it, and takes it again at the end. */
static int run_stage(struct tn__link *link, enum stage stage) TN__LOCKED TN__LOCK_UNCHECKED
{
    const struct tn__detached *detached = link->session->detached;
    bool locked = true;
    int code = 0;
    for (const struct phase *phase = phases; !code && phase < phases + TN_COUNT(phases); phase++) {
        if (phase->stage != stage || (phase->method == DETACHED && !detached) ||
            (phase->method == PACKED && detached && detached->lays_out))
            continue;
        if (phase->locked != locked)
            (locked ? tn__session_pause : tn__session_lock)(link->session);
        locked = phase->locked;
        uint64_t start = tn__session_clock(link->session);
        code = phase->run(link);
        tn__session_spent(link->session, &link->ns[phase->timer], start);
    }
    if (!locked)
        tn__session_lock(link->session);
    return code;
}

static void unstrip(struct tn__object_data *data)
{
    for (uint32_t i = 1; i < data->section_count; i++)
        if (data->sections[i].stripped)
            data->sections[i].discarded = data->sections[i].stripped = false;
}

static void undo(struct tn__link *link) TN__LOCKED
{
    for (size_t i = 0; link->request->roots && i < link->count; i++)
        unstrip(link->objects[i]->data);
    tn__journal_undo(&link->journal); /* only this link has changed these: see tn__library_is_held */
    for (size_t i = 0; i < link->count; i++) {
        tn__object_give_back(link->objects[i]);
        tn__object_unbind(link->objects[i]);
        tn__object_unshrink(link->objects[i]);
        link->objects[i]->plan = NULL;
        link->objects[i]->link = NULL;
    }
    for (size_t i = 0; i < link->count; i++)
        tn__library_fall_back(link->objects[i]->owner->library);
    while (link->members.next != &link->members)
        tn__object_remove(tn__container_of(link->members.next, struct tn__object, queued));
}

static void add_times(struct tn_stats *stats, const uint64_t ns[TN__LINK_PHASES])
{
    stats->resolve_ns += ns[TN__LINK_RESOLVE];
    stats->layout_ns += ns[TN__LINK_LAYOUT];
    stats->copy_ns += ns[TN__LINK_COPY];
    stats->relocate_ns += ns[TN__LINK_APPLY];
    stats->publish_ns += ns[TN__LINK_PUBLISH];
}

static void open_link(struct tn__link *link, const struct tn__request *request, struct tn__needs *needs,
                      struct tn_error *err)
{
    struct tn_session *session = request->library->session;
    *link = (struct tn__link){.number = ++session->links,
                              .library = request->library,
                              .session = session,
                              .request = request,
                              .needs = needs,
                              .dynamic = session->dynamic,
                              .arena.from = session->allocator,
                              .journal.arena.from = session->allocator,
                              .err = err};
    tn__list_init(&link->members);
    needs->promise_count = needs->missing_count = needs->open_count = 0;
}

/* Ends the link; undoes it if it has failed. */
static void close_link(struct tn__link *link, int code) TN__LOCKED
{
    struct tn_session *session = link->session;
    if (code)
        undo(link);
    while (link->members.next != &link->members) /* of an archive whose index promised what they do not define */
        tn__list_remove(link->members.next);
    add_times(&session->stats, link->ns);
    tn__unwind_remove(&session->unwind, link->tables);
    tn__journal_free(&link->journal);
    tn__arena_free(&link->arena);
    tn__free(session->allocator, link->objects);
    if (code != TN__BUSY)
        pthread_cond_broadcast(&session->idle);
}

int tn__link_run(const struct tn__request *request, struct tn__needs *needs, struct tn_error *err)
{
    for (;;) {
        struct tn__link link;
        open_link(&link, request, needs, err);
        int code = run_stage(&link, RESOLVE);
        tn__link_forget_bounds(&link);
        if (!code && link.count) {
            set_building(&link, true);
            code = run_stage(&link, BUILD);
            set_building(&link, false);
            code = code ? code : run_stage(&link, PUBLISH);
        }
        close_link(&link, code);
        if (code != TN__BUSY)
            return code;
        tn__session_wait(link.session);
    }
}
