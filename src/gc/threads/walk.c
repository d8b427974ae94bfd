/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Walks a stopped thread's stack: each level from the anchor where it called out (level.c), along the chain of frame
 * pointers, up to the entry that it began with; and the saved arguments of calls whose lazy functions are being looked
 * up.
 *
 * A walk begins at the innermost anchor: the return address is `ra` if that is not 0, else the word at `sp`; the frame
 * pointer is `fp`. The record of the return address lists the slots of the frame; on AArch64 a signed return address is
 * looked up without the signature. The next return address and frame pointer are in the frame (host_MACHINE.c says
 * where). A record with TN_GC_MAP_ENTRY belongs to the call of a body by its entry: it has no references, and the
 * frames after it are native, so the walk goes on at the next anchor. Anchors whose `sp` is 0 are skipped, and so are
 * those at or below frames that were visited. The walk ends at the second anchor of the array. A return address without
 * a record is an error, never the end of the stack. Derived pointers are kept as distances from their objects while
 * these move. */

#include "gc/threads/threads.h"

/* ---- a frame ---- */

struct frame {
    uintptr_t fp;
    struct tn__frame_map map;
};

static void **slot_at(const struct frame *frame, int32_t slot)
{
    return (void **)(frame->fp + 8 * (intptr_t)slot);
}

/* A derived pointer, with the slot of its base. */
struct derived {
    char **pointer;
    char **base;
};

static struct derived derived_at(const struct frame *frame, uint32_t i)
{
    const struct tn__frame_map *map = &frame->map;
    uint32_t base =
        map->wide ? tn__get32(map->derived + 8 * (size_t)i + 4) : tn__get16(map->derived + 4 * (size_t)i + 2);
    return (struct derived){(char **)slot_at(frame, tn__map_slot(map, map->derived, 2 * i)),
                            (char **)slot_at(frame, tn__map_slot(map, map->bases, base))};
}

/* While bases move, the slots of derived pointers hold their distances from their bases. */
static void visit_references(const struct frame *frame, tn_visit_slot *slot, void *context)
{
    const struct tn__frame_map *map = &frame->map;
    for (uint32_t i = 0; i < map->derived_count; i++) {
        struct derived d = derived_at(frame, i);
        *d.pointer = (char *)((uintptr_t)*d.pointer - (uintptr_t)*d.base);
    }
    for (uint32_t i = 0; i < map->base_count; i++)
        slot(context, slot_at(frame, tn__map_slot(map, map->bases, i)));
    for (uint32_t i = 0; i < map->root_count; i++)
        slot(context, slot_at(frame, tn__map_slot(map, map->roots, i)));
    for (uint32_t i = 0; i < map->derived_count; i++) {
        struct derived d = derived_at(frame, i);
        *d.pointer = (char *)((uintptr_t)*d.pointer + (uintptr_t)*d.base);
    }
}

static void visit_pins(const struct frame *frame, void (*pin)(void *context, void *object), void *context)
{
    for (uint32_t i = 0; i < frame->map.pinned_count; i++) {
        void *object = *slot_at(frame, tn__map_slot(&frame->map, frame->map.pinned, i));
        if (object)
            pin(context, object);
    }
}

/* ---- calls that wait for their function ---- */

static void visit_marked(uint64_t marks, uint64_t *words, tn_visit_slot *slot, void *context)
{
    for (; marks; marks &= marks - 1)
        slot(context, (void **)(void *)&words[__builtin_ctzll(marks)]);
}

static void visit_calls(const struct tn__mutator *mutator, tn_visit_slot *slot, void *context)
{
    for (struct tn__lazy_frame *frame = mutator->calls; frame; frame = frame->outer) {
        visit_marked(frame->managed_registers, frame->registers, slot, context);
        visit_marked(frame->managed_stack, frame->stack, slot, context);
    }
}

/* ---- a stack ---- */

static uintptr_t word(uintptr_t address)
{
    return *(const uintptr_t *)address;
}

static const struct tn__map *map_of(uintptr_t ra)
{
    const struct tn__map *map = tn__maps_find(ra);
    return map ? map : tn__maps_find(tn__plain_address(ra));
}

const char *tn__walk_stack(const struct tn__mutator *mutator, tn_visit_slot *slot,
                           void (*pin)(void *context, void *object), void *context)
{
    uintptr_t visited = 0; /* frames up to here are done */
    const struct tn_gc_anchor *anchor = tn__top_of(mutator);
    if (slot)
        visit_calls(mutator, slot, context);
    for (; anchor > mutator->anchors + 1; anchor--) {
        uintptr_t sp = tn__sp_of(anchor); /* the thread may be trying to come back, so the state may change */
        if (!sp || sp <= visited) {
            const char *wrong = sp ? tn__find_other_stack(mutator, sp, visited) : NULL;
            if (wrong)
                return wrong;
            continue;
        }
        struct frame frame = {.fp = anchor->fp};
        uintptr_t ra = anchor->ra ? anchor->ra : word(sp);
        for (;;) {
            const struct tn__map *map = map_of(ra);
            if (!map)
                return "a return address of managed code has no stack map";
            if (frame.fp <= visited)
                return "a chain of frame pointers goes the wrong way";
            frame.map = tn__map_decode(map);
            if (frame.map.entry)
                break;
            if (slot)
                visit_references(&frame, slot, context);
            if (pin)
                visit_pins(&frame, pin, context);
            visited = frame.fp;
            ra = word(tn__return_address_at(frame.fp));
            frame.fp = word(tn__outer_frame_at(frame.fp));
        }
        visited = frame.fp;
    }
    return NULL;
}
