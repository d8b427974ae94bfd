/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Any bytes as a Mach-O object, or a universal file: read, and every relocation decoded. */

#include "bounds.h"
#include "fuzz.h"
#include "link/format/object.h"

static const struct tn_format *const formats[] = {&tn_format_macho_x86_64, &tn_format_macho_aarch64, NULL};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct tn__object_data object = {.name = "fuzz.o", .bytes = bytes, .size = size, .with_unloaded = true};
    struct tn_error err;
    object.arena.from = &bounds_allocator;
    bounds_begin();
    if (tn__object_read(&object, formats, &err) == 0)
        for (uint32_t i = 0; i < object.section_count; i++) {
            struct tn__reloc reloc;
            for (uint64_t k = 0; k < object.sections[i].reloc_count; k++)
                tn__relocs_copy(&object.sections[i], k, &reloc, 1);
        }
    tn__arena_free(&object.arena);
    bounds_end(size);
    return 0;
}
