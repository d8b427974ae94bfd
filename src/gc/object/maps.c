/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Stack maps (doc/GC.md, "Stack maps"): checked once, when they are entered, and found by return address in a hash
 * table. */

#include "base/fork.h"
#include "base/managed_file.h"
#include "base/os.h"
#include "base/thread.h"
#include "gc/object/object.h"

/* ---- reading ---- */

struct reader {
    const uint8_t *section;
    size_t size, at;
    struct tn_range code;
    struct tn_error *err;
};

static int malformed(const struct reader *r, const char *what)
{
    return tn__fail(r->err, TN_EFORMAT, "stack maps: at byte %zu of %zu: %s", r->at, r->size, what);
}

static bool has(const struct reader *r, uint64_t bytes)
{
    return tn__inside(r->at, bytes, r->size);
}

static bool take_counts(struct reader *r, bool wide, uint32_t *bases, uint32_t *derived)
{
    if (!has(r, wide ? 4 : 2))
        return false;
    const uint8_t *counts = r->section + r->at;
    *bases = wide ? tn__get16(counts) : counts[0];
    *derived = wide ? tn__get16(counts + 2) : counts[1];
    r->at += wide ? 4 : 2;
    return true;
}

static bool bases_exist(const uint8_t *derived, uint32_t count, uint32_t bases, bool wide)
{
    for (uint32_t i = 0; i < count; i++)
        if ((wide ? tn__get32(derived + 8 * (size_t)i + 4) : tn__get16(derived + 4 * (size_t)i + 2)) >= bases)
            return false;
    return true;
}

static int read_safepoint(struct reader *r, bool wide, uint32_t *place)
{
    uint32_t bases, derived, slot = wide ? 4 : 2;
    if (!has(r, 4))
        return malformed(r, "a safepoint is cut off");
    *place = tn__get32(r->section + r->at);
    r->at += 4;
    if (!take_counts(r, wide, &bases, &derived) || !has(r, (uint64_t)slot * bases + 2ull * slot * derived))
        return malformed(r, "a safepoint is cut off");
    r->at += (size_t)slot * bases;
    if (!bases_exist(r->section + r->at, derived, bases, wide))
        return malformed(r, "a derived pointer names a base that there is none of");
    r->at += 2 * (size_t)slot * derived;
    if (!(*place & TN_GC_MAP_PINNED))
        return 0;
    if (!has(r, 2) || !has(r, 2 + (uint64_t)slot * tn__get16(r->section + r->at)))
        return malformed(r, "a safepoint is cut off");
    r->at += 2 + (size_t)slot * tn__get16(r->section + r->at);
    return 0;
}

static int read_function(struct reader *r, int (*visit)(void *context, const struct tn__map *map), void *context)
{
    const uint8_t *function = r->section + r->at;
    if (!has(r, 8))
        return malformed(r, "a function is cut off");
    uint64_t start = (uintptr_t)function + (uint64_t)(int64_t)(int32_t)tn__get32(function);
    uint32_t counts = tn__get32(function + 4), last = 0;
    bool wide = counts & TN_GC_MAP_WIDE;
    uint64_t roots = (uint64_t)TN_GC_MAP_ROOTS(counts) * (wide ? 4 : 2);
    if (!TN_GC_MAP_SAFEPOINTS(counts))
        return malformed(r, "a function has no safepoints");
    if (!has(r, 8 + roots))
        return malformed(r, "a function is cut off");
    if (start < r->code.address || start - r->code.address >= r->code.size)
        return malformed(r, "a function lies outside of the code");
    r->at += 8 + (size_t)roots;
    for (uint32_t i = TN_GC_MAP_SAFEPOINTS(counts); i; i--) {
        uint32_t place = 0;
        const uint8_t *record = r->section + r->at;
        int code = read_safepoint(r, wide, &place);
        if (code)
            return code;
        uint32_t offset = place & TN_GC_MAP_OFFSET;
        if (offset <= last)
            return malformed(r, "return addresses do not ascend");
        if (offset > r->code.size - (start - r->code.address))
            return malformed(r, "a return address lies outside of the code");
        last = offset;
        code = visit(context, &(struct tn__map){start + offset, function, record});
        if (code)
            return code;
    }
    return 0;
}

int tn__maps_read(const uint8_t *section, size_t size, struct tn_range code,
                  int (*safepoint)(void *context, const struct tn__map *map), void *context, struct tn_error *err)
{
    struct reader r = {section, size, 0, code, err};
    int failure = 0;
    while (!failure && r.at < size)
        failure = read_function(&r, safepoint, context);
    return failure;
}

struct tn__frame_map tn__map_decode(const struct tn__map *map)
{
    const uint8_t *at = map->record + 4;
    uint32_t counts = tn__get32(map->function + 4), place = tn__get32(map->record);
    bool wide = counts & TN_GC_MAP_WIDE;
    size_t slot = wide ? 4 : 2;
    struct tn__frame_map out = {.wide = wide, .entry = place & TN_GC_MAP_ENTRY};
    out.roots = map->function + 8;
    out.root_count = TN_GC_MAP_ROOTS(counts);
    out.base_count = wide ? tn__get16(at) : at[0];
    out.derived_count = wide ? tn__get16(at + 2) : at[1];
    out.bases = at + (wide ? 4 : 2);
    out.derived = out.bases + slot * out.base_count;
    if (place & TN_GC_MAP_PINNED) {
        const uint8_t *pinned = out.derived + 2 * slot * out.derived_count;
        out.pinned_count = tn__get16(pinned);
        out.pinned = pinned + 2;
    }
    return out;
}

/* ---- the table ---- */

/* Open addressing, linear probing; address 0: free. */
struct places {
    struct tn__map *maps;
    size_t capacity;
};

static struct {
    struct tn__mutex lock;
    struct places places;
    size_t count, pins;
    bool has_program;
    uint32_t is_changing, peekers; /* how many threads read without the lock */
    const void *changer;           /* the thread that changes it, or did last */
} table = {.lock = TN__MUTEX(TN__LEVEL_MAPS)};

extern const uint8_t __start_tenon_abi[] __attribute__((weak, visibility("hidden")));
extern const uint8_t __stop_tenon_abi[] __attribute__((weak, visibility("hidden")));
extern const uint8_t __start_tenon_maps[] __attribute__((weak, visibility("hidden")));
extern const uint8_t __stop_tenon_maps[] __attribute__((weak, visibility("hidden")));

static size_t home_of(const struct places *in, uint64_t address)
{
    return (size_t)(address * 0x9E3779B97F4A7C15u >> 16) & (in->capacity - 1);
}

static size_t next_of(const struct places *in, size_t at)
{
    return (at + 1) & (in->capacity - 1);
}

/* The one with this address, or the free one where it belongs. */
static struct tn__map *find_place(const struct places *in, uint64_t address)
{
    size_t at = home_of(in, address);
    while (in->maps[at].address && in->maps[at].address != address)
        at = next_of(in, at);
    return &in->maps[at];
}

/* tn__maps_peek does not take the lock, which its thread may hold. So it announces itself, and no change begins while
 * one is announced; it waits for the change that has begun, and in a change nothing is waited for, nor allocated. */
static void end_change(void)
{
    __atomic_store_n(&table.is_changing, 0, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&table.peekers, __ATOMIC_SEQ_CST))
        tn__os_wake(&table.is_changing);
}

/* Under the lock. */
static void begin_change(void)
{
    __atomic_store_n(&table.changer, tn__thread_pointer(), __ATOMIC_RELAXED);
    for (;;) {
        __atomic_store_n(&table.is_changing, 1, __ATOMIC_SEQ_CST);
        uint32_t peekers = __atomic_load_n(&table.peekers, __ATOMIC_SEQ_CST);
        if (!peekers)
            return;
        end_change();
        tn__os_wait(&table.peekers, peekers, UINT64_MAX);
    }
}

static void replace_places(struct places places)
{
    struct tn__map *old = table.places.maps;
    begin_change();
    table.places = places;
    end_change();
    tn__free(NULL, old);
}

/* At most half full. */
static bool make_space(size_t more)
{
    const struct places *old = &table.places;
    struct places places = {NULL, old->capacity ? old->capacity : 256};
    while (places.capacity / 2 < table.count + more)
        places.capacity *= 2;
    if (places.capacity == old->capacity)
        return true;
    places.maps = tn__alloc_zeroed(NULL, places.capacity, sizeof *places.maps);
    if (!places.maps)
        return false;
    for (size_t i = 0; i < old->capacity; i++)
        if (old->maps[i].address)
            *find_place(&places, old->maps[i].address) = old->maps[i];
    replace_places(places);
    return true;
}

static bool pins_something(const struct tn__map *map)
{
    return tn__get32(map->record) & TN_GC_MAP_PINNED;
}

static int count_one(void *context, const struct tn__map *map)
{
    (void)map;
    ++*(size_t *)context;
    return 0;
}

/* Closes the gap by moving into it an entry that a search would no longer find after it (Knuth, TAOCP 3, 6.4, Algorithm
 * R). */
static int remove_one(void *context, const struct tn__map *map)
{
    const struct places *in = &table.places;
    struct tn__map *gap = find_place(in, map->address);
    (void)context;
    if (!gap->address)
        return 0;
    table.count--;
    table.pins -= pins_something(gap);
    for (size_t at = next_of(in, (size_t)(gap - in->maps)); in->maps[at].address; at = next_of(in, at)) {
        size_t from_home = at - home_of(in, in->maps[at].address), from_gap = at - (size_t)(gap - in->maps);
        if ((from_home & (in->capacity - 1)) >= (from_gap & (in->capacity - 1))) {
            *gap = in->maps[at];
            gap = &in->maps[at];
        }
    }
    gap->address = 0;
    return 0;
}

static int enter_one(void *context, const struct tn__map *map)
{
    (void)context;
    remove_one(NULL, map); /* compiled code has one record per address */
    table.count++;
    *find_place(&table.places, map->address) = *map;
    table.pins += pins_something(map);
    return 0;
}

/* Under the lock, as the next function. */
static int add_maps(const uint8_t *section, size_t size, struct tn_range code, struct tn_error *err)
{
    size_t count = 0;
    int failure = tn__maps_read(section, size, code, count_one, &count, err);
    if (failure)
        return failure;
    if (!make_space(count))
        return tn__fail(err, TN_ENOMEM, "no memory for %zu stack maps", count);
    begin_change();
    failure = tn__maps_read(section, size, code, enter_one, NULL, err);
    end_change();
    return failure;
}

static int add_program(struct tn_error *err)
{
    struct tn_range everything = {0, UINT64_MAX};
    if (table.has_program || &__start_tenon_maps[0] == &__stop_tenon_maps[0])
        return 0;
    return add_maps(__start_tenon_maps, (size_t)(__stop_tenon_maps - __start_tenon_maps), everything, err);
}

int tn__maps_add(const uint8_t *section, size_t size, struct tn_range code, struct tn_error *err)
{
    tn__maps_lock();
    int failure = add_maps(section, size, code, err);
    tn__maps_unlock();
    return failure;
}

int tn__maps_add_program(struct tn_error *err)
{
    /* A linker that drops unused sections may have dropped these. */
    const uint8_t *abi = __start_tenon_abi;
    size_t abi_size = (size_t)(__stop_tenon_abi - __start_tenon_abi);
    int failure = abi_size ? tn__managed_check_abi("this program", abi, abi_size, err) : 0;
    if (failure)
        return failure;
    tn__maps_lock();
    failure = add_program(err);
    table.has_program |= !failure;
    tn__maps_unlock();
    return failure;
}

void tn__maps_remove(const uint8_t *section, size_t size, struct tn_range code)
{
    tn__maps_lock();
    if (table.count) {
        begin_change();
        tn__maps_read(section, size, code, remove_one, NULL, NULL);
        end_change();
    }
    if (!table.count)
        replace_places((struct places){0});
    tn__maps_unlock();
}

/* ---- looking up ---- */

/* Other threads do not go on in the child, and so they do not take back what they have announced. */
static void after_fork(bool in_child)
{
    if (in_child)
        table.peekers = 0;
}

void tn__maps_lock(void)
{
    static const struct tn__fork_hooks hooks = {.lock = &table.lock, .after = after_fork};
    tn__forks_watch(TN__LEVEL_MAPS, &hooks);
    tn__mutex_lock(&table.lock);
}

void tn__maps_unlock(void)
{
    tn__mutex_unlock(&table.lock);
}

const struct tn__map *tn__maps_find(uint64_t address)
{
    if (!table.count)
        return NULL;
    const struct tn__map *map = find_place(&table.places, address);
    return map->address ? map : NULL;
}

bool tn__maps_peek(uint64_t address, struct tn__map *found)
{
    __atomic_add_fetch(&table.peekers, 1, __ATOMIC_SEQ_CST);
    bool is_inside = false; /* of a change of this thread's own */
    while (!is_inside && __atomic_load_n(&table.is_changing, __ATOMIC_SEQ_CST)) {
        is_inside = __atomic_load_n(&table.changer, __ATOMIC_RELAXED) == tn__thread_pointer();
        if (!is_inside)
            tn__os_wait(&table.is_changing, 1, UINT64_MAX);
    }
    const struct tn__map *map = is_inside ? NULL : tn__maps_find(address);
    if (map)
        *found = *map;
    if (!__atomic_sub_fetch(&table.peekers, 1, __ATOMIC_SEQ_CST))
        tn__os_wake(&table.peekers);
    return map;
}

bool tn__maps_have_pins(void)
{
    return table.pins;
}
