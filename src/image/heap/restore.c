/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The program's functions that run when an image was opened: TN_RESTORE puts them into a section. */

#include "image/heap/heap.h"

/* Defined by the linker if there are any. */
extern const struct tn_restore __start_tenon_restore[] __attribute__((weak, visibility("hidden")));
extern const struct tn_restore __stop_tenon_restore[] __attribute__((weak, visibility("hidden")));

/* Of a program that was not linked by a linker. */
static const struct tn_restore *given;
static size_t given_count;

void tn__image_give_restores(const struct tn_restore *rows, size_t count)
{
    given = rows;
    given_count = count;
}

/* Whether a comes before b; functions of one priority run in the order of their addresses. */
static bool is_before(const struct tn_restore *a, const struct tn_restore *b)
{
    return a->priority != b->priority ? a->priority < b->priority : a < b;
}

/* There are few, so they are not sorted. */
static const struct tn_restore *next_of(const struct tn_restore *last)
{
    const struct tn_restore *next = NULL, *first = given ? given : __start_tenon_restore,
                            *end = given ? given + given_count : __stop_tenon_restore;
    for (const struct tn_restore *row = first; row < end; row++)
        if ((!last || is_before(last, row)) && (!next || is_before(row, next)))
            next = row;
    return next;
}

int tn__image_heap_restore(struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err)
{
    const struct tn__heap_parts *parts = options->heaps->parts;
    struct tn__patching patching;
    int code = parts ? parts->patch_all(image, options, &patching, err) : 0;
    if (!code && parts)
        code = parts->give_way(image, options, err);
    for (const struct tn_restore *row = next_of(NULL); row && !code; row = next_of(row))
        code = row->function(image, err);
    if (parts)
        parts->end_patching(&patching, code != 0);
    return code;
}
