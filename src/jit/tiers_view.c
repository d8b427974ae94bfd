/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What clients of a JIT with tiers ask for and see: requests for tiers, samples of a profiler, lists of functions. */

#include <stdio.h>

#include "base/shown_name.h"
#include "jit/assumption.h"
#include "jit/tiers.h"
#include "link/process/process.h"

static bool is_named(const char *symbol, const char *function)
{
    size_t length = tn__shown_length(symbol);
    return strlen(function) == length && memcmp(symbol, function, length) == 0;
}

/* ---- requests ---- */

static struct tn__tiered_part *find_in(struct tn__tiered *tiered, const char *function)
{
    for (size_t i = 1; i < tiered->m->description.parts; i++) {
        struct tn__tiered_part *part = &tiered->parts[i];
        TN__EACH_BODY(s, part)
        if (is_named(s->name, function))
            return part;
    }
    return NULL;
}

/* Under the lock. */
static struct tn__tiered_part *find_newest(const struct tn__tiers *tiers, const char *function)
{
    struct tn__tiered_part *part = NULL;
    for (struct tn__list *at = tiers->modules.previous; at != &tiers->modules && !part; at = at->previous) {
        struct tn__tiered *tiered = tn__container_of(at, struct tn__tiered, listed);
        part = tn__is_broken(tiered->m->rests) ? NULL : find_in(tiered, function);
    }
    return part;
}

static int request(const struct tn__tiers *tiers, const char *function, int tier, struct tn_error *err)
{
    struct tn__tiered_part *part = find_newest(tiers, function);
    if (!part)
        return tn__fail(err, TN_EUNDEF, "no module with tiers defines a function '%s'", function);
    if (tier > part->first && part->first + 1U == tiers->count)
        return tn__fail(err, TN_ENOTSUP, "'%s' cannot be compiled twice", function);
    if (tier > part->now)
        tn__tiers_want(part, (uint8_t)tier, UINT32_MAX);
    return 0;
}

static int check_tiers(const struct tn_jit *jit, struct tn_error *err)
{
    return jit->tiers ? 0 : tn__fail(err, TN_EINVAL, "the JIT has no tiers");
}

int tn_jit_request_tier(struct tn_jit *jit, const char *function, int tier, struct tn_error *err)
{
    if (!jit || !function)
        return tn__no_argument(err);
    int code = check_tiers(jit, err);
    if (code)
        return code;
    const struct tn__tiers *tiers = jit->tiers;
    if (tier < 0 || (size_t)tier >= tiers->count)
        return tn__fail(err, TN_EINVAL, "there is no tier %d; the last one is %zu", tier, tiers->count - 1);
    tn__tiers_lock();
    code = request(tiers, function, tier, err);
    tn__tiers_unlock();
    return code ? code : tn__tiers_wake(err);
}

/* ---- samples ---- */

void tn_jit_sample(struct tn_jit *jit, const void *pc)
{
    if (jit && jit->tiers)
        tn__told_push(&(struct tn__told){.value = (uintptr_t)pc, .jit = jit});
}

/* Under the lock; counts a sample in code that is known. */
static bool count_known(const struct tn__tiers *tiers, uint64_t pc)
{
    for (TN_EACH(struct tn__tiered, tiered, &tiers->modules, listed))
        for (size_t i = 1; i < tiered->m->description.parts; i++)
            for (size_t tier = 0; tier < TN__TIERS_MOST; tier++) {
                const struct tn__tiered_body *body = &tiered->parts[i].bodies[tier];
                if (pc - body->begin < body->end - body->begin) {
                    tiered->parts[i].samples++;
                    return true;
                }
            }
    return false;
}

/* Where a part has its code, as objects know that. */
struct place {
    char name[TN__JIT_NAME_SIZE];
    uint64_t library, begin, end;
};

static bool find_place(struct tn_session *session, uint64_t pc, struct place *place)
{
    struct tn__object *object = NULL;
    tn__session_lock(session);
    bool found = tn__session_find_object(session, pc, &object) && object && object->ranges[TN_ZONE_CODE] &&
                 strlen(object->name) < sizeof place->name;
    if (found) {
        const struct tn__mem_range *code = object->ranges[TN_ZONE_CODE];
        memcpy(place->name, object->name, strlen(object->name) + 1);
        place->library = tn_library_number(object->owner->library);
        place->begin = code->address;
        place->end = code->address + code->size;
    }
    tn__session_unlock(session);
    return found && pc - place->begin < place->end - place->begin;
}

/* Under the lock. The newest code of a part is that of its highest tier. */
static void learn(const struct tn__tiers *tiers, const struct place *place)
{
    char name[sizeof place->name];
    for (TN_EACH(struct tn__tiered, tiered, &tiers->modules, listed))
        for (size_t i = 1; i < tiered->m->description.parts; i++) {
            if (tn_library_number(tiered->library) != place->library)
                break;
            tn__jit_name_part(tiered->m, i, name);
            for (size_t tier = 0; tier < TN__TIERS_MOST && strcmp(name, place->name) == 0; tier++) {
                struct tn__tiered_body *body = &tiered->parts[i].bodies[tier];
                if (body->code.bytes && !body->end) {
                    body->begin = place->begin;
                    body->end = place->end;
                    return;
                }
            }
        }
}

static void count_sample(struct tn__tiers *tiers, uint64_t pc)
{
    struct place place;
    tn__tiers_lock();
    bool is_known = count_known(tiers, pc);
    tn__tiers_unlock();
    if (is_known || !find_place(tiers->jit->session, pc, &place))
        return;
    tn__tiers_lock();
    learn(tiers, &place);
    count_known(tiers, pc);
    tn__tiers_unlock();
}

void tn__tiers_sample(const struct tn__told *samples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct tn__tiers *tiers = tn__tiers_begin(samples[i].jit);
        if (!tiers)
            continue;
        count_sample(tiers, samples[i].value);
        tn__tiers_end(tiers);
    }
}

/* ---- lists ---- */

/* Under the lock: the module after this number, with a use; NULL: none. */
static struct tn__tiered *take_next(const struct tn__tiers *tiers, uint64_t number)
{
    for (TN_EACH(struct tn__tiered, tiered, &tiers->modules, listed))
        if (tiered->node.key > number) {
            tn__jit_hold(tiered->m, false);
            return tiered;
        }
    return NULL;
}

static struct tn_jit_function describe(const struct tn__tiered_part *part)
{
    const struct tn__tiered *tiered = part->of;
    struct tn_jit_function f = {.size = sizeof f,
                                .module = tiered->m->name,
                                .tier = part->now,
                                .opt_level = tiered->tiers->tiers[part->now].opt_level,
                                .calls = part->calls,
                                .samples = part->samples,
                                .swaps = part->swaps,
                                .failed = part->failed};
    for (size_t tier = 0; tier < TN__TIERS_MOST; tier++)
        f.tiers[tier] = part->bodies[tier].code;
    return f;
}

static int visit_module(const struct tn__tiered *tiered,
                        int (*visit)(void *context, const struct tn_jit_function *function), void *context)
{
    int code = 0;
    for (size_t i = 1; i < tiered->m->description.parts && !code; i++) {
        char name[300];
        size_t count;
        const struct tn_module_symbol *first = tn__jit_symbols(tiered->m, i, &count);
        if (!first->body)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)tn__shown_length(first->name), first->name);
        tn__tiers_lock();
        struct tn_jit_function f = describe(&tiered->parts[i]);
        tn__tiers_unlock();
        f.name = name;
        code = visit(context, &f);
    }
    return code;
}

int tn_jit_each_function(struct tn_jit *jit, int (*visit)(void *context, const struct tn_jit_function *function),
                         void *context, struct tn_error *err)
{
    if (!jit || !visit)
        return tn__no_argument(err);
    int code = check_tiers(jit, err);
    if (code)
        return code;
    uint64_t number = 0;
    struct tn__tiered *tiered;
    struct tn__told samples[64];
    size_t count;
    while ((count = tn__tiers_take(samples, TN_COUNT(samples)))) /* of other JITs too */
        tn__tiers_sample(samples, count);
    do {
        tn__tiers_lock();
        tiered = take_next(jit->tiers, number);
        number = tiered ? tiered->node.key : 0;
        tn__tiers_unlock();
        if (tiered) {
            code = visit_module(tiered, visit, context);
            tn__jit_drop(tiered->m, false);
        }
    } while (tiered && !code);
    return code;
}
