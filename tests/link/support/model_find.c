/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The item that a name is bound to, and what follows from needing it. */

#include "model_state.h"

static bool offers(const struct model *m, int library, int from, uint64_t flags)
{
    int item = m->entry[library][from];
    return item >= 0 && !m->removed[library] && (!m->items[item].hidden || flags & TN_SEARCH_HIDDEN);
}

/* The library whose definition a reference of `library` to a name is bound to; -1: none. */
static int find(struct model *m, int library, int name)
{
    if (m->entry[library][name] >= 0)
        return library;
    int first = -1;
    unsigned offered = 0;
    for (int i = 0; i < m->search_count[library]; i++) {
        int other = m->search[library][i];
        if (other == library || !offers(m, other, name, m->search_flags[library][i]))
            continue;
        offered |= 1U << other;
        if (first < 0)
            first = other;
    }
    if (first >= 0)
        m->found[library][name] |= 1U << first;
    unsigned candidates = m->found[library][name] & offered;
    if (candidates & (candidates - 1))
        m->ambiguous = true;
    return first;
}

int model_resolve(struct model *m, int library, int name)
{
    enum { DEPTH = 64 };
    for (int depth = 0; depth < DEPTH; depth++) {
        int at = m->removed[library] ? -1 : find(m, library, name);
        if (at < 0)
            return -1;
        int item = m->entry[at][name];
        if (m->items[item].kind != ALIAS)
            return item;
        library = m->items[item].to_library;
        name = m->items[item].to_name;
    }
    m->ambiguous = true; /* a cycle in the search order: unspecified whether it is skipped */
    return -1;
}

static void reach(struct model *m, struct closure *c, int library, int name)
{
    int item = model_resolve(m, library, name);
    if (item < 0)
        c->undefined = true;
    else if (!c->seen[item]) {
        c->seen[item] = true;
        c->reached[c->count++] = item;
    }
}

static void follow(struct model *m, struct closure *c)
{
    for (int i = 0; i < c->count; i++) {
        const struct item *item = &m->items[c->reached[i]];
        if (item->kind == PROMISE) {
            c->failed |= item->state == FAILED;
            c->running |= item->state == RUNNING;
            c->fresh |= item->state == NEW;
        } else if (item->kind == OBJECT && !item->linked && item->callee >= 0)
            reach(m, c, item->library, item->callee);
    }
}

struct closure *model_close_over(struct model *m, const struct pending *lookup)
{
    static struct closure c;
    memset(&c, 0, sizeof c);
    for (int i = 0; i < lookup->count; i++) {
        int own = m->entry[lookup->library][lookup->names[i]];
        if (own >= 0 && m->items[own].hidden)
            c.undefined = true; /* for a lookup from outside */
        else
            reach(m, &c, lookup->library, lookup->names[i]);
    }
    follow(m, &c);
    return &c;
}
