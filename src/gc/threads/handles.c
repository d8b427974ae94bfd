/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Handles, their scopes, and pins. */

#include "gc/threads/threads.h"

/* A visitor of a type may be called under this lock, by this thread or another one. */
static void lock_roots(struct tn_heap *heap)
{
    if (tn__callback == TN__IN_VISITOR)
        tn__refuse_callback(heap);
    tn__mutex_lock(&heap->roots_lock);
}

/* ---- handles ---- */

struct tn_handle *tn__handle_make(struct tn_heap *heap, void *object)
{
    struct tn_handle *handle = tn__alloc(NULL, sizeof *handle);
    if (!handle)
        return NULL;
    *handle = (struct tn_handle){.object = object, .heap = heap};
    lock_roots(heap);
    tn__list_append(&heap->handles, &handle->all);
    tn__mutex_unlock(&heap->roots_lock);
    return handle;
}

/* A handle in a scope is freed with the scope; until then it refers to nothing. */
void tn__handle_drop(struct tn_handle *handle)
{
    handle->object = NULL;
    if (!handle->depth) {
        tn__list_remove(&handle->all);
        tn__free(NULL, handle);
    }
}

void tn_handle_free(struct tn_handle *handle)
{
    if (!handle)
        return;
    struct tn_heap *heap = handle->heap;
    lock_roots(heap);
    tn__handle_drop(handle);
    tn__mutex_unlock(&heap->roots_lock);
}

int tn_handle_is_null(const struct tn_handle *handle)
{
    return !handle || !__atomic_load_n(&handle->object, __ATOMIC_RELAXED); /* collections never make it NULL */
}

void tn__visit_handles(struct tn_heap *heap, tn_visit_slot *visit, void *context)
{
    lock_roots(heap);
    for (TN_EACH(struct tn_handle, handle, &heap->handles, all))
        visit(context, &handle->object);
    tn__mutex_unlock(&heap->roots_lock);
}

/* ---- scopes ---- */

void tn__handle_enter_scope(struct tn_handle *handle)
{
    struct tn__mutator *mutator = tn__self();
    if (!mutator || !mutator->scope_depth || mutator->heap != handle->heap)
        return;
    handle->depth = mutator->scope_depth;
    handle->before = mutator->newest;
    mutator->newest = handle;
}

void tn_scope_begin(void)
{
    if (tn__self())
        tn__self()->scope_depth++;
}

void tn__scopes_end(struct tn__mutator *mutator, uint32_t depth)
{
    for (struct tn_handle *handle; (handle = mutator->newest) && handle->depth >= depth;) {
        mutator->newest = handle->before;
        tn__list_remove(&handle->all);
        tn__free(NULL, handle);
    }
    mutator->scope_depth = depth - 1;
}

void tn_scope_end(void)
{
    struct tn__mutator *mutator = tn__self();
    if (!mutator || !mutator->scope_depth)
        return;
    lock_roots(mutator->heap);
    tn__scopes_end(mutator, mutator->scope_depth);
    tn__mutex_unlock(&mutator->heap->roots_lock);
}

/* ---- pins ---- */

static struct tn__pin **bucket_of(struct tn_heap *heap, const void *object)
{
    return &heap->pins[((uintptr_t)object >> 3) * 0x9E3779B97F4A7C15u >> 20 & (heap->pin_capacity - 1)];
}

static bool grow_pins(struct tn_heap *heap)
{
    enum { FIRST = 64 };
    size_t old = heap->pin_capacity;
    if (heap->pin_count < old)
        return true;
    struct tn__pin **before = heap->pins, **made = tn__alloc_zeroed(NULL, old ? 2 * old : FIRST, sizeof *made);
    if (!made)
        return false;
    heap->pins = made;
    heap->pin_capacity = old ? 2 * old : FIRST;
    for (size_t i = 0; i < old; i++)
        for (struct tn__pin *pin = before[i], *next; pin; pin = next) {
            next = pin->next;
            struct tn__pin **bucket = bucket_of(heap, pin->object);
            pin->next = *bucket;
            *bucket = pin;
        }
    tn__free(NULL, before);
    return true;
}

/* Where the list of its bucket refers to the object's pin, or ends. */
static struct tn__pin **find_pin(struct tn_heap *heap, const void *object)
{
    struct tn__pin **at = bucket_of(heap, object);
    while (*at && (*at)->object != object)
        at = &(*at)->next;
    return at;
}

bool tn__pin(struct tn_heap *heap, void *object)
{
    if (!tn__is_in_heap(heap, object)) /* permanent */
        return true;
    lock_roots(heap);
    struct tn__pin **at = grow_pins(heap) ? find_pin(heap, object) : NULL, *pin = at ? *at : NULL;
    if (at && !pin) {
        pin = *at = tn__alloc_zeroed(NULL, 1, sizeof *pin);
        heap->pin_count += pin != NULL;
    }
    if (pin) {
        pin->object = object;
        pin->count++;
    }
    tn__mutex_unlock(&heap->roots_lock);
    return pin;
}

void tn__unpin(struct tn_heap *heap, const void *object)
{
    lock_roots(heap);
    struct tn__pin **at = heap->pin_capacity ? find_pin(heap, object) : NULL, *pin = at ? *at : NULL;
    if (pin && !--pin->count) {
        *at = pin->next;
        heap->pin_count--;
        tn__free(NULL, pin);
    }
    tn__mutex_unlock(&heap->roots_lock);
}

void tn__each_pin(struct tn_heap *heap, void (*visit)(void *context, void *object), void *context)
{
    lock_roots(heap);
    for (size_t i = 0; i < heap->pin_capacity; i++)
        for (const struct tn__pin *pin = heap->pins[i]; pin; pin = pin->next)
            visit(context, pin->object);
    tn__mutex_unlock(&heap->roots_lock);
}

void tn_unpin_object(void *address)
{
    if (tn_heap_current())
        tn__unpin(tn_heap_current(), address);
}
