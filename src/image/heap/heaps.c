/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* All that opens heaps of images. */

#include "image/heap/heap.h"

const struct tn_image_heaps *tn_image_heaps(void)
{
    static const struct tn__heap_parts parts = {
        tn__image_check_unique, tn__image_give_way,   tn__image_check_patches, tn__image_patch_all,
        tn__image_end_patching, tn__image_heap_check, tn__image_check_layouts, tn__image_enter_types};
    static const struct tn_image_heaps heaps = {tn__image_heap_open,    tn__image_heap_close,   tn__image_heap_fill,
                                                tn__image_settle_types, tn__image_heap_restore, &parts};
    return &heaps;
}
