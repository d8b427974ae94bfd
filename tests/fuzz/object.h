/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Any bytes as an object of some formats: read, and every relocation looked at, within bounds of time and memory. */

#ifndef FUZZ_OBJECT_H
#define FUZZ_OBJECT_H

#include "bounds.h"
#include "fuzz.h"
#include "holds.h"
#include "link/model/late.h"

static inline int fuzz_object(const struct tn_format *const *formats, const uint8_t *bytes, size_t size)
{
    struct tn__object_data object = {.name = "fuzz.o", .bytes = bytes, .size = size, .with_unloaded = true};
    struct tn_error err;
    object.arena.from = &bounds_allocator;
    bounds_begin();
    bool is_read = tn__object_read(&object, formats, &err) == 0;
    for (uint32_t i = 0; is_read && i < object.section_count; i++) {
        struct tn__reloc reloc;
        for (uint64_t k = 0; k < object.sections[i].reloc_count; k++)
            tn__relocs_copy(&object.sections[i], k, &reloc, 1);
    }
    for (uint32_t i = 0; is_read && i < object.symbol_count; i++)
        if (object.symbols[i].late)
            holds(object.late->find(object.late, object.symbols[i].name) < object.symbol_count);
    tn__arena_free(&object.arena);
    bounds_end(size);
    return 0;
}

#endif
