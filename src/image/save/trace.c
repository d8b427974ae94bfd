/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Finds what is saved: whatever the roots keep alive, depth first, in the order of the roots' names. Objects get their
 * places in this order. Weak references and ephemerons keep nothing alive, as in a collection. Nothing recurses. */

#include "image/save/save.h"

/* How many objects that are to be visited were reached from this one. */
struct family {
    uint32_t parent, count;
};

/* An ephemeron that was reached, whose key was not. */
struct waiting {
    const void *key;
    void *object;   /* the ephemeron */
    uint32_t owner; /* its number as an item */
    uint32_t next;  /* 1 + number of the next one with this key; 0: none */
};

struct tracer {
    struct tn_save *save;
    struct tn__chunked pending;   /* addresses of objects that are to be visited; the newest is next */
    struct tn__chunked families;  /* struct family: of these, in the same order */
    uint32_t parent;              /* of what is being pushed */
    struct tn__addresses waiting; /* struct waiting: the first one of each key */
    struct waiting *others;       /* further ones of a key */
    size_t other_count, other_capacity;
    int code;
};

static int no_memory(const struct tn_save *save)
{
    return tn__no_memory(save->err, save->options.name);
}

/* ---- which objects ---- */

uint32_t tn__save_image_of(const struct tn_save *save, const void *address)
{
    for (size_t i = 0; i < save->options.image_count; i++) {
        const struct tn__image_heap *heap = save->options.images[i]->heap;
        if (heap && (uintptr_t)address - (uintptr_t)heap->start < heap->size)
            return (uint32_t)i + 1;
    }
    return 0;
}

static bool is_reached(const struct tn_save *save, const void *object)
{
    return tn__places_have(&save->places, object) ||
           (!tn__is_in_heap(save->heap, object) && tn__save_image_of(save, object));
}

static struct family *family(const struct tracer *t)
{
    return t->families.count ? tn__chunked_at(&t->families, sizeof(struct family), t->families.count - 1) : NULL;
}

static void push(void *context, void **slot)
{
    struct tracer *t = context;
    if (!*slot || is_reached(t->save, *slot) || t->code)
        return;
    void **to = tn__chunked_add(&t->pending, sizeof *to);
    struct family *newest = family(t);
    if (to && (!newest || newest->parent != t->parent)) {
        newest = tn__chunked_add(&t->families, sizeof *newest);
        if (newest)
            *newest = (struct family){.parent = t->parent};
    }
    if (!to || !newest) {
        t->code = no_memory(t->save);
        return;
    }
    *to = *slot;
    newest->count++;
}

static void *pop(struct tracer *t, uint32_t *parent)
{
    struct family *newest = family(t);
    *parent = newest->parent;
    if (!--newest->count)
        tn__chunked_drop(&t->families, sizeof *newest);
    return *(void **)tn__chunked_drop(&t->pending, sizeof(void *));
}

/* ---- places ---- */

static bool keeps_hash(const struct tn_save *save, const void *object)
{
    return !tn__is_in_heap(save->heap, object) || (*tn__header(object) & (TN_GC_HASHED | TN_GC_HASH_STORED));
}

/* The place of the payload in its zone. Large objects have pages of their own. */
static uint64_t take_place(struct tn_save *save, const struct tn__save_kind *kind, enum tn__image_zone where,
                           const void *object)
{
    enum { LARGE = 64 << 10 };
    struct tn__save_zone *zone = &save->zones[where];
    uint64_t size = tn__allocation_size(tn__payload(object)) + (keeps_hash(save, object) ? 8 : 0);
    uint64_t start = size > LARGE ? tn__align_up(zone->objects, save->page) : zone->objects;
    if (kind->type->alignment == 16 && (start + TN_GC_HEADER_SIZE) % 16)
        start += 8;
    zone->objects = size > LARGE ? tn__align_up(start + size, save->page) : start + size;
    return start + TN_GC_HEADER_SIZE;
}

/* ---- what the client prepares ---- */

static int prepare(struct tn_save *save, const struct tn_save_type *row, const void *object, uint32_t item)
{
    int code = 0;
    if (!tn__grow(NULL, &save->prepared, &save->prepared_capacity, save->prepared_count + 1, sizeof *save->prepared))
        return no_memory(save);
    uint64_t *words = tn__save_prepare(save, row, object, &code);
    if (words)
        save->prepared[save->prepared_count++] = (struct tn__save_prepared){item, words};
    return code;
}

/* ---- ephemerons ---- */

static struct waiting *waiting_for(const struct tracer *t, const void *key)
{
    uint32_t number = tn__addresses_find(&t->waiting, sizeof(struct waiting), key);
    return number == TN__NOT_FOUND ? NULL : (struct waiting *)t->waiting.items + number;
}

static void wait_for(struct tracer *t, void *key, void *ephemeron, uint32_t owner)
{
    struct waiting *first = waiting_for(t, key), entry = {key, ephemeron, owner, 0};
    bool good;
    if (!first) {
        good = tn__addresses_add(&t->waiting, sizeof entry, &entry);
    } else {
        entry.next = first->next;
        good = tn__grow(NULL, &t->others, &t->other_capacity, t->other_count + 1, sizeof *t->others);
        if (good) {
            t->others[t->other_count++] = entry;
            first->next = (uint32_t)t->other_count;
        }
    }
    if (!good)
        t->code = no_memory(t->save);
}

static void push_value(struct tracer *t, void *ephemeron, uint32_t owner)
{
    t->parent = owner;
    push(t, (void **)ephemeron + 1);
}

/* The values of ephemerons that wait for this key. */
static void key_reached(struct tracer *t, const void *key)
{
    const struct waiting *entry = t->waiting.count ? waiting_for(t, key) : NULL;
    for (; entry; entry = entry->next ? &t->others[entry->next - 1] : NULL)
        push_value(t, entry->object, entry->owner);
}

static void visit_ephemeron(struct tracer *t, void *object, uint32_t owner)
{
    void *const *words = object;
    if (!words[0] || !words[1])
        return;
    if (is_reached(t->save, words[0]))
        push_value(t, object, owner);
    else
        wait_for(t, words[0], object, owner);
}

/* ---- tracing ---- */

static void **pending_at(const struct tracer *t, size_t index)
{
    return tn__chunked_at(&t->pending, sizeof(void *), index);
}

/* The children of an object, so that the first one is visited first. */
static void push_children(struct tracer *t, void *object, uint32_t number)
{
    size_t first = t->pending.count;
    t->parent = number;
    tn__visit_references(object, push, t);
    for (size_t last = t->pending.count; first + 1 < last; first++, last--) {
        void *swapped = *pending_at(t, first);
        *pending_at(t, first) = *pending_at(t, last - 1);
        *pending_at(t, last - 1) = swapped;
    }
}

/* What refers to a unique object may have to refer to another one. */
static enum tn__image_zone zone_of(struct tn_save *save, const struct tn__save_kind *kind, void *object)
{
    bool may_change = kind->zone < TN__ZONE_BOUND && tn__save_refers_to_unique(save, object);
    return !may_change ? kind->zone : kind->zone == TN__ZONE_FROZEN ? TN__ZONE_MUTABLE : TN__ZONE_BOUND;
}

static int enter(struct tracer *t, void *object, uint32_t parent)
{
    struct tn_save *save = t->save;
    int code = 0;
    uint32_t type = tn__save_kind_of(save, tn__type_of(object), parent, &code), number = (uint32_t)save->items.count;
    if (code)
        return code;
    const struct tn__save_kind *kind = &tn__save_kinds(save)[type];
    bool prepares = kind->row && kind->row->prepare;
    if (kind->row && (kind->row->flags & TN_SAVE_REFUSE) && !prepares)
        return tn__save_fail(save, TN_ENOTSUP, object, parent, "objects of this type cannot be saved");
    if (number >= TN__FROM_ROOT - 1)
        return tn__fail(save->err, TN_ERANGE, "%s: %u objects are too many", save->options.name, number);
    struct tn__save_item *item = tn__chunked_add(&save->items, sizeof *item);
    if (!item || !tn__places_add(&save->places, object))
        return no_memory(save);
    enum tn__image_zone zone = zone_of(save, kind, object);
    kind = &tn__save_kinds(save)[type]; /* others may have come */
    *item = (struct tn__save_item){object, take_place(save, kind, zone, object), parent, type & 0x3fffffff, zone & 3};
    if (prepares)
        code = prepare(save, kind->row, object, number);
    if (!code && kind->row && (kind->row->flags & TN_SAVE_UNIQUE))
        code = tn__save_unique(save, object, number);
    void *children = prepares && !code ? save->prepared[save->prepared_count - 1].words + 1 : object;
    if (code)
        return code;
    key_reached(t, object);
    push_children(t, children, number);
    if (tn__type_of(children)->kind == TN_KIND_EPHEMERON)
        visit_ephemeron(t, children, number);
    return t->code;
}

static int drain(struct tracer *t)
{
    int code = t->code;
    while (t->pending.count && !code) {
        uint32_t parent;
        void *object = pop(t, &parent);
        if (!is_reached(t->save, object))
            code = enter(t, object, parent);
    }
    return code;
}

/* What was stored into objects of other images, which live anyway. */
static int enter_changes(void *context, uint32_t changed, size_t first, size_t end)
{
    struct tracer *t = context;
    struct tn_save *save = t->save;
    void *object = save->changed[changed].object;
    uint32_t kind = tn__type_of(object)->kind;
    bool is_weak = kind == TN_KIND_WEAK || kind == TN_KIND_EPHEMERON;
    uint32_t parent = (uint32_t)(save->root_count + changed) | TN__FROM_ROOT;
    t->parent = parent;
    for (size_t i = first; i < end && !is_weak; i++) {
        void *value = (void *)(uintptr_t)save->patches[i].value;
        if (save->patches[i].is_reference)
            push(t, &value);
    }
    if (kind == TN_KIND_EPHEMERON)
        visit_ephemeron(t, object, parent);
    return drain(t);
}

/* ---- what must not be saved ---- */

static int refuse_finalizer(const struct tn_save *save, const void *object)
{
    size_t number = 0;
    while (tn__save_item(save, number)->object != object)
        number++;
    return tn__save_fail(save, TN_ENOTSUP, object, tn__save_item(save, number)->parent, "the object has a finalizer");
}

static int check_finalizers(const struct tn_save *save, const struct tn__finalizer *list)
{
    for (; list; list = list->next) {
        if (!tn__places_have(&save->places, list->object))
            continue;
        const struct tn_save_type *row = tn__save_row_of(save, tn__type_of(list->object));
        if (!row || !(row->prepare || (row->flags & TN_SAVE_DROP_FINALIZER)))
            return refuse_finalizer(save, list->object);
    }
    return 0;
}

/* ---- all of it ---- */

static int place_zones(struct tn_save *save)
{
    struct tn__save_zone *mutable = &save->zones[TN__ZONE_MUTABLE];
    uint64_t largest = UINT64_C(1) << 40;
    for (size_t i = 0; i < save->root_count; i++)
        save->roots[i].place = mutable->objects + TN_GC_HEADER_SIZE + 8 + 8 * i;
    mutable->objects += TN_GC_HEADER_SIZE + 8 + 8 * save->root_count; /* see copy_roots */
    tn__save_place_types(save);
    for (int i = 0; i < TN__ZONES; i++) {
        struct tn__save_zone *zone = &save->zones[i];
        if (zone->size > largest)
            return tn__fail(save->err, TN_ERANGE, "%s: %llu bytes of objects are too many", save->options.name,
                            (unsigned long long)zone->size);
        zone->start = save->size;
        save->size += tn__align_up(zone->size, save->page);
        zone->size = save->size - zone->start;
    }
    for (size_t i = 0; i < save->items.count; i++) {
        struct tn__save_item *item = tn__save_item(save, i);
        item->place += save->zones[item->zone].start;
    }
    tn__save_place_unique(save);
    for (size_t i = 0; i < save->kinds.count; i++) {
        struct tn__save_kind *kind = &tn__save_kinds(save)[i];
        if (!kind->other)
            kind->place += save->zones[tn__save_descriptor_zone(kind)].start;
    }
    for (size_t i = 0; i < save->root_count; i++)
        save->roots[i].place += mutable->start;
    return tn__places_end(&save->places, &save->items) ? 0 : no_memory(save);
}

int tn__save_trace(struct tn_save *save)
{
    struct tracer t = {.save = save};
    int code = tn__places_begin(&save->places, save->heap) ? 0 : no_memory(save);
    tn__save_kind_of(save, &tn__save_roots_type, 0, &code);
    for (size_t i = 0; i < save->root_count && !code; i++) {
        t.parent = (uint32_t)i | TN__FROM_ROOT;
        push(&t, &save->roots[i].handle->object);
        code = drain(&t);
    }
    for (size_t i = 0; i < save->options.image_count && !code; i++)
        code = tn__save_compare(save, (uint32_t)i, enter_changes, &t);
    const struct tn__finalizer *lists[] = {save->heap->finalizers, save->heap->old_finalizers, save->heap->waiting};
    for (size_t i = 0; i < TN_COUNT(lists) && !code; i++)
        code = check_finalizers(save, lists[i]);
    if (!code)
        code = place_zones(save);
    tn__chunked_free(&t.pending, sizeof(void *));
    tn__chunked_free(&t.families, sizeof(struct family));
    tn__addresses_free(&t.waiting);
    tn__free(NULL, t.others);
    return code;
}
