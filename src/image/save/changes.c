/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Words of objects of other images that are not as they were when these images were opened: patches. What they were
 * is known by a second mapping of the file, and by the patches of further images. Not compared are headers, frozen
 * objects, words declared as zero, and references to what has given way to another object of the same key. */

#include "image/save/save.h"

struct row {
    const struct tn_type *type;
    const struct tn_save_type *row;
};

struct comparison {
    struct tn_save *save;
    uint32_t image; /* number in the options */
    const struct tn__image_heap *heap;
    const struct tn__image_rows *bindings;
    bool is_simple;            /* equal bytes are no change */
    struct tn__addresses rows; /* struct row */
    uint64_t *references;      /* a bit for each word of the object: it is one */
    size_t capacity;
    const char *contents; /* of the object, or the copy that the client prepared */
    uint32_t changed;     /* number of the object, if some word was changed */
    size_t first;         /* its first patch */
    int (*found)(void *context, uint32_t changed, size_t first, size_t end);
    void *context;
    int code;
};

static int no_memory(const struct comparison *c)
{
    return tn__no_memory(c->save->err, c->save->options.name);
}

static const struct tn_image *image_of(const struct comparison *c)
{
    return c->save->options.images[c->image];
}

/* ---- what words were ---- */

/* The newest patch of the word, of the images that the options name. NULL: there is none. */
static const struct tn_image *find_patch(const struct comparison *c, uint64_t place, struct tn__patch *patch)
{
    for (size_t i = c->heap->patcher_count; i-- > 0;) {
        const struct tn_image *patcher = c->heap->patchers[i];
        for (size_t k = 0; k < c->save->options.image_count; k++)
            if (c->save->options.images[k] == patcher && tn__image_find_patch(patcher, image_of(c), place, patch))
                return patcher;
    }
    return NULL;
}

static uint64_t original(const struct comparison *c, uint64_t place)
{
    return tn__get64(tn__image_original(c->heap, place));
}

static bool was_in(const struct tn__image_heap *heap, uint64_t intended)
{
    return intended - ((uintptr_t)heap->start - heap->moved) < heap->size;
}

/* Of a word that is a reference; files have addresses as they were intended. */
static uint64_t reference_before(const struct comparison *c, uint64_t place)
{
    struct tn__patch patch;
    const struct tn_image *patcher = find_patch(c, place, &patch);
    if (patcher && patch.of == TN__PATCH_OWN)
        return (uintptr_t)patcher->heap->start + patch.value;
    if (patcher && patch.of == TN__PATCH_DEPENDENCY)
        return (uintptr_t)patcher->heap->dependencies[patch.index]->heap->start + patch.value;
    if (patcher)
        return patch.value;
    uint64_t value = original(c, place);
    if (was_in(c->heap, value))
        return value + c->heap->moved;
    for (uint32_t i = 0; i < image_of(c)->view.tables[TN__IMAGE_DEPENDENCY_TABLE].count; i++) {
        const struct tn__image_heap *other = c->heap->dependencies[i]->heap;
        if (other && was_in(other, value))
            return value + other->moved;
    }
    return value;
}

static uint64_t number_before(const struct comparison *c, uint64_t place)
{
    struct tn__patch patch;
    return find_patch(c, place, &patch) ? patch.value : original(c, place);
}

static const uint8_t *binding_of(const struct comparison *c, uint64_t place)
{
    const struct tn__image_rows *all = c->bindings;
    size_t at =
        TN_BISECT(0, all->count, i, tn__get64(tn__image_row(all, (uint32_t)i) + TN__IMAGE_BINDING_PLACE) < place);
    const uint8_t *row = at < all->count ? tn__image_row(all, (uint32_t)at) : NULL;
    return row && tn__get64(row + TN__IMAGE_BINDING_PLACE) == place ? row : NULL;
}

/* The name of what the word was bound to. No symbol: it was a number. */
static struct tn_save_name name_before(const struct comparison *c, uint64_t place)
{
    struct tn__patch patch;
    const struct tn_image *patcher = find_patch(c, place, &patch);
    const uint8_t *binding = patcher ? NULL : binding_of(c, place);
    if (patcher && patch.of == TN__PATCH_SYMBOL)
        return (struct tn_save_name){patcher->view.text + patch.index, patch.value};
    if (binding)
        return (struct tn_save_name){tn__image_text(&image_of(c)->view, binding + TN__IMAGE_BINDING_NAME),
                                     tn__get64(binding + TN__IMAGE_BINDING_ADDEND)};
    return (struct tn_save_name){NULL, number_before(c, place)};
}

/* ---- words that were changed ---- */

static struct tn__save_patch *add_patch(struct comparison *c, void *object, uint64_t offset, uint64_t value)
{
    struct tn_save *save = c->save;
    bool is_first = save->patch_count == c->first;
    uint64_t place = (uint64_t)((char *)object - c->heap->start);
    if (!tn__grow(NULL, &save->patches, &save->patch_capacity, save->patch_count + 1, sizeof *save->patches) ||
        (is_first &&
         !tn__grow(NULL, &save->changed, &save->changed_capacity, save->changed_count + 1, sizeof *save->changed)) ||
        save->root_count + save->changed_count >= TN__FROM_ROOT - 1) {
        c->code = no_memory(c);
        return NULL;
    }
    if (is_first) {
        c->changed = (uint32_t)save->changed_count++;
        save->changed[c->changed] = (struct tn__save_changed){object, c->image};
    }
    struct tn__save_patch *patch = &save->patches[save->patch_count++];
    *patch = (struct tn__save_patch){
        .changed = c->changed, .image = c->image, .object = place, .place = place + offset, .value = value};
    return patch;
}

/* An object of the image that has given way is not changed. */
static bool gave_way(const struct comparison *c, const void *now, const void *before)
{
    if (!c->save->has_unique || !now || !before || !tn__is_in_heap(c->save->heap, now))
        return false;
    const struct tn_save_type *row = tn__save_row_of(c->save, tn__type_of(now));
    return row && (row->flags & TN_SAVE_UNIQUE) && row == tn__save_row_of(c->save, tn__type_of(before)) &&
           tn__save_same_key(c->save, row, now, before);
}

static void compare_reference(struct comparison *c, void *object, uint64_t offset)
{
    void *now = *(void *const *)(const void *)(c->contents + offset);
    uint64_t before = reference_before(c, (uint64_t)((char *)object - c->heap->start) + offset);
    if ((uintptr_t)now == before || gave_way(c, now, (const void *)(uintptr_t)before))
        return;
    struct tn__save_patch *patch = add_patch(c, object, offset, (uintptr_t)now);
    if (patch) {
        patch->is_reference = true;
        patch->before = before;
    }
}

static void compare_address(struct comparison *c, void *object, uint64_t offset)
{
    struct tn_save *save = c->save;
    uint64_t value = tn__get64(c->contents + offset), place = (uint64_t)((char *)object - c->heap->start) + offset;
    struct tn_save_name before = name_before(c, place), now = {.symbol = NULL};
    bool is_known = !value || !tn__save_name(save, (const void *)(uintptr_t)value, &now);
    bool is_same = value ? is_known && before.symbol && strcmp(before.symbol, now.symbol) == 0 : !before.symbol;
    if (is_known && is_same && before.addend == now.addend)
        return;
    struct tn__save_patch *patch = add_patch(c, object, offset, now.addend);
    if (!patch || !value)
        return;
    if (!is_known) {
        c->code = tn__save_fail(save, TN_EUNDEF, object, (uint32_t)(save->root_count + c->changed) | TN__FROM_ROOT,
                                "one of its words is an address that has no name");
        return;
    }
    patch->of = TN__PATCH_SYMBOL;
    patch->symbol = tn__arena_text(&save->arena, now.symbol, strlen(now.symbol));
    c->code = patch->symbol ? c->code : no_memory(c);
}

static void compare_word(struct comparison *c, const struct tn_save_type *row, void *object, uint64_t offset)
{
    const struct tn_type *type = tn__type_of(object);
    uint64_t place = (uint64_t)((char *)object - c->heap->start) + offset;
    bool is_weak = type->kind == TN_KIND_WEAK || type->kind == TN_KIND_EPHEMERON;
    int kind = tn__save_word_kind(row, type, offset);
    if (kind == TN_SAVE_ZERO || (is_weak && offset == type->size - 8)) /* the collector's link */
        return;
    if (kind == TN_SAVE_ADDRESS || binding_of(c, place))
        compare_address(c, object, offset);
    else if (tn__get64(c->contents + offset) != number_before(c, place))
        add_patch(c, object, offset, tn__get64(c->contents + offset));
}

/* ---- objects ---- */

static void note_reference(void *context, void **slot)
{
    struct comparison *c = context;
    tn__word_add(c->references, (uint64_t)((char *)slot - c->contents));
}

static void compare_words(struct comparison *c, const struct tn_save_type *row, void *object)
{
    uint64_t size = tn__allocation_size(tn__payload(object)) - TN_GC_HEADER_SIZE;
    if (!tn__grow(NULL, &c->references, &c->capacity, size / 512 + 1, sizeof *c->references)) {
        c->code = no_memory(c);
        return;
    }
    memset(c->references, 0, (size / 512 + 1) * sizeof *c->references);
    tn__visit_all_references((void *)(uintptr_t)c->contents, note_reference, c);
    for (uint64_t at = 0; at < size && !c->code; at += 8)
        if (tn__word_is_in(c->references, at))
            compare_reference(c, object, at);
        else
            compare_word(c, row, object, at);
}

static const struct tn_save_type *row_of(struct comparison *c, const struct tn_type *type)
{
    uint32_t known = tn__addresses_find(&c->rows, sizeof(struct row), type);
    if (known != TN__NOT_FOUND)
        return ((const struct row *)c->rows.items)[known].row;
    const struct row row = {type, tn__save_row_of(c->save, type)};
    if (!tn__addresses_add(&c->rows, sizeof row, &row))
        c->code = no_memory(c);
    return row.row;
}

static void compare_object(void *context, void *object)
{
    struct comparison *c = context;
    uint64_t payload = tn__payload(object);
    if (c->code)
        return;
    const struct tn_save_type *row = row_of(c, tn__type_of(object));
    bool prepares = row && row->prepare;
    const char *before = tn__image_original(c->heap, (uint64_t)((const char *)object - c->heap->start));
    if (c->code || (c->is_simple && !prepares && memcmp(object, before, payload) == 0))
        return;
    uint64_t *copy = prepares ? tn__save_prepare(c->save, row, object, &c->code) : NULL;
    c->contents = copy ? (const char *)(copy + 1) : object;
    c->first = c->save->patch_count;
    if (!c->code)
        compare_words(c, row, object);
    tn__free(NULL, copy);
    if (!c->code && c->save->patch_count > c->first)
        c->code = c->found(c->context, c->changed, c->first, c->save->patch_count);
}

/* Whether words of the image are as the file has them unless they were changed. */
static bool is_simple(const struct comparison *c)
{
    bool simple = !c->heap->moved && !c->heap->patcher_count;
    for (uint32_t i = 0; i < image_of(c)->view.tables[TN__IMAGE_DEPENDENCY_TABLE].count; i++) {
        const struct tn__image_heap *other = c->heap->dependencies[i]->heap;
        simple &= !other || !other->moved;
    }
    return simple;
}

int tn__save_compare(struct tn_save *save, uint32_t image,
                     int (*found)(void *context, uint32_t changed, size_t first, size_t end), void *context)
{
    const struct tn_image *of = save->options.images[image];
    struct comparison c = {.save = save,
                           .image = image,
                           .heap = of->heap,
                           .bindings = &of->view.tables[TN__IMAGE_BINDING_TABLE],
                           .found = found,
                           .context = context};
    c.is_simple = is_simple(&c);
    for (int kind = TN__ZONE_BOUND; kind <= TN__ZONE_MUTABLE; kind++) {
        const struct tn__saved_zone *zone = &c.heap->zones[kind];
        if (zone->start && !zone->original) {
            c.code = tn__fail(save->err, TN_ENOTSUP,
                              "%s: what has changed in the image '%s' is unknown, because its file could not be mapped",
                              save->options.name, tn__image_name(&of->view));
            break;
        }
        if (zone->start)
            tn__each_between(zone->start, zone->start + zone->objects, compare_object, &c);
    }
    tn__free(NULL, c.references);
    tn__addresses_free(&c.rows);
    return c.code;
}

uint64_t tn__save_sum_patches(const struct tn_save *save, uint64_t sum)
{
    for (size_t i = 0; i < save->patch_count; i++) {
        const struct tn__save_patch *patch = &save->patches[i];
        const uint64_t numbers[] = {patch->image, patch->of, patch->index, patch->place, patch->value};
        sum = tn__image_checksum(numbers, sizeof numbers, sum);
        if (patch->symbol)
            sum = tn__image_checksum(patch->symbol, strlen(patch->symbol), sum);
    }
    return sum;
}
