/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Managed code in a loaded file: registers its stack maps and root ranges with the collector that the client named. */

#include "base/os.h"
#include "image/load/image.h"

/* The range from the first to the last segment with this protection. */
static struct tn_range range_of(const struct tn__image_mapping *mapping, unsigned prot)
{
    uint64_t start = UINT64_MAX, end = 0;
    for (size_t i = 0; i < mapping->segment_count; i++) {
        const struct tn__image_segment *s = &mapping->segments[i];
        if (s->prot != prot)
            continue;
        start = tn__min64(start, mapping->bias + s->address);
        end = tn__max64(end, mapping->bias + s->address + s->size);
    }
    return end ? (struct tn_range){start, end - start} : (struct tn_range){0, 0};
}

int tn__image_enter_managed(const struct tn__image_opening *o)
{
    struct tn__opened_file *file = o->image->file;
    struct tn__managed_file *managed = &file->managed;
    struct tn_error why;
    if (!managed->maps_size && !managed->roots_size)
        return 0;
    managed->code = range_of(&file->mapping, TN__PROT_RX);
    managed->data = range_of(&file->mapping, TN__PROT_RW);
    int code = o->options->managed->enter(managed, &why);
    if (code) {
        tn__fail(o->err, code, "%s: ", file->mapping.name);
        tn__append_text(o->err, why.text);
        return code;
    }
    file->runtime = o->options->managed;
    return 0;
}

void tn__image_leave_managed(struct tn__opened_file *file)
{
    if (file->runtime)
        file->runtime->leave(&file->managed);
    file->runtime = NULL;
}
