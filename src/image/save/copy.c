/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The copies of objects. References become places, and are entered in lists: in that of the heap itself, or of the
 * image that has the object. Words that look like addresses and are neither references nor declared are reported. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "image/save/save.h"

struct range {
    uint64_t start, end;
};

struct copier {
    struct tn_save *save;
    struct range *mapped; /* what is mapped in this process, by address */
    size_t mapped_count, mapped_capacity;
    uint64_t lowest, highest; /* of that */
    bool full;                /* memory is out */
    uint64_t *own;            /* the bits of the first list */
    size_t prepared;          /* how many prepared copies were used */
    uint64_t object;          /* the place of the one that is being copied */
};

/* ---- lists and bindings ---- */

static struct tn__save_list *list_of(struct tn_save *save, enum tn__image_list of, uint32_t index, uint64_t base)
{
    for (size_t i = 0; i < save->list_count; i++)
        if (save->lists[i].of == of && save->lists[i].index == index)
            return &save->lists[i];
    if (!tn__grow(NULL, &save->lists, &save->list_capacity, save->list_count + 1, sizeof *save->lists))
        return NULL;
    struct tn__save_list *list = &save->lists[save->list_count];
    *list = (struct tn__save_list){.of = of, .index = index, .base = base};
    list->bits = tn__words_new(save->size);
    save->list_count += list->bits != NULL;
    return list->bits ? list : NULL;
}

bool tn__save_note(struct tn_save *save, enum tn__image_list of, uint32_t index, uint64_t base, uint64_t place)
{
    struct tn__save_list *list = list_of(save, of, index, base);
    if (list)
        tn__word_add(list->bits, place);
    return list;
}

int tn__save_bind(struct tn_save *save, uint64_t place, const void *address, const struct tn__save_item *item,
                  const char *what)
{
    struct tn_save_name name;
    const struct tn_save_options *options = &save->options;
    int unknown = tn__save_name(save, address, &name);
    char text[80];
    snprintf(text, sizeof text, "the address %p has no name", address);
    if (unknown)
        return item ? tn__save_fail(save, TN_EUNDEF, item->object, item->parent, text)
                    : tn__fail(save->err, TN_EUNDEF, "%s: %s: %s", options->name, what, text);
    const char *symbol = tn__arena_text(&save->arena, name.symbol, strlen(name.symbol));
    if (!symbol ||
        !tn__grow(NULL, &save->bindings, &save->binding_capacity, save->binding_count + 1, sizeof *save->bindings))
        return tn__no_memory(save->err, options->name);
    save->bindings[save->binding_count++] = (struct tn__save_binding){place, name.addend, symbol};
    return 0;
}

/* ---- references ---- */

/* Stores the place of something here, or the intended address of something in another image. */
static void store(struct copier *c, void *word, uint64_t value, uint32_t image)
{
    struct tn_save *save = c->save;
    uint64_t place = (uint64_t)((uint8_t *)word - save->bytes);
    tn__put64(word, value);
    if (!image) {
        tn__word_add(c->own, place);
        return;
    }
    const struct tn__image_heap *heap = save->options.images[image - 1]->heap;
    uint64_t base = (uintptr_t)heap->start - heap->moved;
    c->full |= !tn__save_note(save, TN__LIST_DEPENDENCY, image - 1, base, place);
}

/* What was not reached is referred to weakly. */
static void translate(void *context, void **slot)
{
    struct copier *c = context;
    struct tn_save *save = c->save;
    if (!*slot)
        return;
    uint64_t to = tn__places_find(&save->places, *slot);
    uint32_t image = 0;
    if (to != TN__NO_PLACE) {
        if (save->unique_count)
            c->full |= !tn__save_note_use(save, to, c->object, (uint64_t)((uint8_t *)slot - save->bytes));
        store(c, slot, to, 0);
        return;
    }
    if (!tn__is_in_heap(save->heap, *slot))
        image = tn__save_image_of(save, *slot);
    if (image)
        store(c, slot, (uintptr_t)*slot - save->options.images[image - 1]->heap->moved, image);
    else
        *slot = NULL;
}

/* ---- words that are no references ---- */

static bool is_listed(const struct tn_save *save, uint64_t place)
{
    bool listed = false;
    for (size_t i = 0; i < save->list_count; i++)
        listed |= tn__word_is_in(save->lists[i].bits, place);
    return listed;
}

static int take_word(struct copier *c, const struct tn__save_item *item, uint8_t *word, uint32_t kind)
{
    uint64_t value = tn__get64(word), place = (uint64_t)(word - c->save->bytes);
    if (is_listed(c->save, place))
        return tn__save_fail(c->save, TN_EINVAL, item->object, item->parent, "a declared word is a reference");
    tn__put64(word, 0);
    if (kind == TN_SAVE_ZERO || !value)
        return 0;
    return tn__save_bind(c->save, place, (const void *)(uintptr_t)value, item, NULL);
}

static int take_words(struct copier *c, const struct tn__save_item *item, uint8_t *copy, uint64_t payload)
{
    const struct tn__save_kind *kind = &tn__save_kinds(c->save)[item->kind];
    const struct tn_type *type = kind->type;
    int code = 0;
    for (size_t i = 0; kind->row && i < kind->row->word_count; i++) {
        uint64_t at = kind->row->words[i].offset, end = at < type->size ? type->size : payload;
        for (; at + 8 <= end && !code; at += type->element) {
            code = take_word(c, item, copy + at, kind->row->words[i].kind);
            if (at < type->size)
                break;
        }
    }
    return code;
}

static bool is_mapped(const struct copier *c, uint64_t address)
{
    size_t after = TN_BISECT(0, c->mapped_count, i, c->mapped[i].start <= address);
    return after && address < c->mapped[after - 1].end;
}

static int report(struct copier *c, const void *object, uint32_t parent, const char *type, uint64_t offset,
                  uint64_t value)
{
    struct tn_save *save = c->save;
    save->stats.suspects++;
    if (save->options.flags & TN_SAVE_STRICT) {
        char text[200];
        snprintf(text, sizeof text, "+%llu of '%.100s' is 0x%llx, which looks like an address",
                 (unsigned long long)offset, type, (unsigned long long)value);
        return tn__save_fail(save, TN_ENOTSUP, object, parent, text);
    }
    if (!save->options.suspect)
        return 0;
    char path[TN__SAVE_PATH];
    tn__save_path(save, object, parent, path);
    const struct tn_save_suspect suspect = {sizeof suspect, path, type, offset, value};
    enum tn__callback outer = tn__callback_begin(TN__UNDER_LOCK);
    save->options.suspect(save->options.context, &suspect);
    tn__callback_end(outer);
    return 0;
}

static int look_for_addresses(struct copier *c, const struct tn__save_item *item, const uint8_t *copy, uint64_t payload)
{
    uint64_t place = item->place;
    int code = 0;
    for (uint64_t at = 0; at + 8 <= payload && !code; at += 8) {
        uint64_t value = tn__get64(copy + at);
        if (value - c->lowest < c->highest - c->lowest && !tn__word_is_in(c->own, place + at) && is_mapped(c, value) &&
            !is_listed(c->save, place + at))
            code = report(c, item->object, item->parent, tn__save_kinds(c->save)[item->kind].name, at, value);
    }
    return code;
}

static bool add_mapping(void *context, uint64_t start, uint64_t end)
{
    struct copier *c = context;
    if (!tn__grow(NULL, &c->mapped, &c->mapped_capacity, c->mapped_count + 1, sizeof *c->mapped))
        return false;
    c->mapped[c->mapped_count++] = (struct range){start, end};
    return true;
}

/* Without a list of them, nothing looks like an address. */
static int read_mappings(struct copier *c)
{
    struct tn_save *save = c->save;
    if (!(save->options.flags & TN_SAVE_STRICT) && !save->options.suspect)
        return 0;
    int error = tn__os_each_mapping(add_mapping, c);
    if (error && (error == ENOMEM || (save->options.flags & TN_SAVE_STRICT)))
        return tn__fail(save->err, error == ENOMEM ? TN_ENOMEM : TN_EIO,
                        "%s: the mappings of the process cannot be read: %s", save->options.name, strerror(error));
    if (c->mapped_count) {
        c->lowest = c->mapped[0].start;
        c->highest = c->mapped[c->mapped_count - 1].end;
    }
    return 0;
}

/* ---- objects ---- */

/* The identity hash that was asked for; of a permanent object it may have been. 0: none was. */
static uint64_t hash_of(const struct tn_save *save, const void *object)
{
    uint64_t header = *tn__header(object);
    if (header & TN_GC_HASH_STORED)
        return tn__get64((const char *)tn__header(object) + tn__object_size(object) - 8);
    if (tn__is_in_heap(save->heap, object))
        return header & TN_GC_HASHED ? (uintptr_t)object : 0;
    return save->heap->permanent_work ? save->heap->permanent_work->identity(save->heap, object) : (uintptr_t)object;
}

static void write_header(struct copier *c, const struct tn__save_kind *kind, enum tn__image_zone zone, uint8_t *copy,
                         bool has_hash)
{
    struct tn_save *save = c->save;
    uint64_t bits = has_hash ? TN_GC_HASHED | TN_GC_HASH_STORED : 0;
    if (kind->type->kind != TN_KIND_LEAF && zone >= TN__ZONE_BOUND)
        bits |= TN_PERMANENT;
    uint8_t *header = copy - TN_GC_HEADER_SIZE;
    if (!kind->is_host) {
        store(c, header, kind->place + bits, kind->other);
        return;
    }
    tn__put64(header, bits);
    c->full |= !tn__save_note(save, TN__LIST_HOST_TYPE, kind->same, 0, (uint64_t)(header - save->bytes));
}

/* The word of the collector's. */
static void clear_link(uint8_t *copy, const struct tn_type *type)
{
    if (type->kind == TN_KIND_WEAK || type->kind == TN_KIND_EPHEMERON)
        tn__put64(copy + type->size - 8, 0);
}

/* What is copied: the object, or what the client has made of it. */
static const void *contents_of(struct copier *c, uint32_t number, const void *object)
{
    const struct tn_save *save = c->save;
    if (c->prepared == save->prepared_count || save->prepared[c->prepared].item != number)
        return object;
    return save->prepared[c->prepared++].words + 1;
}

static int copy_object(struct copier *c, uint32_t number)
{
    struct tn_save *save = c->save;
    const struct tn__save_item *item = tn__save_item(save, number);
    const struct tn__save_kind *kind = &tn__save_kinds(save)[item->kind];
    uint8_t *copy = save->bytes + item->place;
    uint64_t payload = tn__payload(item->object), hash = hash_of(save, item->object);
    memcpy(copy, contents_of(c, number, item->object), payload);
    tn__put64(copy - TN_GC_HEADER_SIZE, (uintptr_t)kind->type);
    if (hash)
        tn__put64(copy - TN_GC_HEADER_SIZE + tn__allocation_size(payload), hash);
    clear_link(copy, kind->type);
    c->object = item->place;
    if (kind->type->kind != TN_KIND_LEAF)
        tn__visit_all_references(copy, translate, c);
    int code = take_words(c, item, copy, payload);
    if (!code && c->mapped_count && !c->full) /* else references are missing in the lists */
        code = look_for_addresses(c, item, copy, payload);
    write_header(c, kind, item->zone, copy, hash);
    return code;
}

/* The object whose elements are the roots. */
static void copy_roots(struct copier *c)
{
    struct tn_save *save = c->save;
    uint32_t number = tn__addresses_find(&save->kinds, sizeof(struct tn__save_kind), &tn__save_roots_type);
    const struct tn__save_zone *zone = &save->zones[TN__ZONE_MUTABLE];
    uint8_t *copy = save->bytes + zone->start + zone->objects - 8 - 8 * save->root_count;
    tn__put64(copy, save->root_count);
    c->object = (uint64_t)(copy - save->bytes);
    for (size_t i = 0; i < save->root_count; i++) {
        void **slot = (void **)(void *)(save->bytes + save->roots[i].place);
        *slot = save->roots[i].handle->object;
        translate(c, slot);
    }
    write_header(c, &tn__save_kinds(save)[number], TN__ZONE_MUTABLE, copy, false);
}

/* ---- words of other images ---- */

static int settle_patch(struct copier *c, struct tn__save_patch *patch)
{
    struct tn_save *save = c->save;
    const struct tn__save_changed *changed = &save->changed[patch->changed];
    const char *type = tn__type_of(changed->object)->name;
    void *to = (void *)(uintptr_t)patch->value;
    if (!patch->is_reference) {
        uint64_t start = (uintptr_t)save->options.images[changed->image]->heap->start;
        if (patch->of == TN__PATCH_SYMBOL || !c->mapped_count || !is_mapped(c, patch->value))
            return 0;
        return report(c, changed->object, (uint32_t)(save->root_count + patch->changed) | TN__FROM_ROOT, type,
                      start + patch->place - (uintptr_t)changed->object, patch->value);
    }
    uint64_t place = to ? tn__places_find(&save->places, to) : TN__NO_PLACE;
    uint32_t image = 0;
    if (to && place == TN__NO_PLACE && !tn__is_in_heap(save->heap, to))
        image = tn__save_image_of(save, to);
    patch->value = 0;
    if (place != TN__NO_PLACE) {
        patch->of = TN__PATCH_OWN;
        patch->value = place;
        patch->index = tn__save_unique_of(save, place) + 1; /* 0: it is none */
    } else if (image) {
        patch->of = TN__PATCH_DEPENDENCY;
        patch->value = (uintptr_t)to - (uintptr_t)save->options.images[image - 1]->heap->start;
        patch->index = image - 1;
    }
    return 0;
}

/* A weak reference to what is not saved is null, and may have been before. */
static int settle_patches(struct copier *c)
{
    struct tn_save *save = c->save;
    size_t kept = 0;
    int code = 0;
    for (size_t i = 0; i < save->patch_count && !code; i++) {
        struct tn__save_patch *patch = &save->patches[i];
        code = settle_patch(c, patch);
        bool is_null = patch->is_reference && patch->of == TN__PATCH_NUMBER;
        if (!is_null || patch->before)
            save->patches[kept++] = *patch;
    }
    save->patch_count = kept;
    return code;
}

static int by_place(const void *a, const void *b)
{
    uint64_t x = ((const struct tn__save_binding *)a)->place, y = ((const struct tn__save_binding *)b)->place;
    return (x > y) - (x < y);
}

int tn__save_copy(struct tn_save *save)
{
    struct copier c = {.save = save};
    uint64_t address;
    int code = read_mappings(&c), error = 0;
    if (!code)
        error = tn__os_reserve(0, save->size, false, &address);
    if (!code && !error) {
        save->bytes = (uint8_t *)(uintptr_t)address;
        error = tn__os_commit(address, save->size, TN__PROT_RW);
        if (!error)
            tn__os_prefault(address, save->size);
    }
    struct tn__save_list *own = code || error ? NULL : list_of(save, TN__LIST_OWN, 0, 0);
    if (!code && !own)
        code = tn__no_memory(save->err, save->options.name);
    if (own)
        c.own = own->bits;
    for (size_t i = 0; i < save->items.count && !code; i++)
        code = copy_object(&c, (uint32_t)i);
    if (!code)
        copy_roots(&c);
    tn__save_sort_uses(save);
    if (!code)
        code = settle_patches(&c);
    if (!code)
        code = c.full ? tn__no_memory(save->err, save->options.name) : tn__save_write_types(save);
    if (save->binding_count)
        qsort(save->bindings, save->binding_count, sizeof *save->bindings, by_place);
    tn__free(NULL, c.mapped);
    return code;
}
