/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Words of objects of other images that were changed before this image was saved. They are stored to when it is opened,
 * as the program could have done. Each image knows which ones patch it: two that change a word in different ways cannot
 * be open together, unless the later one was saved on top of the other. */

#include "image/heap/heap.h"

#include "gc/collect/collect.h"

static const struct tn__image_rows *table(const struct tn_image *image, enum tn__image_table kind)
{
    return &image->view.tables[kind];
}

struct tn__patch tn__image_patch(const struct tn_image *image, uint32_t row)
{
    const uint8_t *at = tn__image_row(table(image, TN__IMAGE_PATCH_TABLE), row);
    return (struct tn__patch){.dependency = tn__get32(at + TN__IMAGE_PATCH_DEPENDENCY),
                              .of = tn__get32(at + TN__IMAGE_PATCH_OF),
                              .index = tn__get32(at + TN__IMAGE_PATCH_INDEX),
                              .flags = tn__get32(at + TN__IMAGE_PATCH_FLAGS),
                              .object = tn__get64(at + TN__IMAGE_PATCH_OBJECT),
                              .place = tn__get64(at + TN__IMAGE_PATCH_PLACE),
                              .value = tn__get64(at + TN__IMAGE_PATCH_VALUE)};
}

static bool is_in_order(const struct tn__patch *a, uint32_t dependency, uint64_t place)
{
    return a->dependency != dependency ? a->dependency < dependency : a->place < place;
}

static bool comes_before(const struct tn_image *image, uint32_t row, uint32_t dependency, uint64_t place)
{
    const struct tn__patch patch = tn__image_patch(image, row);
    return is_in_order(&patch, dependency, place);
}

bool tn__image_find_patch(const struct tn_image *image, const struct tn_image *of, uint64_t place,
                          struct tn__patch *patch)
{
    uint32_t count = table(image, TN__IMAGE_PATCH_TABLE)->count, dependency = 0,
             dependencies = table(image, TN__IMAGE_DEPENDENCY_TABLE)->count;
    while (dependency < dependencies && image->heap->dependencies[dependency] != of)
        dependency++;
    size_t row = TN_BISECT(0, count, i, comes_before(image, (uint32_t)i, dependency, place));
    if (row == count)
        return false;
    *patch = tn__image_patch(image, (uint32_t)row);
    return patch->dependency == dependency && patch->place == place;
}

/* ---- the table ---- */

static struct tn__image_heap *dependency(const struct tn_image *image, uint32_t row)
{
    bool is_known = row < table(image, TN__IMAGE_DEPENDENCY_TABLE)->count;
    return is_known ? tn__image_heap_of(image->heap->dependencies[row], image->heap->heap) : NULL;
}

/* Whether the word is one of an object in a zone that may be written. */
static bool may_change(const struct tn__image_heap *heap, const struct tn__patch *patch)
{
    if (!heap || patch->place % 8 || patch->object % 8)
        return false;
    for (int kind = TN__ZONE_BOUND; kind <= TN__ZONE_MUTABLE; kind++) {
        const struct tn__saved_zone *zone = &heap->zones[kind];
        uint64_t first = (uintptr_t)zone->start - (uintptr_t)heap->start;
        if (zone->start && patch->object >= first + 8 && patch->place >= patch->object &&
            tn__inside(patch->place - first, 8, zone->objects))
            return true;
    }
    return false;
}

static bool is_value(const struct tn_image *image, const struct tn__patch *patch)
{
    const struct tn__image_rows *unique = table(image, TN__IMAGE_UNIQUE_TABLE);
    const struct tn__image_heap *other;
    bool is_reference = patch->flags & TN__IMAGE_PATCH_REFERENCE;
    switch (patch->of) {
    case TN__PATCH_NUMBER:
        return !patch->index && (!is_reference || !patch->value);
    case TN__PATCH_OWN:
        if (!is_reference || patch->index > unique->count || patch->value % 8 ||
            !tn__inside(patch->value, 8, image->heap->size))
            return false;
        return !patch->index ||
               tn__get64(tn__image_row(unique, patch->index - 1) + TN__IMAGE_UNIQUE_PLACE) == patch->value;
    case TN__PATCH_DEPENDENCY:
        other = dependency(image, patch->index);
        return is_reference && other && patch->value % 8 == 0 && tn__inside(patch->value, 8, other->size);
    case TN__PATCH_SYMBOL:
        return !is_reference && patch->index < table(image, TN__IMAGE_TEXT_TABLE)->count;
    default:
        return false;
    }
}

int tn__image_check_patches(const struct tn_image *image, struct tn_error *err)
{
    struct tn__patch patch, last = {.place = 0};
    for (uint32_t i = 0; i < table(image, TN__IMAGE_PATCH_TABLE)->count; i++, last = patch) {
        patch = tn__image_patch(image, i);
        bool good = !(patch.flags & ~TN__IMAGE_PATCH_REFERENCE) && is_value(image, &patch) &&
                    may_change(dependency(image, patch.dependency), &patch) &&
                    (!i || is_in_order(&last, patch.dependency, patch.place));
        if (!good)
            return tn__fail(err, TN_EFORMAT, "%s: patch %u: its word, its object or its value lies outside, or its row",
                            tn__image_label(image), i);
    }
    return 0;
}

/* ---- patching ---- */

/* A word, and what is to be stored there; then, what was there before. */
struct tn__patched {
    void *object;
    void **word;
    uint64_t value;
    struct tn_handle *handle; /* instead of the value, if that was an object of the collected heap */
    bool is_reference;
};

static const char *symbol_of(const struct tn_image *image, const struct tn__patch *patch)
{
    return image->view.text + patch->index;
}

/* False: the program does not have the symbol. */
static bool find_value(const struct tn_image *image, const struct tn__patch *patch,
                       const struct tn_image_load_options *options, uint64_t *value)
{
    const void *base = NULL;
    if (patch->of == TN__PATCH_OWN)
        base = image->heap->start;
    else if (patch->of == TN__PATCH_DEPENDENCY)
        base = image->heap->dependencies[patch->index]->heap->start;
    else if (patch->of == TN__PATCH_SYMBOL)
        base = tn__image_symbol(image, options, symbol_of(image, patch));
    *value = (uintptr_t)base + patch->value;
    return base || patch->of == TN__PATCH_NUMBER;
}

static bool depends_on(const struct tn_image *image, const struct tn_image *other)
{
    for (uint32_t i = 0; i < table(image, TN__IMAGE_DEPENDENCY_TABLE)->count; i++)
        if (image->heap->dependencies[i] == other)
            return true;
    return false;
}

/* Whether another image's patch stores the same. */
static bool is_same(const struct tn_image *image, const struct tn__patch *a, const struct tn_image *other,
                    const struct tn__patch *b)
{
    uint64_t x, y;
    if (a->of == TN__PATCH_SYMBOL || b->of == TN__PATCH_SYMBOL)
        return a->of == b->of && a->value == b->value && strcmp(symbol_of(image, a), symbol_of(other, b)) == 0;
    find_value(image, a, NULL, &x);
    find_value(other, b, NULL, &y);
    return x == y;
}

/* Fails if another image has changed the word in another way: the newest that has changed it counts. */
static int compare(const struct tn_image *image, const struct tn__patch *patch, struct tn_error *err)
{
    const struct tn_image *of = image->heap->dependencies[patch->dependency];
    for (size_t i = of->heap->patcher_count; i-- > 0;) {
        const struct tn_image *other = of->heap->patchers[i];
        struct tn__patch theirs;
        if (!tn__image_find_patch(other, of, patch->place, &theirs))
            continue;
        if (depends_on(image, other) || is_same(image, patch, other, &theirs))
            return 0;
        return tn__fail(err, TN_EDUP,
                        "%s: it changes the word at +%llu of an object of type '%s' of the image '%s', which the image "
                        "'%s' has changed in another way",
                        tn__image_name(&image->view), (unsigned long long)(patch->place - patch->object),
                        tn__type_of(of->heap->start + patch->object)->name, tn__image_name(&of->view),
                        tn__image_name(&other->view));
    }
    return 0;
}

/* The resolver is the client's, so the heap is not locked. */
static int find_words(struct tn__patching *p, const struct tn_image_load_options *options, struct tn_error *err)
{
    const struct tn_image *image = p->image;
    bool undefined = false;
    for (uint32_t i = 0; i < p->count; i++) {
        const struct tn__patch patch = tn__image_patch(image, i);
        const struct tn__image_heap *heap = image->heap->dependencies[patch.dependency]->heap;
        struct tn__patched *word = &p->words[i];
        *word = (struct tn__patched){.object = heap->start + patch.object,
                                     .word = (void **)(void *)(heap->start + patch.place),
                                     .is_reference = patch.flags & TN__IMAGE_PATCH_REFERENCE};
        if (find_value(image, &patch, options, &word->value))
            continue;
        if (undefined)
            tn__append(err, ", %s", symbol_of(image, &patch));
        else
            tn__fail(err, TN_EUNDEF, "%s: the program does not have: %s", tn__image_label(image),
                     symbol_of(image, &patch));
        undefined = true;
    }
    return undefined ? TN_EUNDEF : 0;
}

static void store(struct tn_heap *heap, const struct tn__patched *word)
{
    void *value = word->handle ? word->handle->object : (void *)(uintptr_t)word->value;
    if (word->is_reference)
        tn__permanent_store(heap, word->object, word->word, value);
    else
        __atomic_store_n(word->word, value, __ATOMIC_RELEASE);
}

/* Objects stay where they are meanwhile. What follows *done was not stored, because memory is out. */
static bool store_all(struct tn__patching *p, uint32_t *done)
{
    struct tn_heap *heap = p->image->heap->heap;
    bool locked = tn__objects_hold(heap), good = true;
    for (*done = 0; *done < p->count && good; *done += good) {
        struct tn__patched *word = &p->words[*done];
        void *before = __atomic_load_n(word->word, __ATOMIC_ACQUIRE);
        bool is_object = word->is_reference && tn__is_in_heap(heap, before);
        struct tn_handle *handle = is_object ? tn__handle_make(heap, before) : NULL;
        good = handle || !is_object;
        if (good) {
            store(heap, word);
            word->handle = handle;
            word->value = (uintptr_t)before;
        }
    }
    tn__objects_release(heap, locked);
    return good;
}

static void store_back(struct tn__patching *p)
{
    struct tn_heap *heap = p->image->heap->heap;
    bool locked = tn__objects_hold(heap);
    for (uint32_t i = 0; i < p->count; i++)
        store(heap, &p->words[i]);
    tn__objects_release(heap, locked);
}

/* Under the heap's lock, from the comparison to the list: no other image comes between. */
static int list_patcher(const struct tn_image *image, struct tn_error *err)
{
    int code = 0;
    for (uint32_t i = 0; i < table(image, TN__IMAGE_PATCH_TABLE)->count && !code; i++) {
        const struct tn__patch patch = tn__image_patch(image, i);
        code = compare(image, &patch, err);
    }
    for (uint32_t i = 0; i < table(image, TN__IMAGE_DEPENDENCY_TABLE)->count && !code; i++) {
        struct tn__image_heap *heap = dependency(image, i);
        if (!heap)
            continue;
        if (tn__grow(NULL, &heap->patchers, &heap->patcher_capacity, heap->patcher_count + 1, sizeof *heap->patchers))
            heap->patchers[heap->patcher_count++] = image;
        else
            code = tn__no_memory(err, tn__image_name(&image->view));
    }
    return code;
}

static void unlist_patcher(const struct tn_image *image)
{
    for (uint32_t i = 0; i < table(image, TN__IMAGE_DEPENDENCY_TABLE)->count; i++) {
        struct tn__image_heap *heap = dependency(image, i);
        size_t kept = 0;
        for (size_t k = 0; heap && k < heap->patcher_count; k++)
            if (heap->patchers[k] != image)
                heap->patchers[kept++] = heap->patchers[k];
        if (heap)
            heap->patcher_count = kept;
    }
}

int tn__image_patch_all(struct tn_image *image, const struct tn_image_load_options *options, struct tn__patching *p,
                        struct tn_error *err)
{
    *p = (struct tn__patching){.image = image};
    uint32_t count = table(image, TN__IMAGE_PATCH_TABLE)->count, done = 0;
    int code = count ? tn__may_wait(err) : 0;
    if (!count || code)
        return code;
    p->words = tn__alloc_zeroed(NULL, count, sizeof *p->words);
    if (!p->words)
        return tn__no_memory(err, tn__image_name(&image->view));
    p->count = count;
    code = find_words(p, options, err);
    if (!code) {
        tn__heap_lock(image->heap->heap);
        code = list_patcher(image, err);
        tn__heap_unlock(image->heap->heap);
    }
    if (!code && !store_all(p, &done))
        code = tn__no_memory(err, tn__image_name(&image->view));
    p->count = done;
    return code;
}

void tn__image_end_patching(struct tn__patching *p, bool undo)
{
    if (!p->words)
        return;
    if (undo) {
        store_back(p);
        tn__heap_lock(p->image->heap->heap);
        unlist_patcher(p->image);
        tn__heap_unlock(p->image->heap->heap);
    }
    for (uint32_t i = 0; i < p->count; i++)
        tn_handle_free(p->words[i].handle);
    tn__free(NULL, p->words);
}
