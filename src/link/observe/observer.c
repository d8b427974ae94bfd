/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Describes linked objects to observers. The descriptions live in the link's arena. */

#include <stdlib.h>

#include "base/fork.h"
#include "link/observe/observer.h"

/* ---- functions ---- */

struct found {
    const char *name;
    uint64_t address, size, limit; /* limit: the end of its section */
    uint32_t index;
    uint8_t rank; /* of several names for one address the highest is taken */
};

/* Untyped symbols count as functions too: assembly often has no types. */
static bool is_function(const struct tn__object_data *data, const struct tn__symbol *symbol)
{
    if (symbol->place != TN__PLACE_SECTION || !*symbol->name || symbol->type == TN__TYPE_SECTION)
        return false;
    const struct tn__input_section *section = &data->sections[symbol->section];
    const char *label = symbol->name; /* assemblers' marks for data in code, and labels of compilers, are none */
    /* Compilers' anchors may lie behind their section. */
    return section->kind == TN__SECTION_CODE && !section->discarded && symbol->value <= section->size &&
           (symbol->type != TN__TYPE_OTHER || !(label[0] == '$' || (label[0] == '.' && label[1] == 'L')));
}

static int by_address(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank > y->rank ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* A stub is a function too: NAME@stub. Of a symbol without a name there is none to tell. False when memory is out. */
static bool find_stubs(struct tn__link *link, const struct tn__object *object, struct found *found, size_t *count)
{
    const struct tn__object_data *data = object->data;
    for (uint32_t i = 1; object->plan->stub_count && i < data->symbol_count; i++) {
        const char *name = data->symbols[i].name;
        if (!object->plan->stub_index[i] || !*name)
            continue;
        char *text = tn__stub_name(&link->arena, name);
        if (!text)
            return false;
        uint64_t address = tn__stub_address(object, i), size = data->arch->stub_size;
        found[(*count)++] =
            (struct found){.name = text, .address = address, .size = size, .limit = address + size, .index = i};
    }
    return true;
}

static size_t find_functions(const struct tn__object_data *data, struct found *found)
{
    size_t count = 0;
    for (uint32_t i = 1; i < data->symbol_count; i++) {
        const struct tn__symbol *symbol = &data->symbols[i];
        if (!is_function(data, symbol))
            continue;
        const struct tn__input_section *section = &data->sections[symbol->section];
        found[count++] = (struct found){
            .name = symbol->name,
            .address = section->address + symbol->value,
            .size = tn__symbol_size(data, symbol),
            .limit = section->address + section->size,
            .index = i,
            .rank = (uint8_t)((symbol->type != TN__TYPE_OTHER) * 4 + (symbol->size != 0) * 2 +
                              (symbol->binding != TN__BIND_LOCAL)),
        };
    }
    return count;
}

/* Functions may overlap, but not so that they are much longer in sum than the code: observers look at all bytes of
 * each. */
static uint64_t most_of(const struct tn__object_data *data)
{
    enum { FACTOR = 8 };
    uint64_t size = 0;
    for (uint32_t i = 0; i < data->section_count; i++)
        size += data->sections[i].kind == TN__SECTION_CODE ? data->sections[i].size : 0;
    return FACTOR * size;
}

static bool has_plain_names(const struct tn__object_data *data, const struct found *found, size_t count)
{
    uint64_t sum = 0, most = tn__names_limit(data);
    for (size_t i = 0; i < count && sum <= most; i++)
        sum += strlen(found[i].name) + 1;
    return sum <= most;
}

/* One name for each address; a label without a size reaches as far as the next one, and so does one inside a
 * function. */
static size_t settle_functions(const struct found *found, size_t count, uint64_t most, struct tn_function *functions)
{
    size_t kept = 0;
    uint64_t outer = 0; /* the furthest end so far */
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && found[next].address == found[i].address; next++)
            ;
        uint64_t bound = next < count ? tn__min64(found[next].address, found[i].limit) : found[i].limit;
        uint64_t end = found[i].size ? tn__min64(found[i].address + found[i].size, found[i].limit) : bound;
        if (outer > end)
            end = tn__min64(bound, outer);
        if (end - found[i].address > most)
            end = bound;
        most -= tn__min64(most, end - found[i].address);
        outer = tn__max64(outer, end);
        functions[kept++] = (struct tn_function){found[i].name, found[i].address, end - found[i].address};
    }
    return kept;
}

/* ---- descriptions ---- */

static void describe_place(const struct tn__object *object, struct tn_linked_object *out)
{
    *out = (struct tn_linked_object){
        .size = sizeof *out, .id = (uintptr_t)object, .library = object->owner->library->name, .name = object->name};
    for (int zone = 0; zone < TN_ZONES; zone++)
        if (object->ranges[zone])
            out->zones[zone] = (struct tn_range){object->ranges[zone]->address, object->ranges[zone]->size};
}

static int describe_object(struct tn__link *link, const struct tn__object *object, struct tn_linked_object *out)
{
    const struct tn__object_data *data = object->data;
    uint64_t *sections = tn__arena_array(&link->arena, data->section_count, sizeof *sections);
    size_t most = (size_t)data->symbol_count + object->plan->stub_count;
    struct found *found = tn__arena_array(&link->arena, most, sizeof *found);
    struct tn_function *functions = tn__arena_array(&link->arena, most, sizeof *functions);
    if (!sections || !found || !functions)
        return tn__no_memory(link->err, NULL);
    size_t count = find_functions(data, found);
    if (!has_plain_names(data, found, count))
        return tn__object_fail_names(data, "symbols", link->err);
    if (!find_stubs(link, object, found, &count))
        return tn__no_memory(link->err, NULL);
    if (count)
        qsort(found, count, sizeof *found, by_address);
    for (uint32_t i = 0; i < data->section_count; i++)
        sections[i] = data->sections[i].discarded ? TN_SECTION_DISCARDED
                      : data->sections[i].kind    ? data->sections[i].address
                                                  : 0;
    describe_place(object, out);
    out->bytes = data->image ? NULL : data->bytes; /* section numbers are not those of the file */
    out->length = out->bytes ? data->size : 0;
    out->functions = functions;
    out->function_count = settle_functions(found, count, most_of(data), functions);
    out->section_addresses = sections;
    out->section_count = data->section_count;
    out->symbol_addresses = object->plan->addresses;
    out->symbol_count = data->symbol_count - data->split;
    out->format = out->bytes ? data->format : NULL;
    return 0;
}

/* ---- telling ---- */

static int tell_linked(struct tn__link *link) TN__LOCKED
{
    struct tn_linked_object *all = tn__arena_array(&link->arena, link->count, sizeof *all);
    const struct tn_linked_object **objects = tn__arena_array(&link->arena, link->count, sizeof *objects);
    if (!all || !objects)
        return tn__no_memory(link->err, NULL);
    for (size_t i = 0; i < link->count; i++) {
        int code = describe_object(link, link->objects[i], &all[i]);
        if (code)
            return code;
        objects[i] = &all[i];
    }
    return tn__observers_tell(link->session, objects, link->count, link->err);
}

/* Removal must not fail for lack of memory: then, objects are reported in portions. */
struct removal {
    struct tn_session *session;
    struct tn_linked_object *all;
    const struct tn_linked_object **objects;
    size_t count, capacity;
};

static void tell_portion(struct removal *removal) TN__LOCKED
{
    if (removal->count)
        tn__observers_tell_removed(removal->session, removal->objects, removal->count);
    removal->count = 0;
}

static void tell_each(struct removal *removal, const struct tn_tracker *owner) TN__LOCKED
{
    for (TN_EACH(const struct tn__object, object, &owner->objects, owned)) {
        if (object->data || !object->window)
            continue; /* not linked */
        if (removal->count == removal->capacity)
            tell_portion(removal);
        struct tn_linked_object *out = &removal->all[removal->count];
        describe_place(object, out);
        removal->objects[removal->count++] = out;
    }
    tell_portion(removal);
}

static void tell_tracker_removed(struct tn_tracker *owner) TN__LOCKED
{
    enum { FEW = 16 };
    struct tn_linked_object few[FEW];
    const struct tn_linked_object *few_objects[FEW];
    struct tn_session *session = owner->library->session;
    size_t count = 0;
    for (TN_EACH(const struct tn__object, object, &owner->objects, owned))
        count++;
    struct removal removal = {.session = session, .capacity = count};
    removal.all = tn__alloc_zeroed(session->allocator, count, sizeof *removal.all);
    removal.objects = tn__alloc_zeroed(session->allocator, count, sizeof *removal.objects);
    struct tn_linked_object *all = removal.all;
    const struct tn_linked_object **objects = removal.objects;
    if (!all || !objects) {
        removal.all = few;
        removal.objects = few_objects;
        removal.capacity = FEW;
    }
    tell_each(&removal, owner);
    tn__free(session->allocator, objects);
    tn__free(session->allocator, all);
}

/* ---- adding ---- */

int tn_add_observer(struct tn_session *session, const struct tn_observer *given, struct tn_error *err)
{
    struct tn_observer observer;
    if (!session || !given)
        return tn__fail(err, TN_EINVAL, "no session or no observer given");
    int code = tn__take_options(&observer, sizeof observer, given, "struct tn_observer", err);
    if (code)
        return code;
    struct tn__observers *all = &session->observers;
    tn__session_lock(session);
    bool added = tn__grow(session->allocator, &all->items, &all->capacity, all->count + 1, sizeof *all->items);
    if (added) {
        all->items[all->count++] = observer;
        all->linked = tell_linked;
        all->removed = tell_tracker_removed;
    }
    tn__session_unlock(session);
    return added ? 0 : tn__no_memory(err, NULL);
}

bool tn__is_observed(struct tn_session *session,
                     int (*linked)(void *, const struct tn_linked_object *const *, size_t, struct tn_error *))
{
    bool found = false;
    tn__session_lock(session);
    for (size_t i = 0; i < session->observers.count; i++)
        found |= session->observers.items[i].linked == linked;
    tn__session_unlock(session);
    return found;
}

/* ---- the lock ---- */

static struct tn__mutex lock = TN__MUTEX(TN__LEVEL_OBSERVERS);

void tn__observers_lock(void)
{
    static const struct tn__fork_hooks hooks = {.lock = &lock};
    tn__forks_watch(TN__LEVEL_OBSERVERS, &hooks);
    tn__mutex_lock(&lock);
}

void tn__observers_unlock(void)
{
    tn__mutex_unlock(&lock);
}
