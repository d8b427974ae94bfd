/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a module with tiers promises besides: for each part, one body for each higher tier; the symbols that counters
 * refer to; and a marker, whose end is that of the module (marker.c). */

#include <stdio.h>

#include "base/shown_name.h"
#include "jit/background.h"
#include "jit/tiers.h"
#include "link/model/library.h"

/* ---- options ---- */

static int check_tiers(const struct tn_jit_options *options, struct tn_error *err)
{
    if (options->tier_count > TN__TIERS_MOST || options->tier_share > 100)
        return tn__fail(err, TN_EINVAL, "there are %zu tiers with %u %% of a processor; at most %d and 100 can be",
                        options->tier_count, options->tier_share, TN__TIERS_MOST);
    for (size_t i = 0; i < options->tier_count; i++) {
        const struct tn_tier *tier = &options->tiers[i];
        bool is_last = i + 1 == options->tier_count;
        if (tier->opt_level < 0 || tier->opt_level > 3 || (i && tier->opt_level <= tier[-1].opt_level))
            return tn__fail(err, TN_EINVAL, "tier %zu has level %d; levels have to be 0 to 3, and to ascend", i,
                            tier->opt_level);
        if (!is_last && (!tier->calls || tier->calls > INT32_MAX || tier->loops > INT32_MAX))
            return tn__fail(err, TN_EINVAL, "tier %zu: calls have to be 1 to %d, and loops 0 to %d", i, INT32_MAX,
                            INT32_MAX);
    }
    return 0;
}

static int open_tiers(struct tn_jit *jit, const struct tn_jit_options *options, struct tn_error *err)
{
    int code = check_tiers(options, err);
    struct tn__tiers *tiers = !code ? tn__alloc_zeroed(NULL, 1, sizeof *tiers) : NULL;
    if (!tiers)
        return code ? code : tn__no_memory(err, NULL);
    tiers->jit = jit;
    tiers->count = options->tier_count;
    memcpy(tiers->tiers, options->tiers, tiers->count * sizeof *tiers->tiers);
    tiers->most_bytes = options->tier_bytes ? options->tier_bytes : UINT64_MAX;
    tiers->share = options->tier_share ? options->tier_share : 100;
    tiers->retires = options->retire_bodies;
    jit->tiering = options->tiering;
    jit->tiers = tiers;
    return tn__tiers_open(tiers, err);
}

static void close_tiers(struct tn_jit *jit)
{
    tn__tiers_close(jit->tiers);
}

static void free_tiers(struct tn_jit *jit)
{
    tn__free(NULL, jit->tiers);
}

/* ---- names ---- */

const char *tn__tiered_name(const struct tn__tiered_part *part, const struct tn_module_symbol *function, size_t tier,
                            struct tn__arena *arena)
{
    size_t size = strlen(function->body) + sizeof TN__NAME_TIER "-2147483648";
    char *name = tn__arena_alloc(arena, size);
    if (name && tier == part->first)
        memcpy(name, function->body, strlen(function->body) + 1);
    else if (name)
        snprintf(name, size, "%s" TN__NAME_TIER "%d", function->body, part->of->tiers->tiers[tier].opt_level);
    return name;
}

/* ---- materializers ---- */

static void note(struct tn__tiered_body *body, const struct tn__jit_how *how)
{
    tn__tiers_lock();
    body->code = (struct tn_jit_tier_code){.bytes = how->bytes, .ns = how->ns, .was_cached = how->was_kept};
    tn__tiers_unlock();
}

static int make_body(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct tn__tiered_body *body = context;
    struct tn__tiered_part *part = body->part;
    struct tn__tiered *tiered = part->of;
    struct tn__tiers *tiers = tiered->tiers;
    const size_t tier = (size_t)(body - part->bodies);
    struct tn__jit_how how = {.opt_level = tiers->tiers[tier].opt_level,
                              .is_higher = true,
                              .is_idle = true,
                              .is_over = tn__background_is_over,
                              .counters = tier + 1 < tiers->count ? tiered->m->tag : NULL};
    int code = tn__jit_make(tiered->m, tn__tiered_number(part), &how, responsibility, err);
    if (code)
        return code;
    note(body, &how);
    tn__tiers_lock();
    tiers->bytes += how.bytes;
    tn__tiers_unlock();
    tn__count(&tiers->jit->counters.raised, 1);
    tn__count(&tiers->jit->counters.raised_bytes, how.bytes);
    tn__count(&tiers->jit->counters.raised_ns, how.ns);
    return 0;
}

static void destroy_body(void *context)
{
    tn__jit_drop(((struct tn__tiered_body *)context)->part->of->m, true);
}

static void leave(void *context)
{
    tn__tiers_leave(context);
}

/* ---- promising ---- */

struct promising {
    struct tn__tiered *tiered;
    struct tn_tracker *owner;
    struct tn__arena arena;
    struct tn_error *err;
};

static const char *join(struct promising *p, const char *prefix, int level)
{
    size_t size = strlen(prefix) + sizeof "-2147483648." + sizeof p->tiered->m->tag;
    char *name = tn__arena_alloc(&p->arena, size);
    if (name && level >= 0)
        snprintf(name, size, "%s%d.%s", prefix, level, p->tiered->m->tag);
    else if (name)
        snprintf(name, size, "%s%s", prefix, p->tiered->m->tag);
    return name;
}

static const void *number(uint64_t value)
{
    return (const void *)(uintptr_t)value;
}

static int define_symbols(struct promising *p)
{
    void (*function)(struct tn__counter * counter, uint32_t loop) = tn__told;
    const struct tn__tiers *tiers = p->tiered->tiers;
    struct tn_definition symbols[2 + TN__TIERS_MOST] = {
        {join(p, TN__COUNTER_MODULE, -1), number(p->tiered->node.key), TN_SYMBOL_HIDDEN},
        {join(p, TN__COUNTER_TOLD, -1), NULL, TN_SYMBOL_HIDDEN}};
    memcpy(&symbols[1].address, &function, sizeof function);
    size_t count = 2;
    for (size_t i = 0; i + 1 < tiers->count; i++, count++) {
        const struct tn_tier *tier = &tiers->tiers[i];
        symbols[count] = (struct tn_definition){join(p, TN__COUNTER_LIMITS, tier->opt_level),
                                                number(tier->calls | (uint64_t)tier->loops << 32), TN_SYMBOL_HIDDEN};
    }
    for (size_t i = 0; i < count; i++)
        if (!symbols[i].name)
            return tn__no_memory(p->err, p->tiered->m->name);
    return tn_define_all(p->tiered->library, symbols, count, p->owner, p->err);
}

static int add_body(struct promising *p, struct tn__tiered_part *part, size_t tier)
{
    struct tn__added_module *m = p->tiered->m;
    size_t count, used = 0;
    const struct tn_module_symbol *symbols = tn__jit_symbols(m, tn__tiered_number(part), &count);
    struct tn_promised *promised = tn__arena_array(&p->arena, count + 1, sizeof *promised);
    if (!promised)
        return tn__no_memory(p->err, m->name);
    for (size_t i = 0; i < count; i++)
        if (symbols[i].body) {
            promised[used] = (struct tn_promised){tn__tiered_name(part, &symbols[i], tier, &p->arena), 0};
            if (!promised[used++].name)
                return tn__no_memory(p->err, m->name);
        }
    const struct tn_materializer materializer = {.size = sizeof materializer,
                                                 .name = m->name,
                                                 .context = &part->bodies[tier],
                                                 .symbols = promised,
                                                 .count = used,
                                                 .materialize = make_body,
                                                 .destroy = destroy_body,
                                                 .owner = p->owner};
    tn__jit_hold(m, true);
    int code = tn_add_materializer(p->tiered->library, &materializer, p->err);
    if (code)
        tn__jit_drop(m, true);
    return code;
}

/* The tier that a part begins with. One that has other symbols than functions and their aliases is never divided like
 * this; a part that cannot be compiled twice is compiled for the last tier at once. */
static uint8_t first_tier(const struct tn__tiers *tiers, const struct tn__description *d, size_t part)
{
    size_t first = 0, last = tiers->count - 1;
    bool once = false;
    for (const struct tn_module_symbol *s = d->symbols + d->first[part]; s < d->symbols + d->first[part + 1]; s++) {
        if (!s->body)
            continue;
        int level = (int)(s->flags / TN__SYMBOL_LEVEL) - 1;
        while (first < last && tiers->tiers[first].opt_level < level)
            first++;
        first = s->flags & TN__SYMBOL_FIXED ? last : first;
        once |= s->flags & TN__SYMBOL_ONCE;
    }
    return (uint8_t)(first + (once && first < last));
}

static void prepare_parts(struct tn__tiered *tiered)
{
    for (size_t i = 1; i < tiered->m->description.parts; i++) {
        struct tn__tiered_part *part = &tiered->parts[i];
        part->of = tiered;
        for (size_t tier = 0; tier < TN__TIERS_MOST; tier++)
            part->bodies[tier].part = part;
        part->first = part->now = first_tier(tiered->tiers, &tiered->m->description, i);
    }
}

static int promise_bodies(struct promising *p)
{
    int code = 0;
    for (size_t i = 1; i < p->tiered->m->description.parts && !code; i++) {
        struct tn__tiered_part *part = &p->tiered->parts[i];
        for (size_t tier = part->first + 1U; tier < p->tiered->tiers->count && !code; tier++)
            code = add_body(p, part, tier);
    }
    return code;
}

/* The first of all: once this is there, the module is entered, and leaves when its owner goes. */
static int enter(struct promising *p)
{
    struct tn__tiered *tiered = p->tiered;
    const struct tn__jit_marker marker = {
        .symbol = tiered->marker, .module = tiered->m->name, .end = leave, .context = tiered};
    snprintf(tiered->marker, sizeof tiered->marker, TN__TIERED_MARKER "%s", tiered->m->tag);
    tn__jit_hold(tiered->m, false);
    tn__library_use(tiered->library);
    tn__tiers_enter(tiered);
    int code = tn__jit_add_marker(tiered->library, &marker, p->owner, p->err);
    if (code)
        tn__tiers_leave(tiered);
    return code;
}

static int promise(struct tn__added_module *m, struct tn_library *library, struct tn_tracker *owner,
                   struct tn_error *err)
{
    size_t parts = m->description.parts;
    struct tn__tiered *tiered = tn__alloc_zeroed(NULL, 1, sizeof *tiered + parts * sizeof *tiered->parts);
    if (!tiered)
        return tn__no_memory(err, m->name);
    tiered->m = m;
    tiered->tiers = m->jit->tiers;
    tiered->library = library;
    m->tiered = tiered; /* freed with the module */
    prepare_parts(tiered);
    struct promising p = {.tiered = tiered, .owner = owner, .err = err};
    int code = enter(&p);
    if (!code)
        code = define_symbols(&p);
    if (!code)
        code = promise_bodies(&p);
    tn__arena_free(&p.arena);
    return code ? code : tn__tiers_wake(err);
}

/* ---- the first body of a part ---- */

static void begin(const struct tn__tiers *tiers, const struct tn__description *d, size_t part, const char *tag,
                  struct tn__jit_how *how)
{
    const size_t first = first_tier(tiers, d, part);
    how->opt_level = tiers->tiers[first].opt_level;
    how->counters = first + 1 < tiers->count ? tag : NULL;
}

static void end(const struct tn__added_module *m, size_t part, const struct tn__jit_how *how)
{
    struct tn__tiered_part *tiered = &m->tiered->parts[part];
    note(&tiered->bodies[tiered->first], how);
}

const struct tn_tiering *tn_jit_tiering(void)
{
    static const struct tn_tiering tiering = {open_tiers, close_tiers, free_tiers, promise, begin, end};
    return &tiering;
}
