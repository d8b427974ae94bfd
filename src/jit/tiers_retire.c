/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Bodies that have given way to a higher tier are freed, for clients that say that all threads are attached. Where that
 * cannot be done, or memory is out, they stay until their module goes, as they do for other clients. */

#include "jit/tiers.h"
#include "link/redirect/cell.h"

static bool name_bodies(const struct tn__tiered_part *part, const struct tn_module_symbol *s, size_t tier,
                        struct tn__arena *arena, struct tn__lazy_bodies *f)
{
    *f = (struct tn__lazy_bodies){{s->name, tn__tiered_name(part, s, tier, arena), (uint8_t)tier, part->of->m},
                                  tn__arena_array(arena, tier, sizeof *f->old)};
    bool good = f->better.best && f->old;
    for (size_t t = part->first; t < tier && good; t++)
        good = (f->old[t - part->first] = tn__tiered_name(part, s, t, arena));
    return good;
}

/* Under the lock. */
static void forget(struct tn__tiered_part *part, size_t tier)
{
    for (size_t t = part->first; t < tier; t++) {
        if (t > part->first)
            part->of->tiers->bytes -= part->bodies[t].code.bytes;
        part->bodies[t].code = (struct tn_jit_tier_code){0};
        part->bodies[t].begin = part->bodies[t].end = 0;
    }
}

void tn__tiers_retire(struct tn__tiered_part *part, size_t tier)
{
    struct tn__arena arena = {0};
    size_t all, count = 0;
    tn__jit_symbols(part->of->m, tn__tiered_number(part), &all);
    struct tn__lazy_bodies *functions = tn__arena_array(&arena, all + 1, sizeof *functions);
    bool good = functions;
    TN__EACH_BODY(s, part)
    good = good && name_bodies(part, s, tier, &arena, &functions[count++]);
    if (good && tn__lazy_retire(part->of->library, functions, count, tier - part->first, NULL) == 0) {
        tn__tiers_lock();
        forget(part, tier);
        tn__tiers_unlock();
    }
    tn__arena_free(&arena);
}
