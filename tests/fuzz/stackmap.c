/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Any bytes as stack maps. What is accepted is decoded without leaving the section, is found, and is gone when it
 * was removed. */

#include <stdlib.h>

#include "fuzz.h"
#include "gc/object/object.h"

struct section {
    const uint8_t *bytes;
    size_t size, safepoints;
};

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void check_inside(const struct section *section, const uint8_t *from, uint64_t size)
{
    check(!size || (from >= section->bytes && tn__inside((uint64_t)(from - section->bytes), size, section->size)));
}

static int decode(void *context, const struct tn__map *map)
{
    struct section *section = context;
    struct tn__frame_map frame = tn__map_decode(map);
    uint64_t slot = frame.wide ? 4 : 2;
    section->safepoints++;
    check_inside(section, frame.roots, slot * frame.root_count);
    check_inside(section, frame.bases, slot * frame.base_count);
    check_inside(section, frame.derived, 2 * slot * frame.derived_count);
    check_inside(section, frame.pinned, slot * frame.pinned_count);
    return 0;
}

static int look_up(void *context, const struct tn__map *map)
{
    tn__maps_lock();
    check(!tn__maps_find(map->address) == !*(const bool *)context);
    tn__maps_unlock();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct section section = {bytes, size, 0};
    struct tn_range code = {(uintptr_t)bytes - (1u << 16), 1u << 17};
    bool found = true;
    if (tn__maps_add(bytes, size, code, NULL))
        return 0;
    check(tn__maps_read(bytes, size, code, decode, &section, NULL) == 0);
    tn__maps_read(bytes, size, code, look_up, &found, NULL);
    tn__maps_remove(bytes, size, code);
    found = false;
    tn__maps_read(bytes, size, code, look_up, &found, NULL);
    return 0;
}
