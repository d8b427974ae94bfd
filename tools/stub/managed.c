/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Stubs with a collector: the image's stack maps and root ranges. An ordinary program has them in sections that its
 * linker collected; here they came later. */

#include "lib/default_heap.h"
#include "gc/object/object.h"
#include "stub.h"

static struct tn_range range_of(const struct tn__program_part *part)
{
    return (struct tn_range){(uintptr_t)tn__stub_at(part->at), part->size};
}

int tn__stub_manage(const struct tn__program *program, const char *name, struct tn_error *err)
{
    enum { OWNER = 1 }; /* no linked object has this number */
    int code = tn__maps_add(tn__stub_at(program->maps.at), program->maps.size, range_of(&program->code), err);
    if (!code)
        code = tn__roots_add_section(OWNER, tn__stub_at(program->roots.at), program->roots.size,
                                     range_of(&program->data), err);
    bool needs_heap = program->maps.size || program->uses_objects;
    return !code && needs_heap ? tool_make_default_heap(name, NULL, NULL, err) : code;
}
