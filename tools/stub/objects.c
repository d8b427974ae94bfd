/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Stubs that open saved objects, which become part of the heap of managed code. */

#include "image/heap/heap.h"
#include "stub.h"

static const struct tn_image_heaps heaps = {
    tn__image_heap_open, tn__image_heap_close, tn__image_heap_fill, NULL, tn__image_heap_restore, NULL};

int tn__stub_open(const struct tn__program *program, struct tn_image **image, struct tn_error *err)
{
    struct tn_heap *heap;
    int code = tn_heap_default(&heap, err);
    if (code)
        return code;
    const struct tn_image_load_options options = {.size = sizeof options, .heap = heap, .heaps = &heaps};
    if (program->restore.size)
        tn__image_give_restores(tn__stub_at(program->restore.at), program->restore.size / sizeof(struct tn_restore));
    code = tn_heap_attach(heap, err);
    return code ? code : tn_image_open_linked(tn__stub_at(program->image), &options, image, err);
}
