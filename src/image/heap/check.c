/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* TN_IMAGE_VERIFY: the objects of a heap, one by one. Every header is one of the image's types or of those that it
 * depends on, every reference leads to the start of an object. Nothing is trusted: sizes may be anything. */

#include <stdlib.h>
#include <string.h>

#include "gc/collect/collect.h"
#include "image/heap/heap.h"

struct checker {
    const struct tn_image *image;
    const struct tn__image_heap *heap;
    const char *name;
    const struct tn_type **types; /* by address */
    size_t type_count;
    uint64_t *starts; /* a bit for each word: an object's first */
    uint64_t *bound;  /* the same: holds the address of a symbol */
    const char *wrong;
    const void *at; /* the object */
    struct tn_error *err;
};

static uint64_t place_of(const struct checker *c, const void *address)
{
    return (uintptr_t)address - (uintptr_t)c->heap->start;
}

static int fail(const struct checker *c, const char *what, const void *at)
{
    return tn__fail(c->err, TN_EFORMAT, "%s: the object at %llu bytes of its heap: %s", c->name,
                    (unsigned long long)place_of(c, at), what);
}

/* ---- types ---- */

static int compare_types(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

static bool lies_in(const struct tn__image_heap *heap, const void *address)
{
    return (uintptr_t)address - (uintptr_t)heap->start < heap->size;
}

static void note_bindings(struct checker *c)
{
    const struct tn__image_rows *bindings = &c->image->view.tables[TN__IMAGE_BINDING_TABLE];
    for (uint32_t i = 0; i < bindings->count; i++)
        if (!tn__get64(tn__image_row(bindings, i) + TN__IMAGE_BINDING_ADDEND))
            tn__word_add(c->bound, tn__get64(tn__image_row(bindings, i) + TN__IMAGE_BINDING_PLACE));
}

/* The image that a row of the table of dependencies names, if it has objects in this heap. */
static const struct tn_image *dependency(const struct checker *c, uint32_t index)
{
    const struct tn_image *other = c->heap->dependencies[index];
    return tn__image_heap_of(other, c->heap->heap) ? other : NULL;
}

static uint32_t dependency_count(const struct checker *c)
{
    return c->image->view.tables[TN__IMAGE_DEPENDENCY_TABLE].count;
}

/* Types of images that it depends on were checked with these, or are trusted. */
static void list_types_of(struct checker *c, const struct tn_image *other)
{
    const struct tn__image_rows *rows = &other->view.tables[TN__IMAGE_TYPE_TABLE];
    for (uint32_t i = 0; i < rows->count; i++) {
        const uint8_t *row = tn__image_row(rows, i);
        if (!tn__get32(row + TN__IMAGE_TYPE_FLAGS))
            c->types[c->type_count++] =
                (const struct tn_type *)(const void *)(other->heap->start + tn__get64(row + TN__IMAGE_TYPE_PLACE));
    }
}

static int list_types(struct checker *c, const struct tn_image_load_options *options)
{
    const struct tn__image_rows *rows = &c->image->view.tables[TN__IMAGE_TYPE_TABLE];
    size_t count = rows->count;
    for (uint32_t i = 0; i < dependency_count(c); i++)
        count += dependency(c, i) ? dependency(c, i)->view.tables[TN__IMAGE_TYPE_TABLE].count : 0;
    c->types = tn__alloc_zeroed(NULL, count + 1, sizeof *c->types);
    c->starts = tn__words_new(c->heap->size);
    c->bound = tn__words_new(c->heap->size);
    if (!c->types || !c->starts || !c->bound)
        return tn__no_memory(c->err, c->name);
    note_bindings(c);
    for (uint32_t i = 0; i < rows->count; i++) {
        const uint8_t *row = tn__image_row(rows, i);
        const char *name = tn__image_text(&c->image->view, row + TN__IMAGE_TYPE_NAME);
        const char *at = c->heap->start + tn__get64(row + TN__IMAGE_TYPE_PLACE);
        const struct tn_type *type = (const struct tn_type *)(const void *)at;
        bool is_custom = type->kind == TN_KIND_CUSTOM && !tn__get32(row + TN__IMAGE_TYPE_FLAGS);
        if (!tn__type_is_sound(type, c->heap->start, c->heap->size) ||
            (is_custom && !tn__word_is_in(c->bound, place_of(c, &type->visit))))
            return tn__fail(c->err, TN_EFORMAT, "%s: type '%s': its descriptor is wrong", c->name, name);
        for (size_t h = 0; tn__get32(row + TN__IMAGE_TYPE_FLAGS) && h < options->host_type_count; h++)
            if (strcmp(options->host_types[h].name, name) == 0)
                type = options->host_types[h].type;
        c->types[c->type_count++] = type;
    }
    for (uint32_t i = 0; i < dependency_count(c); i++)
        if (dependency(c, i))
            list_types_of(c, dependency(c, i));
    qsort(c->types, c->type_count, sizeof *c->types, compare_types);
    return 0;
}

static bool is_type(const struct checker *c, const struct tn_type *type)
{
    return c->type_count && bsearch(&type, c->types, c->type_count, sizeof *c->types, compare_types);
}

/* ---- objects ---- */

/* The size of an object whose header was checked, in `space` bytes; 0: it does not fit. */
static uint64_t size_of(const void *object, uint64_t space)
{
    const struct tn_type *type = tn__type_of(object);
    uint64_t length = 0, payload;
    if (space < TN_GC_HEADER_SIZE || space - TN_GC_HEADER_SIZE < type->size)
        return 0;
    if (type->element)
        length = tn__get64((const char *)object + type->length);
    if (__builtin_mul_overflow(length, type->element, &payload) ||
        __builtin_add_overflow(payload, type->size, &payload))
        return 0;
    uint64_t size = tn__allocation_size(payload), hash = *tn__header(object) & TN_GC_HASH_STORED ? 8 : 0;
    return size <= space && hash <= space - size ? size + hash : 0;
}

/* The bits that an object in a zone has: armed if it may refer to the heap one day. */
static const char *check_bits(const void *object, bool is_frozen)
{
    uint64_t bits = *tn__header(object) & ~TN_GC_TYPE_MASK, hash = bits & (TN_GC_HASHED | TN_GC_HASH_STORED);
    bool has_references = tn__type_of(object)->kind != TN_KIND_LEAF;
    if ((bits & TN_PERMANENT) != (has_references && !is_frozen ? TN_PERMANENT : 0))
        return "its header does not say whether stores into it are to be noticed";
    return hash && hash != (TN_GC_HASHED | TN_GC_HASH_STORED) ? "its header names a hash that is not there" : NULL;
}

static int note_starts(struct checker *c, const struct tn__saved_zone *zone, bool is_frozen)
{
    for (char *at = zone->start, *end = at + zone->objects; at < end;) {
        const void *object = at + TN_GC_HEADER_SIZE;
        if (!tn__get64(at)) {
            at += 8;
            continue;
        }
        if (!is_type(c, tn__type_of(object)))
            return fail(c, "its header is no type of the image", object);
        const char *wrong = check_bits(object, is_frozen);
        uint64_t size = size_of(object, (uint64_t)(end - at));
        if (!size || (uintptr_t)object % tn__type_of(object)->alignment)
            wrong = "it does not fit there";
        if (wrong)
            return fail(c, wrong, object);
        tn__word_add(c->starts, place_of(c, object));
        at += size;
    }
    return 0;
}

/* ---- references ---- */

/* Whether an object of another image begins there. Under the heap's lock, which what knows the starts of objects
 * needs. */
static bool is_object(const struct tn__image_heap *heap, uint64_t place)
{
    for (int kind = 0; kind < TN__ZONES; kind++) {
        const struct tn__saved_zone *zone = &heap->zones[kind];
        if (zone->start && place - (uint64_t)(zone->start - heap->start) < zone->objects)
            return heap->heap->permanent_work->is_start(heap->heap, heap->start + place);
    }
    return false;
}

static bool leads_to_dependency(const struct checker *c, const void *to)
{
    bool found = false;
    for (uint32_t i = 0; i < dependency_count(c) && !found; i++) {
        const struct tn_image *other = dependency(c, i);
        found =
            other && lies_in(other->heap, to) && is_object(other->heap, (uintptr_t)to - (uintptr_t)other->heap->start);
    }
    return found;
}

static void check_slot(void *context, void **slot)
{
    struct checker *c = context;
    uint64_t place = place_of(c, *slot);
    if (!lies_in(c->heap, slot))
        c->wrong = "its type's function visits words outside of it";
    else if (!*slot || (place < c->heap->size && place % 8 == 0 && tn__word_is_in(c->starts, place)))
        return;
    else if (place < c->heap->size)
        c->wrong = "a reference leads to no object";
    else if (!leads_to_dependency(c, *slot))
        c->wrong = "a reference leads out of the heap, or to no object";
}

static int check_references(struct checker *c, const struct tn__saved_zone *zone)
{
    int code = 0;
    for (char *at = zone->start, *end = at + zone->objects; at < end && !code;) {
        void *object = at + TN_GC_HEADER_SIZE;
        if (!tn__get64(at)) {
            at += 8;
            continue;
        }
        tn__visit_all_references(object, check_slot, c);
        if (c->wrong)
            code = fail(c, c->wrong, object);
        at += tn__object_size(object);
    }
    return code;
}

/* The words that roots are in hold references as well. */
static int check_roots(struct checker *c)
{
    const struct tn__image_rows *roots = &c->image->view.tables[TN__IMAGE_ROOT_TABLE];
    for (uint32_t i = 0; i < roots->count; i++) {
        char *at = c->heap->start + tn__get64(tn__image_row(roots, i) + TN__IMAGE_ROOT_PLACE);
        check_slot(c, (void **)(void *)at);
        if (c->wrong)
            return tn__fail(c->err, TN_EFORMAT, "%s: root %u: %s", c->name, i, c->wrong);
    }
    return 0;
}

/* What refers to unique objects is a word of the object that is said to have it. */
static int check_unique(struct checker *c)
{
    const struct tn__image_rows *unique = &c->image->view.tables[TN__IMAGE_UNIQUE_TABLE],
                                *uses = &c->image->view.tables[TN__IMAGE_USE_TABLE];
    for (uint32_t i = 0; i < unique->count; i++)
        if (!tn__word_is_in(c->starts, tn__get64(tn__image_row(unique, i) + TN__IMAGE_UNIQUE_PLACE)))
            return tn__fail(c->err, TN_EFORMAT, "%s: unique object %u is none", c->name, i);
    for (uint32_t i = 0; i < uses->count; i++) {
        const uint8_t *row = tn__image_row(uses, i);
        uint64_t object = tn__get64(row + TN__IMAGE_USE_OBJECT), place = tn__get64(row + TN__IMAGE_USE_PLACE);
        if (!tn__word_is_in(c->starts, object) || !tn__inside(place - object, 8, tn__payload(c->heap->start + object)))
            return tn__fail(c->err, TN_EFORMAT, "%s: use %u is no word of an object", c->name, i);
    }
    return 0;
}

/* ---- patches ---- */

struct patched_word {
    const void *word;
    bool is_reference;
};

static void look_for_word(void *context, void **slot)
{
    struct patched_word *search = context;
    search->is_reference |= (const void *)slot == search->word;
}

static const char *check_patch(const struct checker *c, const struct tn__patch *patch)
{
    struct tn__image_heap *other = c->heap->dependencies[patch->dependency]->heap;
    char *object = other->start + patch->object;
    struct patched_word search = {.word = other->start + patch->place};
    const struct tn__image_heap *to = patch->of == TN__PATCH_OWN          ? c->heap
                                      : patch->of == TN__PATCH_DEPENDENCY ? c->heap->dependencies[patch->index]->heap
                                                                          : NULL;
    if (!is_object(other, patch->object) ||
        patch->place - patch->object >= tn__allocation_size(tn__payload(object)) - TN_GC_HEADER_SIZE)
        return "is no word of an object";
    tn__visit_all_references(object, look_for_word, &search);
    if (search.is_reference != (patch->flags & TN__IMAGE_PATCH_REFERENCE))
        return "is a reference, or said to be one";
    bool good = !to || (to == c->heap ? tn__word_is_in(c->starts, patch->value) : is_object(to, patch->value));
    return good ? NULL : "a reference leads to no object";
}

static int check_patches(const struct checker *c)
{
    int code = 0;
    for (uint32_t i = 0; i < c->image->view.tables[TN__IMAGE_PATCH_TABLE].count && !code; i++) {
        const struct tn__patch patch = tn__image_patch(c->image, i);
        const char *wrong = check_patch(c, &patch);
        if (wrong)
            code = tn__fail(c->err, TN_EFORMAT, "%s: patch %u: %s", c->name, i, wrong);
    }
    return code;
}

/* Under the heap's lock. */
static int check_uses(struct checker *c)
{
    int code = 0;
    for (int kind = 0; kind < TN__ZONES && !code; kind++)
        code = check_references(c, &c->heap->zones[kind]);
    if (!code)
        code = check_roots(c);
    if (!code)
        code = check_unique(c);
    return code ? code : check_patches(c);
}

int tn__image_heap_check(const struct tn_image *image, const struct tn_image_load_options *options,
                         struct tn_error *err)
{
    struct checker c = {.image = image, .heap = image->heap, .name = tn__image_label(image), .err = err};
    int code = tn__may_wait(err);
    if (!code)
        code = list_types(&c, options);
    for (int kind = 0; kind < TN__ZONES && !code; kind++)
        code = note_starts(&c, &image->heap->zones[kind], kind <= TN__ZONE_SEALED);
    if (!code) {
        tn__heap_lock(image->heap->heap);
        code = check_uses(&c);
        tn__heap_unlock(image->heap->heap);
    }
    tn__free(NULL, c.types);
    tn__free(NULL, c.starts);
    tn__free(NULL, c.bound);
    return code;
}
