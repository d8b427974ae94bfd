/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Large arrays among permanent objects. Logged as a whole, one would be visited from end to end by each collection for
 * the sake of one reference into the heap. So it stays armed instead, each store comes here, and collections visit the
 * *cards* that were stored to: the elements that begin in 512 bytes of it. A card without a reference into the heap is
 * forgotten by the next collection. */

#include "gc/collect/collect.h"

enum { CARD = 512, LARGE = 8 << 10 };

struct tn__card_array {
    char *object;
    uint64_t count, dirty; /* cards; those that were stored to */
    uint64_t *bits;        /* one for each card */
};

/* The number of the first array at or after the address. */
static size_t place_of(const struct tn__cards *all, const void *address)
{
    return TN_BISECT(0, all->count, i, all->arrays[i].object < (const char *)address);
}

static struct tn__card_array *array_of(const struct tn__cards *all, const void *object)
{
    size_t at = place_of(all, object);
    return at < all->count && all->arrays[at].object == object ? &all->arrays[at] : NULL;
}

bool tn__cards_cover(const void *object)
{
    const struct tn_type *type = tn__type_of(object);
    return (type->kind == TN_KIND_REFERENCES || type->kind == TN_KIND_STRUCTS) && tn__payload(object) > LARGE;
}

/* ---- stores ---- */

static bool add_array(struct tn__cards *all, void *object)
{
    uint64_t count = tn__payload(object) / CARD + 1;
    size_t at = place_of(all, object);
    uint64_t *bits = tn__alloc_zeroed(NULL, count / 64 + 1, sizeof *bits);
    if (!bits || !tn__grow(NULL, &all->arrays, &all->capacity, all->count + 1, sizeof *all->arrays)) {
        tn__free(NULL, bits);
        return false;
    }
    memmove(&all->arrays[at + 1], &all->arrays[at], (all->count++ - at) * sizeof *all->arrays);
    all->arrays[at] = (struct tn__card_array){object, count, 0, bits};
    return true;
}

/* Of the element that the word is in. */
static uint64_t card_of(const char *object, const char *slot)
{
    const struct tn_type *type = tn__type_of(object);
    uint64_t at = (uint64_t)(slot - object);
    return at < type->size ? 0 : (at - (at - type->size) % type->element) / CARD;
}

static bool is_dirty(const struct tn__card_array *array, uint64_t card)
{
    return array->bits[card / 64] >> card % 64 & 1;
}

static void note_card(struct tn__card_array *array, uint64_t card)
{
    array->dirty += !is_dirty(array, card);
    array->bits[card / 64] |= UINT64_C(1) << card % 64;
}

bool tn__cards_note(struct tn__cards *all, void *object, const void *slot)
{
    if (!array_of(all, object) && !add_array(all, object))
        return false;
    struct tn__card_array *array = array_of(all, object);
    if (slot)
        note_card(array, card_of(object, slot));
    else
        for (uint64_t card = 0; card < array->count; card++)
            note_card(array, card);
    return true;
}

/* ---- collections ---- */

/* The elements that begin in the card. */
static void visit_card(const struct tn__card_array *array, uint64_t card, tn_visit_slot *visit, void *context)
{
    const struct tn_type *type = tn__type_of(array->object);
    uint64_t at = tn__max64(card * CARD, type->size), end = tn__min64((card + 1) * CARD, tn__payload(array->object));
    at += (type->element - (at - type->size) % type->element) % type->element;
    for (; at < end; at += type->element)
        if (type->kind == TN_KIND_REFERENCES)
            visit(context, (void **)(void *)(array->object + at));
        else
            tn__visit_element(array->object + at, type, visit, context);
}

void tn__cards_visit(const struct tn__cards *all, tn_visit_slot *visit, void *context)
{
    for (size_t i = 0; i < all->count; i++)
        for (uint64_t card = 0; card < all->arrays[i].count; card++)
            if (is_dirty(&all->arrays[i], card))
                visit_card(&all->arrays[i], card, visit, context);
}

struct search {
    const struct tn_heap *heap;
    const struct tn__card_array *array; /* NULL: whatever the card */
    bool found;
};

static void look(void *context, void **slot)
{
    struct search *search = context;
    search->found |= tn__is_in_heap(search->heap, *slot) &&
                     (!search->array || !is_dirty(search->array, card_of(search->array->object, (char *)slot)));
}

static void clean(struct tn__card_array *array, const struct tn_heap *heap)
{
    for (uint64_t card = 0; card < array->count; card++) {
        struct search search = {heap, NULL, false};
        if (!is_dirty(array, card))
            continue;
        visit_card(array, card, look, &search);
        if (search.found)
            continue;
        array->bits[card / 64] &= ~(UINT64_C(1) << card % 64);
        array->dirty--;
    }
}

void tn__cards_clean(struct tn__cards *all, const struct tn_heap *heap)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++) {
        clean(&all->arrays[i], heap);
        if (all->arrays[i].dirty)
            all->arrays[kept++] = all->arrays[i];
        else
            tn__free(NULL, all->arrays[i].bits);
    }
    all->count = kept;
}

bool tn__cards_hold(const struct tn__cards *all, const struct tn_heap *heap, void *object)
{
    struct search search = {heap, array_of(all, object), false};
    if (search.array)
        tn__visit_all_references(object, look, &search);
    return search.array && !search.found;
}

void tn__cards_forget(struct tn__cards *all, const char *start, const char *end)
{
    size_t first = place_of(all, start), after = place_of(all, end);
    for (size_t i = first; i < after; i++)
        tn__free(NULL, all->arrays[i].bits);
    if (after > first)
        memmove(&all->arrays[first], &all->arrays[after], (all->count - after) * sizeof *all->arrays);
    all->count -= after - first;
}

void tn__cards_free(struct tn__cards *all)
{
    for (size_t i = 0; i < all->count; i++)
        tn__free(NULL, all->arrays[i].bits);
    tn__free(NULL, all->arrays);
}
