/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The host's access to objects through handles. Holding the heap's lock keeps objects in place meanwhile. */

#include "gc/collect/collect.h"
#include "gc/heap/heaps.h"

/* ---- making ---- */

/* An object that refers to another heap's would not keep it alive, and would not be updated when that moves. */
static int other_heap(struct tn_error *err)
{
    return tn__fail(err, TN_EINVAL, "the objects belong to different heaps");
}

static int make_handle(struct tn_heap *heap, void *object, struct tn_handle **out, struct tn_error *err)
{
    *out = tn__handle_make(heap, object);
    if (!*out)
        return tn__fail(err, TN_ENOMEM, "no memory for a handle");
    tn__handle_enter_scope(*out);
    return 0;
}

static int make_object(struct tn_heap *heap, const struct tn_type *type, uint64_t length, struct tn_handle *handle,
                       struct tn_error *err)
{
    struct tn__mutator *mutator = tn__self() && tn__self()->heap == heap ? tn__self() : NULL;
    uint64_t payload;
    if (__builtin_mul_overflow(type->element, length, &payload) ||
        __builtin_add_overflow(payload, type->size, &payload))
        payload = UINT64_MAX;
    void *object = tn__allocate(heap, mutator, payload, type);
    if (!object)
        return tn__fail(err, TN_ENOMEM, "no memory for an object of %llu bytes in a heap of %llu",
                        (unsigned long long)payload, (unsigned long long)heap->options.limit);
    if (type->element)
        tn__put64((char *)object + type->length, length);
    handle->object = object;
    return 0;
}

int tn_handle_new(struct tn_heap *heap, const struct tn_type *type, uint64_t length, struct tn_handle **out,
                  struct tn_error *err)
{
    if (!heap || !type || !out)
        return tn__no_argument(err);
    if (!type->element && length)
        return tn__fail(err, TN_EINVAL, "objects of this type have no elements");
    int code = tn__may_wait(err);
    if (code)
        return code;
    tn__run_finalizers_here(heap);
    tn__heap_lock(heap);
    code = make_handle(heap, NULL, out, err);
    if (!code)
        code = make_object(heap, type, length, *out, err);
    tn__heap_unlock(heap);
    if (code) {
        tn_handle_free(*out);
        *out = NULL;
    }
    return code;
}

void *tn_pin_object(void *object)
{
    struct tn_heap *heap = tn_heap_current();
    return heap && object && !tn__is_of_another_heap(heap, object) && tn__pin(heap, object) ? object : NULL;
}

int tn_handle_of(struct tn_heap *heap, void *object, struct tn_handle **out, struct tn_error *err)
{
    if (!heap || !out)
        return tn__no_argument(err);
    int code = tn__may_use(heap, err);
    if (!code && tn__is_of_another_heap(heap, object))
        code = other_heap(err);
    return code ? code : make_handle(heap, object, out, err);
}

/* ---- looking ---- */

/* tn__objects_hold for functions that can fail. */
static int hold(const struct tn_handle *handle, bool *locked, struct tn_error *err)
{
    int code = tn__may_use(handle->heap, err);
    if (!code)
        *locked = tn__objects_hold(handle->heap);
    return code;
}

int tn_handle_set(struct tn_handle *handle, const struct tn_handle *from)
{
    if (from && from->heap != handle->heap)
        return TN_EINVAL;
    bool locked;
    int code = hold(handle, &locked, NULL);
    if (code)
        return code;
    handle->object = from ? from->object : NULL;
    tn__objects_release(handle->heap, locked);
    return 0;
}

/* Objects of different heaps are different even if one of them is moving: only null and what is in no heap can be the
 * same. */
int tn_handle_same(const struct tn_handle *a, const struct tn_handle *b)
{
    bool locked = tn__objects_hold(a->heap);
    bool same = a->object == __atomic_load_n(&b->object, __ATOMIC_RELAXED);
    tn__objects_release(a->heap, locked);
    return same;
}

const struct tn_type *tn_handle_type(const struct tn_handle *handle)
{
    if (tn_handle_is_null(handle))
        return NULL;
    bool locked = tn__objects_hold(handle->heap);
    const struct tn_type *type = tn__type_of(handle->object);
    tn__objects_release(handle->heap, locked);
    return type;
}

void *tn_handle_object(const struct tn_handle *handle)
{
    return handle ? handle->object : NULL;
}

/* ---- contents ---- */

/* Under the lock: the place in the object, or NULL. */
static char *inside(const struct tn_handle *handle, uint64_t offset, uint64_t size)
{
    if (!handle->object || !tn__inside(offset, size, tn__payload(handle->object)))
        return NULL;
    return (char *)handle->object + offset;
}

/* References are aligned: a collection looks for one at no other place. */
static char *reference_inside(const struct tn_handle *handle, uint64_t offset)
{
    return offset % sizeof(void *) ? NULL : inside(handle, offset, sizeof(void *));
}

static int no_reference(struct tn_error *err, uint64_t offset)
{
    return tn__fail(err, TN_EINVAL, "no reference is at %llu: not inside of an object, or not aligned",
                    (unsigned long long)offset);
}

static int outside(struct tn_error *err, uint64_t offset, uint64_t size)
{
    return tn__fail(err, TN_EINVAL, "%llu bytes at %llu are not inside of an object", (unsigned long long)size,
                    (unsigned long long)offset);
}

int tn_handle_read(const struct tn_handle *handle, uint64_t offset, void *to, size_t size, struct tn_error *err)
{
    if (!handle || (!to && size))
        return tn__no_argument(err);
    bool locked;
    int code = hold(handle, &locked, err);
    if (code)
        return code;
    const char *at = inside(handle, offset, size);
    if (at && size)
        memcpy(to, at, size);
    tn__objects_release(handle->heap, locked);
    return at ? 0 : outside(err, offset, size);
}

int tn_handle_write(struct tn_handle *handle, uint64_t offset, const void *from, size_t size, struct tn_error *err)
{
    if (!handle || (!from && size))
        return tn__no_argument(err);
    bool locked;
    int code = hold(handle, &locked, err);
    if (code)
        return code;
    char *at = inside(handle, offset, size);
    if (at && size)
        memcpy(at, from, size);
    tn__objects_release(handle->heap, locked);
    return at ? 0 : outside(err, offset, size);
}

int tn_handle_load(const struct tn_handle *handle, uint64_t offset, struct tn_handle *to, struct tn_error *err)
{
    if (!handle || !to)
        return tn__no_argument(err);
    if (to->heap != handle->heap)
        return other_heap(err);
    bool locked;
    int code = hold(handle, &locked, err);
    if (code)
        return code;
    const char *at = reference_inside(handle, offset);
    if (at)
        to->object = __atomic_load_n((void *const *)(const void *)at, __ATOMIC_RELAXED);
    tn__objects_release(handle->heap, locked);
    return at ? 0 : no_reference(err, offset);
}

int tn_handle_store(struct tn_handle *handle, uint64_t offset, const struct tn_handle *value, struct tn_error *err)
{
    if (!handle)
        return tn__no_argument(err);
    if (value && value->heap != handle->heap)
        return other_heap(err);
    bool locked;
    int code = hold(handle, &locked, err);
    if (code)
        return code;
    char *at = reference_inside(handle, offset);
    if (at) {
        void *stored = value ? value->object : NULL;
        if (tn__needs_log(handle->heap, handle->object, stored))
            tn__log_store(handle->heap, handle->object, at, stored);
        __atomic_store_n((void **)(void *)at, stored, __ATOMIC_RELEASE);
    }
    tn__objects_release(handle->heap, locked);
    return at ? 0 : no_reference(err, offset);
}

/* ---- staying in place ---- */

int tn_handle_pin(struct tn_handle *handle, void **address, struct tn_error *err)
{
    if (!handle || !address)
        return tn__no_argument(err);
    if (tn_handle_is_null(handle))
        return tn__fail(err, TN_EINVAL, "there is no object to pin");
    bool locked;
    int code = hold(handle, &locked, err);
    if (code)
        return code;
    bool pinned = tn__pin(handle->heap, handle->object);
    *address = pinned ? handle->object : NULL;
    tn__objects_release(handle->heap, locked);
    return pinned ? 0 : tn__fail(err, TN_ENOMEM, "no memory for a pin");
}

void tn_handle_unpin(struct tn_handle *handle)
{
    bool locked = tn__objects_hold(handle->heap);
    tn__unpin(handle->heap, handle->object);
    tn__objects_release(handle->heap, locked);
}

uint64_t tn_handle_hash(struct tn_handle *handle)
{
    if (tn_handle_is_null(handle))
        return 0;
    bool locked = tn__objects_hold(handle->heap);
    void *object = handle->object;
    uint64_t address = (uintptr_t)object, *header = tn__header(object);
    const struct tn__permanent_work *permanent = __atomic_load_n(&handle->heap->permanent_work, __ATOMIC_ACQUIRE);
    if (tn__is_in_heap(handle->heap, object))
        __atomic_fetch_or(header, TN_GC_HASHED, __ATOMIC_RELAXED);
    else if (permanent)
        address = permanent->identity(handle->heap, object);
    if (__atomic_load_n(header, __ATOMIC_RELAXED) & TN_GC_HASH_STORED)
        address = tn__get64((const char *)tn__header(object) + tn__object_size(object) - 8);
    tn__objects_release(handle->heap, locked);
    return address * 0x9E3779B97F4A7C15u;
}
