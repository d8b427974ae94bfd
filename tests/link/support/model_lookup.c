/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Performs lookups, and checks that the model allows each result. */

#include "model_state.h"

static void check_address(struct model *m, const struct pending *lookup, int i)
{
    const struct item *item = &m->items[model_resolve(m, lookup->library, lookup->names[i])];
    const void *address = lookup->wanted[i].address;
    if (item->kind == ADDRESS)
        REQUIRE(m, (uintptr_t)address == item->value);
    else
        REQUIRE(m, *(const uint64_t *)address == item->value);
}

static void check_answer(struct model *m, const struct pending *lookup, const struct tn_error *err)
{
    int code = err ? err->code : 0;
    const struct closure *c = model_close_over(m, lookup);
    if (m->ambiguous)
        return;
    m->checked++;
    model_note(m, "lookup %d ends: %s", (int)(lookup - m->pending), err ? err->text : "found");
    for (int i = 0; i < c->count; i++)
        model_note(m, "  it leads to item %d", c->reached[i]);
    if (!code) {
        REQUIRE(m, !c->undefined && !c->failed && !c->running && !c->fresh);
        for (int i = 0; i < c->count; i++)
            m->items[c->reached[i]].linked |= m->items[c->reached[i]].kind == OBJECT;
        for (int i = 0; i < lookup->count; i++)
            check_address(m, lookup, i);
    } else if (m->removed[lookup->library])
        REQUIRE(m, code == TN_EREMOVED);
    else if (code == TN_EUNDEF)
        REQUIRE(m, c->undefined);
    else
        REQUIRE(m, code == TN_EIO && c->failed);
}

static void answered(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    (void)symbols, (void)count;
    struct pending *lookup = context;
    REQUIRE(lookup->model, lookup->waits);
    lookup->waits = false;
    check_answer(lookup->model, lookup, err);
}

static bool is_running(const struct model *m, int item)
{
    return m->items[item].live && m->items[item].kind == PROMISE && m->items[item].state == RUNNING;
}

/* True if what it waited for before is still being made, since definitions may have intervened. */
static bool still_waits(const struct model *m, const struct pending *lookup)
{
    for (int i = 0; i < lookup->on_count; i++)
        if (is_running(m, lookup->on[i]))
            return true;
    return false;
}

void model_check_waiting(struct model *m)
{
    for (int l = 0; l < PENDING; l++) {
        struct pending *lookup = &m->pending[l];
        if (!lookup->waits)
            continue;
        const struct closure *c = model_close_over(m, lookup);
        REQUIRE(m, c->running || still_waits(m, lookup));
        for (int i = 0; i < c->count && lookup->on_count < (int)COUNT(lookup->on); i++)
            if (is_running(m, c->reached[i]))
                lookup->on[lookup->on_count++] = c->reached[i];
    }
}

/* True if it might have to wait for something that is ended later. */
static bool may_wait(struct model *m)
{
    for (int i = 0; i < m->item_count; i++)
        if (m->items[i].live && m->items[i].kind == PROMISE && m->items[i].plan != SUCCEEDS &&
            m->items[i].plan != FAILS)
            return true;
    return false;
}

static struct pending *free_slot(struct model *m)
{
    for (int i = 0; i < PENDING; i++)
        if (!m->pending[i].waits)
            return &m->pending[i];
    return NULL;
}

void model_look_up(struct model *m, int library)
{
    struct tn_error err;
    struct pending *lookup = free_slot(m);
    if (!lookup)
        return;
    *lookup = (struct pending){.model = m, .library = library, .count = 1 + (int)model_roll(m, 2)};
    for (int i = 0; i < lookup->count; i++) {
        lookup->names[i] = (int)model_roll(m, NAMES);
        lookup->wanted[i].name = model_names[lookup->names[i]];
    }
    model_note(m, "lookup %d in library %d: '%s' '%s'", (int)(lookup - m->pending), library,
               model_names[lookup->names[0]], lookup->count > 1 ? model_names[lookup->names[1]] : "");
    if (may_wait(m) || model_roll(m, 2)) {
        lookup->waits = true;
        assert_ok(tn_lookup_async(m->libraries[library], lookup->wanted, (size_t)lookup->count, answered, lookup, &err),
                  &err);
        return;
    }
    m->active = lookup;
    int code = tn_lookup_all(m->libraries[library], lookup->wanted, (size_t)lookup->count, &err);
    m->active = NULL;
    check_answer(m, lookup, code ? &err : NULL);
}
