/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Objects, and where code and its data keep references to them. */

#ifndef TENON_GC_OBJECT_H
#define TENON_GC_OBJECT_H

#include "base/base.h"
#include "tenon_gc.h"
#include "tenon_heap.h"

#pragma GCC visibility push(hidden)

/* ---- objects (type.c) ---- */

static inline uint64_t *tn__header(const void *object)
{
    return (uint64_t *)(uintptr_t)object - 1;
}

/* What the header is now. Other workers may be changing its bits, or may try to in vain. */
static inline uint64_t tn__header_now(const void *object)
{
    return __atomic_load_n(tn__header(object), __ATOMIC_RELAXED);
}

static inline const struct tn_type *tn__type_of(const void *object)
{
    return (const struct tn_type *)(uintptr_t)(tn__header_now(object) & TN_GC_TYPE_MASK);
}

/* Bytes of the object's payload; and of payload and header together, as the heap counts them. */
uint64_t tn__payload(const void *object);
uint64_t tn__object_size(const void *object);
/* tn__object_size for a payload of this size; UINT64_MAX: no object can be so large. */
uint64_t tn__allocation_size(uint64_t payload);

/* Visits the objects that lie one after the other from `at` to `end`; words of zero between them align what follows. An
 * object may be changed when it is visited. */
void tn__each_between(char *at, const char *end, void (*visit)(void *context, void *object), void *context);
/* True if one of them is at the address. */
bool tn__is_between(char *at, const char *end, const void *address);

/* Calls `visit` for every strong reference of the object: not for those of WEAK and EPHEMERON types. */
void tn__visit_references(void *object, tn_visit_slot *visit, void *context);
/* The same, and those of WEAK and EPHEMERON types. */
void tn__visit_all_references(void *object, tn_visit_slot *visit, void *context);
/* The same for one element of an array of structs, or for an object of a FIXED type. */
void tn__visit_element(void *at, const struct tn_type *type, tn_visit_slot *visit, void *context);

/* ---- callbacks (callback.c) ---- */

/* Which functions of the client the calling thread runs, of those that must not call all of tenon_heap.h; the innermost
 * one. */
enum tn__callback {
    TN__NO_CALLBACK,
    TN__UNDER_LOCK, /* called under a heap's lock: must not wait for what other threads hold */
    TN__IN_VISITOR, /* of a type, while objects move: must not touch heaps at all */
};

extern __thread enum tn__callback tn__callback __attribute__((tls_model("initial-exec")));

/* The result is for tn__callback_end. */
static inline enum tn__callback tn__callback_begin(enum tn__callback callback)
{
    enum tn__callback outer = tn__callback;
    tn__callback = callback;
    return outer;
}

static inline void tn__callback_end(enum tn__callback outer)
{
    tn__callback = outer;
}

/* TN_ECYCLE if the thread runs `callback`, or one that may call less. */
int tn__refuse_in(enum tn__callback callback, struct tn_error *err);

/* ---- invariants ---- */

/* In builds with sanitizers the program ends here if the condition does not hold. Others do not evaluate it. */
#ifdef TN_CHECKING
#define TN__CHECK(condition) ((condition) ? (void)0 : __builtin_trap())
#else
#define TN__CHECK(condition) ((void)(0 && (condition))) /* functions that only checks call count as used */
#endif

/* ---- stack maps (maps.c) ---- */

struct tn__map {
    uint64_t address; /* the return address */
    const uint8_t *function, *record;
};

/* Calls `safepoint` for each safepoint of a section until it returns nonzero, and returns that. Functions must lie in
 * `code`. TN_EFORMAT, possibly after some safepoints were visited. */
int tn__maps_read(const uint8_t *section, size_t size, struct tn_range code,
                  int (*safepoint)(void *context, const struct tn__map *map), void *context, struct tn_error *err);

/* Checks the section and enters its safepoints. The section must stay in place until they are removed. TN_EFORMAT,
 * TN_ENOMEM: nothing was entered. */
int tn__maps_add(const uint8_t *section, size_t size, struct tn_range code, struct tn_error *err);
void tn__maps_remove(const uint8_t *section, size_t size, struct tn_range code);
/* Adds those of the program itself, once. */
int tn__maps_add_program(struct tn_error *err);

/* Without a lock, for signal handlers. False also if the calling thread was interrupted while it changed the table. */
bool tn__maps_peek(uint64_t address, struct tn__map *found);

void tn__maps_lock(void);
void tn__maps_unlock(void);
/* Under this lock. NULL: not a return address in managed code. */
const struct tn__map *tn__maps_find(uint64_t address);
/* Under this lock: true if any safepoint lists pinned slots. */
bool tn__maps_have_pins(void);

/* A decoded record. Slots are counted in words from the frame pointer. */
struct tn__frame_map {
    const uint8_t *roots, *bases, *derived, *pinned;
    uint32_t root_count, base_count, derived_count, pinned_count;
    bool wide, entry;
};

struct tn__frame_map tn__map_decode(const struct tn__map *map);

static inline int32_t tn__map_slot(const struct tn__frame_map *map, const uint8_t *slots, uint32_t i)
{
    return map->wide ? (int32_t)tn__get32(slots + 4 * (size_t)i) : (int16_t)tn__get16(slots + 2 * (size_t)i);
}

/* ---- roots (roots.c) ---- */

int tn__roots_add_section(uint64_t owner, const uint8_t *section, size_t size, struct tn_range data,
                          struct tn_error *err);
void tn__roots_remove_owner(uint64_t owner);
int tn__roots_add_program(struct tn_error *err);
void tn__visit_roots(tn_visit_slot *slot, void *context);

#pragma GCC visibility pop
#endif
