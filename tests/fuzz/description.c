/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Any bytes as the description of a module: one that is read and written again has the same symbols. */

#include <string.h>

#include "cache/description.h"
#include "fuzz.h"
#include "holds.h"

static bool same(const char *a, const char *b)
{
    return !a == !b && (!a || strcmp(a, b) == 0);
}

static void compare(const struct tn_module_description *d, const struct tn_module_description *again)
{
    holds(again->parts == d->parts && again->count == d->count && again->flags == d->flags);
    holds(again->types_size == d->types_size && !memcmp(again->types, d->types, d->types_size));
    for (size_t i = 0; i < d->count; i++) {
        const struct tn_module_symbol *a = &d->symbols[i], *b = &again->symbols[i];
        holds(a->part == b->part && a->flags == b->flags && a->managed_registers == b->managed_registers &&
              a->managed_stack == b->managed_stack);
        holds(same(a->name, b->name) && same(a->of, b->of) && same(a->body, b->body));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct tn__arena arena = {0}, again_arena = {0};
    struct tn_module_description d, again;
    struct tn__description copy;
    struct tn_buffer written = {0};
    if (tn__description_read(bytes, size, &arena, &d, NULL) == 0) {
        holds(tn__description_write(&d, &written));
        holds(tn__description_read(written.data, written.size, &again_arena, &again, NULL) == 0);
        compare(&d, &again);
        holds(tn__description_copy(&d, &copy, NULL) == 0);
        for (uint32_t part = 1; part < d.parts; part++)
            holds(copy.first[part] < copy.first[part + 1] && copy.symbols[copy.first[part]].part == part);
        tn__description_drop(&copy);
    }
    tn_buffer_free(&written);
    tn__arena_free(&arena);
    tn__arena_free(&again_arena);
    return 0;
}
