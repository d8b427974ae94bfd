/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Entering objects in a library: reading them, and which of the definitions of a name is the one that counts. */

#include "link/model/late.h"
#include "link/passes/steps.h"

/* ---- definitions ---- */

static uint8_t strength_of(const struct tn__object *object, const struct tn__symbol *symbol)
{
    if (symbol->place == TN__PLACE_COMMON) /* whatever its binding, which llvm-objcopy --weaken changes */
        return object->data->format->reader->common_yields ? TN__STRENGTH_TENTATIVE : TN__STRENGTH_COMMON;
    bool weak = symbol->binding == TN__BIND_WEAK || object->data->input.flags & TN_INPUT_WEAK;
    return weak ? TN__STRENGTH_WEAK : TN__STRENGTH_STRONG;
}

static const char *owner_of(const struct tn__entry *entry)
{
    if (entry->kind == TN__ENTRY_PROMISED || entry->kind == TN__ENTRY_FAILED)
        return entry->promise->name;
    return entry->object ? entry->object->name : "the client";
}

/* Why another definition comes too late; NULL if it does not. */
static const char *is_settled(const struct tn__entry *entry)
{
    if (entry->kind == TN__ENTRY_LINKED)
        return "linked already";
    if (!entry->strength)
        return NULL;
    if (entry->kind == TN__ENTRY_FAILED)
        return "needed already, and has failed";
    return entry->kind == TN__ENTRY_PROMISED && entry->promise->state == TN__PROMISE_RUNNING ? "being made already"
                                                                                             : NULL;
}

static bool is_handed_over(const struct tn__entry *entry)
{
    return entry->kind == TN__ENTRY_PROMISED && entry->promise->is_handed_over &&
           pthread_equal(entry->promise->taker, pthread_self());
}

int tn__entry_yields(struct tn__entry *entry, uint8_t strength, const char *by, bool *yields, struct tn_error *err)
{
    *yields = is_handed_over(entry);
    if (*yields)
        return 0;
    entry->overrides |= entry->strength != TN__STRENGTH_NONE;
    if (strength == TN__STRENGTH_STRONG && entry->strength == TN__STRENGTH_STRONG)
        return tn__fail(err, TN_EDUP, "'%s' is defined by %s and by %s", entry->name, owner_of(entry), by);
    bool too_late = strength == TN__STRENGTH_WEAK && entry->kind == TN__ENTRY_LINKED; /* a common one stays */
    *yields = strength > entry->strength && !too_late;
    const char *settled = *yields ? is_settled(entry) : NULL;
    if (settled)
        return tn__fail(err, TN_EDUP, "'%s' in %s would override the definition of %s, which is %s", entry->name, by,
                        owner_of(entry), settled);
    return 0;
}

bool tn__entry_is_copy(const struct tn__entry *entry)
{
    if (entry->kind != TN__ENTRY_OBJECT)
        return false;
    const struct tn__object_data *data = entry->object->data;
    const struct tn__symbol *symbol = &data->symbols[entry->symbol];
    return symbol->place == TN__PLACE_SECTION && data->sections[symbol->section].is_copy;
}

bool tn__entry_is_later(const struct tn__entry *entry, uint64_t input, const struct tn__journal *journal)
{
    if (entry->strength == TN__STRENGTH_STRONG && !tn__entry_is_copy(entry))
        return false;
    if (entry->kind == TN__ENTRY_PROMISED)
        return entry->promise->state == TN__PROMISE_NEW && entry->promise->input > input;
    return entry->kind == TN__ENTRY_OBJECT && entry->object->data->number > input &&
           !tn__object_is_taken(entry->object, journal) && !entry->object->data->split;
}

/* Common definitions of one name share the largest size and alignment. */
static void merge_common(struct tn__entry *entry, const struct tn__symbol *symbol)
{
    uint8_t shift = (uint8_t)__builtin_ctzll(symbol->value); /* readers let only powers of two pass */
    entry->common_size = tn__max64(entry->common_size, symbol->size);
    if (entry->common_shift < shift)
        entry->common_shift = shift;
}

/* The entry stands for this definition from now on. */
static void take_definition(struct tn__object *object, uint32_t index)
{
    struct tn__symbol *symbol = &object->data->symbols[index];
    struct tn__entry *entry = symbol->entry;
    bool was_common = entry->kind == TN__ENTRY_OBJECT && tn__strength_is_common(entry->strength);
    entry->kind = TN__ENTRY_OBJECT;
    entry->strength = strength_of(object, symbol);
    entry->hidden = symbol->hidden || object->data->input.flags & TN_INPUT_HIDDEN;
    entry->thread_local = symbol->type == TN__TYPE_TLS;
    entry->callable = symbol->place == TN__PLACE_ABSOLUTE && symbol->type == TN__TYPE_FUNCTION;
    entry->object = object;
    entry->symbol = index;
    if (!was_common)
        entry->common_size = entry->common_shift = 0;
    if (tn__strength_is_common(entry->strength))
        merge_common(entry, symbol);
    if (symbol->place == TN__PLACE_ALIAS)
        object->data->format->steps->take_alias(object, symbol);
    if (!symbol->listed)
        object->entries[object->entry_count++] = entry;
    symbol->listed = true;
}

/* True for a copy, in a COMDAT group or of a unique variable, whatever its binding, if one that is linked or being made
 * is as good as it: weak ones are copies too, some of them in objects that have no groups. */
static bool comes_too_late(const struct tn__object *object, const struct tn__symbol *symbol)
{
    const struct tn__entry *entry = symbol->entry;
    return entry->strength == TN__STRENGTH_WEAK && symbol->place == TN__PLACE_SECTION &&
           (symbol->is_copy || object->data->sections[symbol->section].is_copy) && is_settled(entry);
}

/* True for an absolute symbol that is defined already, with this value. Linkers take two of them for one. */
static bool is_same_absolute(const struct tn__symbol *symbol, const struct tn__entry *entry)
{
    if (symbol->place != TN__PLACE_ABSOLUTE || entry->strength != TN__STRENGTH_STRONG)
        return false;
    if (entry->kind == TN__ENTRY_LINKED)
        return entry->address == symbol->value;
    const struct tn__symbol *other =
        entry->kind == TN__ENTRY_OBJECT ? &entry->object->data->symbols[entry->symbol] : NULL;
    return other && other->place == TN__PLACE_ABSOLUTE && other->value == symbol->value;
}

/* The stronger one wins, among equal ones that of the first input, and what keeps a promise takes its place. */
int tn__object_define(struct tn__object *object, uint32_t index, const struct tn__promise *keeps,
                      struct tn__journal *journal, struct tn_error *err)
{
    const struct tn__symbol *symbol = &object->data->symbols[index];
    struct tn__entry *entry = symbol->entry;
    if ((symbol->after_archives && entry->kind == TN__ENTRY_LAZY) || is_same_absolute(symbol, entry))
        return 0;
    uint8_t strength = strength_of(object, symbol);
    bool overrides = keeps && entry->kind == TN__ENTRY_PROMISED && entry->promise == keeps;
    if (!overrides && entry->strength && comes_too_late(object, symbol)) {
        entry->overrides = true;
        return 0;
    }
    int code = overrides ? 0 : tn__entry_yields(entry, strength, object->name, &overrides, err);
    if (code)
        return code;
    bool both_weak = strength == TN__STRENGTH_WEAK && entry->strength == TN__STRENGTH_WEAK;
    overrides |= both_weak && tn__entry_is_later(entry, object->data->number, journal);
    bool both_common = tn__strength_is_common(strength) && tn__strength_is_common(entry->strength);
    if (both_common && entry->kind == TN__ENTRY_LINKED &&
        (symbol->size > entry->common_size || symbol->value > 1ULL << entry->common_shift))
        return tn__fail(err, TN_EDUP, "'%s' in %s is larger than in %s, which is linked already", entry->name,
                        object->name, owner_of(entry));
    bool merges = both_common && entry->kind == TN__ENTRY_OBJECT;
    overrides |= merges && tn__entry_is_later(entry, object->data->number, journal);
    if (!overrides && !merges)
        return 0;
    code = symbol->place == TN__PLACE_ALIAS ? object->data->format->steps->check_alias(object, symbol, err) : 0;
    if (code)
        return code;
    if (!tn__journal_note(journal, entry))
        return tn__no_memory(err, object->name);
    if (overrides)
        take_definition(object, index);
    else
        merge_common(entry, symbol);
    return 0;
}

static void keep_group(struct tn__object *object, struct tn__entry *entry, struct tn__group *group)
{
    entry->group_owner = object;
    entry->selection = group->selection;
    entry->measure = group->measure;
    if (!group->listed)
        object->entries[object->entry_count++] = entry;
    group->listed = true;
}

static void discard_group(struct tn__object *object, const struct tn__group *group, bool discarded)
{
    for (uint32_t m = 0; m < group->count; m++)
        object->data->sections[group->members[m]].discarded = discarded;
}

static void mark_copies(const struct tn__object_data *data, const struct tn__group *group)
{
    for (uint32_t m = 0; m < group->count; m++)
        data->sections[group->members[m]].is_copy = true;
}

/* A section that follows another one (SHF_LINK_ORDER) is about it, so it is discarded with it, in the same group or
 * not. */
static void discard_followers(const struct tn__object_data *data)
{
    for (uint32_t i = 1; i < data->section_count; i++)
        if (data->sections[i].follows && data->sections[data->sections[i].follows].discarded)
            data->sections[i].discarded = true;
}

/* True if this copy comes with an earlier input than the copy that is kept, although it was made or loaded later.
 * Functions that have stubs stay. */
static bool comes_first(const struct tn__object *object, const struct tn__group *group, const struct tn__entry *entry,
                        const struct tn__journal *journal)
{
    const struct tn__object *other = entry->group_owner;
    bool is_size_asked = group->selection == TN__SELECT_LARGEST || entry->selection == TN__SELECT_LARGEST;
    return !tn__object_is_taken(other, journal) && object->data->number < other->data->number && !other->data->split &&
           (!is_size_asked || group->measure == entry->measure);
}

static int drop_lost(struct tn_library *library, const struct tn__steps *steps, const struct tn__list *queue,
                     struct tn__journal *journal, struct tn_error *err)
{
    return (library->drop_lost ? library->drop_lost : steps->drop_lost)(library, queue, journal, err);
}

/* Keeps this object's copy of each COMDAT group, or discards it because another object's is kept already: that of the
 * first input, or the one that its format prefers. `queue`: that the object will be in. */
static int claim_groups(struct tn_library *library, struct tn__object *object, const struct tn__list *queue,
                        struct tn__journal *journal, struct tn_error *err) TN__LOCKED
{
    bool any = false, any_better = false;
    const struct tn__steps *steps = object->data->group_count ? object->data->format->steps : NULL;
    for (uint32_t i = 0; i < object->data->group_count; i++) {
        struct tn__group *group = &object->data->groups[i];
        struct tn__entry *entry = tn__symtab_intern_key(&library->symtab, group->signature, group->key);
        if (!entry)
            return tn__no_memory(err, object->name);
        bool better = false;
        int code = entry->group_owner && steps && steps->compare_copies
                       ? steps->compare_copies(object, group, entry, journal, &better, err)
                       : 0;
        if (code)
            return code;
        if (entry->group_owner && library->drop_lost)
            better = better || comes_first(object, group, entry, journal);
        if (!entry->group_owner || better) {
            if (!tn__journal_note(journal, entry))
                return tn__no_memory(err, object->name);
            if (better)
                entry->group_owner->has_lost = true;
            keep_group(object, entry, group);
            mark_copies(object->data, group);
            any_better |= better;
            entry->overrides |= better;
            continue;
        }
        entry->overrides = any = true;
        discard_group(object, group, true);
    }
    if (any)
        discard_followers(object->data);
    return any_better ? drop_lost(library, steps, queue, journal, err) : 0;
}

bool tn__object_drop_discarded(const struct tn__object_data *data, struct tn__symbol *symbol)
{
    if (symbol->place != TN__PLACE_SECTION || tn__section_is_loaded(&data->sections[symbol->section]))
        return false;
    symbol->place = TN__PLACE_UNDEFINED;
    symbol->dropped = true;
    symbol->dropped_weak = symbol->binding == TN__BIND_WEAK;
    symbol->binding = TN__BIND_GLOBAL; /* weak as a definition; as a reference it must not end up as zero */
    return true;
}

static bool is_owed(const struct tn__symbol *symbol, const struct tn__promise *keeps)
{
    return keeps && symbol->entry && symbol->entry->kind == TN__ENTRY_PROMISED && symbol->entry->promise == keeps;
}

/* Definitions of the object have taken the places of those in groups that gave way to the object's: for a promise that
 * those were to keep. */
static int keep_with(struct tn__object *object, const struct tn__promise *keeps, uint32_t *owed,
                     struct tn__journal *journal, struct tn_error *err) TN__LOCKED
{
    for (uint32_t i = object->data->first_global; i < object->data->symbol_count; i++) {
        const struct tn__symbol *symbol = &object->data->symbols[i];
        if (!is_owed(symbol, keeps) || symbol->place != TN__PLACE_SECTION)
            continue;
        if (!tn__journal_note(journal, symbol->entry))
            return tn__no_memory(err, object->name);
        take_definition(object, i);
        --*owed;
    }
    return 0;
}

/* So many promised symbols lie in groups of which other objects' copies are kept: these copies keep the promise. An
 * object that defines a promised symbol is not linked before the promise is kept. */
static int keep_with_others(const struct tn_library *library, const struct tn__object *object,
                            const struct tn__promise *keeps, uint32_t owed, struct tn__journal *journal,
                            struct tn_error *err) TN__LOCKED
{
    int code = 0;
    const struct tn__object *last = object;
    for (uint32_t i = 0; !code && owed && i < object->data->group_count; i++) {
        const struct tn__group *group = &object->data->groups[i];
        struct tn__object *owner = tn__symtab_find_key(&library->symtab, group->signature, group->key)->group_owner;
        if (owner != object && owner != last && owner->data)
            code = keep_with(owner, keeps, &owed, journal, err);
        last = owner;
    }
    return code;
}

static int enter_symbols(struct tn_library *library, struct tn__object *object, const struct tn__promise *keeps,
                         struct tn__journal *journal, struct tn_error *err) TN__LOCKED
{
    bool has_aliases = false;
    uint32_t owed = 0; /* promised symbols, in groups of which other copies are kept */
    for (uint32_t i = object->data->first_global; i < tn__object_entered_end(object->data); i++) {
        struct tn__symbol *symbol = &object->data->symbols[i];
        if (symbol->binding == TN__BIND_LOCAL || symbol->late)
            continue;
        symbol->entry = tn__symtab_intern_key(&library->symtab, symbol->name, symbol->key);
        if (!symbol->entry)
            return tn__no_memory(err, object->name);
        owed += tn__object_drop_discarded(object->data, symbol) && is_owed(symbol, keeps);
        bool alias = symbol->place == TN__PLACE_ALIAS;
        has_aliases |= alias;
        int code =
            alias || symbol->place == TN__PLACE_UNDEFINED ? 0 : tn__object_define(object, i, keeps, journal, err);
        if (code)
            return code;
    }
    int code = has_aliases ? object->data->format->steps->enter_aliases(object, keeps, journal, err) : 0;
    return code ? code : keep_with_others(library, object, keeps, owed, journal, err);
}

/* ---- objects ---- */

/* Entries that have to be looked at when the object is removed. */
static size_t count_entries(const struct tn__object_data *data)
{
    const uint32_t end = tn__object_entered_end(data);
    size_t count = data->group_count + (data->symbol_count - end);
    for (uint32_t i = data->first_global; i < end; i++)
        count += data->symbols[i].binding != TN__BIND_LOCAL && data->symbols[i].place != TN__PLACE_UNDEFINED;
    return count;
}

/* One block: the object, space for its entries, its name. The data moves into its own arena. */
static struct tn__object *new_object(struct tn__object_data *data)
{
    size_t entries = count_entries(data) * sizeof(struct tn__entry *), name_size = strlen(data->name) + 1;
    struct tn__object_data *kept = tn__arena_alloc(&data->arena, sizeof *kept);
    struct tn__object *object = kept ? tn__alloc(data->arena.from, sizeof *object + entries + name_size) : NULL;
    if (!object)
        return NULL;
    *object = (struct tn__object){.data = kept};
    object->name = memcpy((char *)object->entries + entries, data->name, name_size);
    tn__list_init(&object->owned);
    tn__list_init(&object->queued);
    *kept = *data;
    kept->name = object->name;
    return object;
}

/* Lets the client see the object, and replace or refuse it. A replacement is copied, so that whatever becomes of the
 * object, the client gets its bytes back at once. A positive answer would be an outcome of links. */
static int show(const struct tn_session *session, struct tn__object_data *data, struct tn_error *err)
{
    struct tn_input shown = data->input;
    struct tn_error why = {0};
    shown.release = NULL;
    shown.context = NULL;
    int code = session->on_object(session->context, &shown, &why);
    data->is_refused = code != 0;
    if (code)
        return tn__fail(err, code < 0 ? code : TN_EINVAL, "%s: %s", data->name, *why.text ? why.text : "refused");
    if (shown.bytes == data->bytes && shown.length == data->size)
        return 0;
    uint8_t *copy = shown.bytes ? tn__arena_array(&data->arena, shown.length, 1) : NULL;
    if (copy)
        memcpy(copy, shown.bytes, shown.length);
    if (shown.release)
        shown.release(shown.context, shown.bytes, shown.length);
    data->bytes = copy;
    data->size = shown.length;
    data->may_change = false;
    return copy          ? 0
           : shown.bytes ? tn__no_memory(err, data->name)
                         : tn__fail(err, TN_EINVAL, "%s: no bytes", data->name);
}

static int find_keys(const struct tn_library *library, struct tn__object_data *data, struct tn_error *err)
{
    data->first_global = data->name_count = 0;
    return tn__object_find_keys(data, &library->session->seed) ? 0 : tn__object_fail_names(data, "symbols", err);
}

int tn__library_read(const struct tn_library *library, const struct tn_input *input, struct tn__input_bytes source,
                     struct tn__object_data *data, struct tn_error *err)
{
    const struct tn__detached *detached = library->session->detached;
    *data = (struct tn__object_data){.name = input->name,
                                     .bytes = input->bytes,
                                     .size = input->length,
                                     .input = *input,
                                     .may_change = source.may_change,
                                     .becomes_program = !detached || detached->lays_out,
                                     .with_unloaded = detached,
                                     .arena.from = library->session->allocator};
    int code = library->session->on_object ? show(library->session, data, err) : 0;
    if (!code)
        code = tn__object_read(data, library->session->formats, err);
    if (!code && data->late && (detached || !source.may_be_late))
        tn__object_enter_all(data);
    if (!code)
        code = find_keys(library, data, err);
    if (code)
        tn__arena_free(&data->arena);
    return code;
}

/* A table with few names is searched for them. */
static bool has_one_of(const struct tn__symtab *table, const struct tn__late *late) TN__LOCKED
{
    enum { FEW = 64 };
    bool any = table->count > FEW;
    for (size_t i = 0; !any && table->slots && i <= table->mask; i++)
        any = table->slots[i] && late->find(late, table->slots[i]->name);
    return any;
}

int tn__library_settle_late(const struct tn_library *library, struct tn__object_data *data, struct tn_error *err)
{
    if (!data->late || (!library->symtab.late && !has_one_of(&library->symtab, data->late)))
        return 0;
    tn__object_enter_all(data);
    return find_keys(library, data, err);
}

int tn__library_add(struct tn_tracker *owner, struct tn__object_data *data, struct tn__list *queue,
                    struct tn__origin origin, struct tn__journal *journal, struct tn_error *err)
{
    struct tn_library *library = owner->library;
    struct tn__object *object = new_object(data);
    if (!object) {
        tn__no_memory(err, data->name);
        tn__arena_free(&data->arena); /* the name may lie there */
        return TN_ENOMEM;
    }
    object->owner = owner;
    object->is_made = origin.keeps != NULL;
    object->behind = object->data->number = origin.input ? origin.input : ++library->inputs;
    bool has_space = tn__symtab_reserve(&library->symtab, object->data->name_count);
    int code = has_space ? claim_groups(library, object, queue, journal, err) : tn__no_memory(err, object->name);
    if (!code)
        code = enter_symbols(library, object, origin.keeps, journal, err);
    if (code) {
        object->data->input.release = NULL; /* what was not added is still the caller's */
        tn__object_release_data(object);
        tn__free(library->session->allocator, object);
        return code;
    }
    if (object->data->late) {
        object->data->late->object = object;
        object->data->late->table = &library->symtab;
        library->symtab.late = object->data->late;
    }
    library->session->stats.sections += object->data->section_count;
    library->session->stats.symbols += object->data->symbol_count;
    tn__list_append(&owner->objects, &object->owned);
    tn__list_append(queue, &object->queued);
    return 0;
}

/* ---- falling back; rare, so it is compiled to be small ---- */

__attribute__((cold)) void tn__object_reclaim_groups(const struct tn_library *library, struct tn__object *object)
{
    const struct tn__object_data *data = object->data;
    for (uint32_t i = 1; i < data->section_count; i++)
        if (data->sections[i].follows)
            data->sections[i].discarded = false;
    for (uint32_t i = 0; i < data->group_count; i++) {
        struct tn__group *group = &data->groups[i];
        struct tn__entry *entry = tn__symtab_find_key(&library->symtab, group->signature, group->key);
        if (entry->group_owner && entry->group_owner != object)
            continue;
        if (!entry->group_owner)
            keep_group(object, entry, group);
        discard_group(object, group, false);
    }
    for (uint32_t i = 0; i < data->group_count; i++) {
        const struct tn__group *group = &data->groups[i];
        if (tn__symtab_find_key(&library->symtab, group->signature, group->key)->group_owner != object)
            discard_group(object, group, true);
    }
    discard_followers(data);
}

/* Enters a definition again if its name is undefined, or has a weaker definition in a pending object. What the client
 * defined or a materializer promised meanwhile stays: at this point a clash could not be reported to any caller. */
static void reenter(struct tn_library *library, struct tn__object *object, uint32_t index) TN__LOCKED
{
    const struct tn__symbol *symbol = &object->data->symbols[index];
    struct tn__entry *entry = symbol->entry;
    struct tn_error unused;
    uint8_t strength = strength_of(object, symbol);
    bool is_pending = entry->kind == TN__ENTRY_OBJECT;
    if (is_pending && entry->object == object)
        return;
    if (symbol->place == TN__PLACE_ALIAS && object->data->format->steps->check_alias(object, symbol, &unused))
        return;
    entry->overrides |= entry->strength != TN__STRENGTH_NONE;
    if (tn__entry_is_held(entry))
        library->fall_back_due = true; /* once more when that link has ended */
    else if (strength > entry->strength && (is_pending || !entry->strength)) {
        library->session->revision += tn__entry_leads_on(entry);
        take_definition(object, index);
    } else if (is_pending && tn__strength_is_common(strength) && tn__strength_is_common(entry->strength))
        merge_common(entry, symbol);
}

__attribute__((cold)) static void reenter_symbols(struct tn_library *library, struct tn__object *object) TN__LOCKED
{
    for (uint32_t i = 1; i < object->data->symbol_count; i++) {
        struct tn__symbol *symbol = &object->data->symbols[i];
        if (symbol->dropped && tn__section_is_loaded(&object->data->sections[symbol->section])) {
            symbol->dropped = false;
            symbol->place = TN__PLACE_SECTION;
            symbol->binding = symbol->dropped_weak ? TN__BIND_WEAK : TN__BIND_GLOBAL;
        }
        if (symbol->binding != TN__BIND_LOCAL && symbol->place != TN__PLACE_UNDEFINED && symbol->entry)
            reenter(library, object, i);
    }
}

void tn__library_fall_back(struct tn_library *library)
{
    if (!library->fall_back_due)
        return;
    library->fall_back_due = false;
    for (TN_EACH(struct tn__object, object, &library->queue, queued)) {
        if (object->link) {
            library->fall_back_due = true;
            continue;
        }
        tn__object_reclaim_groups(library, object);
        reenter_symbols(library, object);
    }
}
