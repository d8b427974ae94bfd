/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Binds the symbols of an object to definitions. The library's table is read once, under the lock, when the link is
 * resolved. The result is kept in the plan, so that all later phases work on memory private to the link: the flags of
 * each symbol, and the address of those that lie outside of the link. The others get theirs when the link is placed.
 * Entries of symbols that the link itself defines may be read at any time: no thread changes them meanwhile
 * (tn__library_is_held). */

#include "link/passes/steps.h"

static uint8_t reach_flags(const struct tn__link *link, const struct tn__object_data *from, uint64_t address)
{
    return tn__window_reaches(&link->session->memory.windows[TN__WINDOW_NEAR], address, from->arch->branch_reach)
               ? 0
               : TN__SYMBOL_FAR;
}

/* Of symbols that another object of the link defines, which may be placed anywhere in the window. */
static uint8_t other_object_flags(const struct tn__link *link, const struct tn__object_data *from)
{
    const struct tn__window *window = &link->session->memory.windows[TN__WINDOW_NEAR];
    return TN__SYMBOL_ELSEWHERE | (window->end - window->start > from->arch->branch_reach ? TN__SYMBOL_FAR : 0);
}

/* Objects define absolute symbols too, which lie anywhere. */
static uint8_t definition_flags(const struct tn__link *link, const struct tn__object_data *from,
                                const struct tn__symbol *definition)
{
    return definition->place == TN__PLACE_ABSOLUTE ? reach_flags(link, from, definition->value) : 0;
}

/* Of the symbols that an object defines in one of its sections, unless other definitions of their names won. */
static uint8_t section_flags(const struct tn__input_section *section)
{
    if (!tn__section_is_loaded(section))
        return TN__SYMBOL_OWN | TN__SYMBOL_DISCARDED | TN__SYMBOL_GIVEN;
    return TN__SYMBOL_OWN | (tn__section_is_tls(section) ? TN__SYMBOL_TLS : 0);
}

/* Of local symbols that lie in no section. */
static uint8_t apart_flags(const struct tn__link *link, const struct tn__object_data *data,
                           const struct tn__symbol *symbol)
{
    return TN__SYMBOL_OWN | (symbol->type == TN__TYPE_TLS ? TN__SYMBOL_TLS : 0) | definition_flags(link, data, symbol);
}

/* Of a symbol that nothing here defines; only a weak reference may lead to nothing. A weak alias is none: what it gives
 * way to would be another definition. */
static uint8_t missing_flags(const struct tn__symbol *symbol)
{
    bool may_miss = symbol->binding == TN__BIND_WEAK && symbol->place != TN__PLACE_ALIAS;
    if (symbol->place == TN__PLACE_SECTION) /* stripped */
        return TN__SYMBOL_DISCARDED | TN__SYMBOL_GIVEN;
    return (symbol->type == TN__TYPE_TLS ? TN__SYMBOL_TLS : 0) | TN__SYMBOL_GIVEN |
           (may_miss ? TN__SYMBOL_FAR : TN__SYMBOL_UNRESOLVED);
}

/* True if one library finds in the other what that one hides: both are one component then. */
static bool sees_hidden(const struct tn_library *library, const struct tn_library *other)
{
    for (size_t i = 0; i < library->search_count; i++)
        if (library->search[i].library == other)
            return library->search[i].flags & TN_SEARCH_HIDDEN;
    return false;
}

/* True if a hidden reference led out of its component (gABI, "Symbol Visibility"). */
static bool leads_out(const struct tn__object *object, const struct tn__symbol *symbol)
{
    const struct tn__entry *entry = symbol->entry;
    if (!symbol->hidden || symbol->place != TN__PLACE_UNDEFINED)
        return false;
    return entry->kind == TN__ENTRY_HOST ||
           (tn__entry_is_found(entry) && !sees_hidden(object->owner->library, entry->library));
}

/* Of a symbol that has an entry; *address is set where it is known already. */
static uint8_t global_flags(const struct tn__link *link, const struct tn__object *object, uint32_t index,
                            uint64_t *address)
{
    const struct tn__symbol *symbol = &object->data->symbols[index];
    const struct tn__entry *entry = symbol->entry;
    uint8_t flags = entry->thread_local ? TN__SYMBOL_TLS : 0;
    switch (entry->kind) {
    case TN__ENTRY_OBJECT:
        flags |= definition_flags(link, object->data, &entry->object->data->symbols[entry->symbol]);
        if (entry->object != object)
            return flags | other_object_flags(link, object->data);
        return flags | (entry->symbol == index ? TN__SYMBOL_OWN : 0);
    case TN__ENTRY_HOST:
        if (link->session->imports_tls && symbol->type == TN__TYPE_TLS) /* an import's type is known from here alone */
            flags |= TN__SYMBOL_TLS;
        /* fallthrough */
    case TN__ENTRY_LINKED:
    case TN__ENTRY_ABSOLUTE:
        *address = entry->address;
        return flags | TN__SYMBOL_ELSEWHERE | TN__SYMBOL_GIVEN | reach_flags(link, object->data, entry->address);
    case TN__ENTRY_BOUND:
        return TN__SYMBOL_ELSEWHERE | TN__SYMBOL_BOUND;
    case TN__ENTRY_GOT:
    case TN__ENTRY_HANDLE:
        return 0;
    default:
        return missing_flags(symbol);
    }
}

int tn__object_bind(struct tn__link *link, struct tn__object *object)
{
    struct tn__object_data *data = object->data;
    const uint32_t end = tn__object_entered_end(data);
    struct tn__plan *plan = object->plan = tn__arena_array(&link->arena, 1, sizeof *plan);
    if (plan) {
        plan->library = object->owner->library;
        plan->symbol_flags = tn__arena_alloc(&link->arena, data->symbol_count);
        plan->addresses = tn__arena_alloc_filled(&link->arena, data->symbol_count * sizeof *plan->addresses);
    }
    if (!plan || !plan->symbol_flags || !plan->addresses)
        return tn__no_memory(link->err, object->name);
    for (uint32_t i = data->first_global; i < end; i++) {
        struct tn__symbol *symbol = &data->symbols[i];
        if (!symbol->entry)
            continue;
        bool out = leads_out(object, symbol);
        symbol->entry = tn__entry_target(symbol->entry); /* aliases stay what they are */
        plan->addresses[i] = 0;
        plan->symbol_flags[i] = out ? missing_flags(symbol) : global_flags(link, object, i, &plan->addresses[i]);
    }
    return data->has_stand_ins ? data->format->steps->bind_stand_ins(link, object) : 0;
}

/* A link that fails leaves its objects as they were: other entries may be found for their symbols next time. */
void tn__object_unbind(struct tn__object *object)
{
    struct tn__symtab *table = &object->owner->library->symtab;
    for (uint32_t i = 1; object->plan && i < object->data->symbol_count; i++)
        if (object->data->symbols[i].entry)
            object->data->symbols[i].entry = tn__symtab_find(table, object->data->symbols[i].name);
    /* From now on other definitions may override what was entered late while the link was at work. */
    for (uint32_t i = 0; object->data->late && i < object->entry_count; i++) {
        struct tn__entry *entry = object->entries[i];
        if (entry->kind == TN__ENTRY_OBJECT && entry->object == object)
            tn__symbol_take_entry(object->data, entry);
    }
}

void tn__object_bind_locals(struct tn__link *link, struct tn__object *object)
{
    const struct tn__object_data *data = object->data;
    struct tn__plan *plan = object->plan;
    if (data->symbol_count)
        plan->symbol_flags[0] = 0;
    for (uint32_t i = 0; i < data->section_count; i++)
        data->sections[i].symbol_flags = section_flags(&data->sections[i]);
    for (uint32_t i = 1; i < data->symbol_count; i++) {
        const struct tn__symbol *symbol = &data->symbols[i];
        if (symbol->entry)
            continue;
        uint8_t flags = symbol->place == TN__PLACE_SECTION ? data->sections[symbol->section].symbol_flags
                                                           : apart_flags(link, data, symbol);
        if (flags & TN__SYMBOL_DISCARDED) /* its address is 0, which the second scan relies on */
            plan->addresses[i] = 0;
        plan->symbol_flags[i] = flags;
    }
}

/* ---- addresses ---- */

static uint64_t place_unusual(const struct tn__object *object, uint32_t index)
{
    const struct tn__symbol *symbol = &object->data->symbols[index];
    switch (symbol->place) {
    case TN__PLACE_SECTION:
        return tn__stub_address(object, index);
    case TN__PLACE_COMMON:
        return tn__common_base(object->plan, symbol) + object->plan->common_offset[index];
    case TN__PLACE_ABSOLUTE:
        return symbol->value;
    default:
        return symbol->stand_in ? object->data->format->steps->stand_in_address(object, symbol) : 0;
    }
}

static inline uint64_t place_address(const struct tn__object *object, uint32_t index)
{
    const struct tn__symbol *symbol = &object->data->symbols[index];
    const uint32_t *ifuncs = object->plan->ifunc_index;
    if (__builtin_expect(symbol->place == TN__PLACE_SECTION && !(ifuncs && ifuncs[index]), 1))
        return object->data->sections[symbol->section].address + symbol->value;
    return place_unusual(object, index);
}

/* The address of `__dso_handle`. It is only compared, never read, but code has to reach it. In this process it lies in
 * the object, so it tells which object registers a destructor. In a file, and for an object without a range of its own,
 * all objects of the library have the same. */
static uint64_t handle_of(const struct tn__link *link, const struct tn__object *object)
{
    if (tn__session_is_elsewhere(link->session))
        return object->window->start + object->plan->library->number;
    for (int zone = 0; zone < TN__PLACES; zone++)
        if (object->ranges[zone])
            return object->ranges[zone]->address;
    return object->window->start - 1 - object->plan->library->number;
}

/* Of a symbol that this link defines, or whose address depends on where it is placed. */
static uint64_t global_address(const struct tn__link *link, const struct tn__object *object, uint32_t index)
{
    const struct tn__entry *entry = object->data->symbols[index].entry;
    if (object->plan->symbol_flags[index] & TN__SYMBOL_BOUND)
        return tn__find_bound(link, entry)->address;
    switch (entry->kind) {
    case TN__ENTRY_GOT:
        return object->plan->got_address;
    case TN__ENTRY_HANDLE:
        return handle_of(link, object);
    default:
        return place_address(entry->object, entry->symbol);
    }
}

void tn__object_find_addresses(struct tn__link *link, struct tn__object *object)
{
    const struct tn__plan *plan = object->plan;
    if (object->data->symbol_count)
        plan->addresses[0] = 0;
    for (uint32_t i = 1; i < object->data->symbol_count; i++)
        if (plan->symbol_flags[i] & TN__SYMBOL_GIVEN)
            continue;
        else if (plan->symbol_flags[i] & TN__SYMBOL_OWN)
            plan->addresses[i] = place_address(object, i);
        else
            plan->addresses[i] = global_address(link, object, i);
}
