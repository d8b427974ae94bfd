/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a type says about its objects: their size, and where their references are. */

#include "gc/object/object.h"

const struct tn_type tn_weak_type = {.name = "weak", .kind = TN_KIND_WEAK, .alignment = 8, .size = 16};
const struct tn_type tn_ephemeron_type = {.name = "ephemeron", .kind = TN_KIND_EPHEMERON, .alignment = 8, .size = 24};

static uint64_t length_of(const void *object, const struct tn_type *type)
{
    return type->element ? tn__get64((const char *)object + type->length) : 0;
}

uint64_t tn__payload(const void *object)
{
    const struct tn_type *type = tn__type_of(object);
    return type->size + type->element * length_of(object, type);
}

uint64_t tn__allocation_size(uint64_t payload)
{
    enum { SMALLEST = 16 };
    if (payload > INT64_MAX)
        return UINT64_MAX;
    uint64_t size = TN_GC_HEADER_SIZE + tn__align_up(payload, 8);
    return size < SMALLEST ? SMALLEST : size;
}

uint64_t tn__object_size(const void *object)
{
    uint64_t stored_hash = tn__header_now(object) & TN_GC_HASH_STORED ? 8 : 0;
    return tn__allocation_size(tn__payload(object)) + stored_hash;
}

void tn__each_between(char *at, const char *end, void (*visit)(void *context, void *object), void *context)
{
    while (at < end) {
        void *object = at + TN_GC_HEADER_SIZE;
        if (!tn__header_now(object)) { /* alignment */
            at += 8;
            continue;
        }
        at += tn__object_size(object); /* before the object may be changed */
        visit(context, object);
    }
}

struct search {
    const void *address;
    bool found;
};

static void compare_address(void *context, void *object)
{
    struct search *search = context;
    search->found |= object == search->address;
}

bool tn__is_between(char *at, const char *end, const void *address)
{
    struct search search = {.address = address};
    tn__each_between(at, end, compare_address, &search);
    return search.found;
}

void tn__visit_element(void *at, const struct tn_type *type, tn_visit_slot *visit, void *context)
{
    if (type->offsets) {
        for (uint64_t i = 0; i < type->offset_count; i++)
            visit(context, (void **)(void *)((char *)at + type->offsets[i]));
        return;
    }
    for (uint64_t rest = type->references; rest; rest &= rest - 1)
        visit(context, (void **)at + __builtin_ctzll(rest));
}

static void visit_custom(void *object, const struct tn_type *type, tn_visit_slot *visit, void *context)
{
    enum tn__callback outer = tn__callback_begin(TN__IN_VISITOR);
    type->visit(object, visit, context);
    tn__callback_end(outer);
}

void tn__visit_references(void *object, tn_visit_slot *visit, void *context)
{
    const struct tn_type *type = tn__type_of(object);
    char *element = (char *)object + type->size;
    switch (type->kind) {
    case TN_KIND_FIXED:
        tn__visit_element(object, type, visit, context);
        break;
    case TN_KIND_REFERENCES:
        for (uint64_t i = length_of(object, type); i; i--, element += sizeof(void *))
            visit(context, (void **)(void *)element);
        break;
    case TN_KIND_STRUCTS:
        for (uint64_t i = length_of(object, type); i; i--, element += type->element)
            tn__visit_element(element, type, visit, context);
        break;
    case TN_KIND_CUSTOM:
        visit_custom(object, type, visit, context);
        break;
    default:
        break;
    }
}

void tn__visit_all_references(void *object, tn_visit_slot *visit, void *context)
{
    tn__visit_references(object, visit, context);
    switch (tn__type_of(object)->kind) {
    case TN_KIND_EPHEMERON:
        visit(context, (void **)object + 1);
        visit(context, object);
        break;
    case TN_KIND_WEAK:
        visit(context, object);
        break;
    default:
        break;
    }
}
