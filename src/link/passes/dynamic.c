/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Objects whose thread-local variables may be dynamic (link/tls/tls.h): those to which no code refers but by asking for
 * the place. The scan finds the others, before any object gets its place. */

#include <stdio.h>

#include "link/passes/dynamic.h"
#include "link/passes/steps.h"
#include "link/passes/values.h"
#include "link/tls/tls.h"

/* True for code of the local-dynamic model: it adds the offset to the place that it asks for. */
static bool is_offset(const struct tn__site *site)
{
    return !site->row->slot && site->section->kind == TN__SECTION_CODE;
}

/* True if the code finds a dynamic variable, too (tls.h): it asks for the place, or holds an offset in the object's own
 * thread-local data. */
static bool asks_for_place(const struct tn__site *site, uint8_t flags)
{
    enum { OFFSET_BITS = 32 };
    const struct tn__row *row = site->row;
    if (row->flags & TN__R_PROGRAM || row->slot == TN__SLOT_ADDRESS)
        return false;
    if (is_offset(site))
        return flags & TN__SYMBOL_OWN && row->bits <= OFFSET_BITS;
    return tn__tls_dynamic_descriptor || row->slot == TN__SLOT_TLS_INDEX || row->slot == TN__SLOT_TLS_BASE;
}

/* The code needs a distance: the variables of the symbol's object have to be in the reserve. */
static int need_fixed_place(const struct tn__site *site, uint8_t flags)
{
    struct tn__plan *plan = site->object->plan;
    uint32_t index = site->reloc->symbol;
    const struct tn__entry *entry = site->object->data->symbols[index].entry;
    char name[128] = "";
    if (flags & TN__SYMBOL_OWN || is_offset(site))
        plan->tls_is_fixed = true;
    if (flags & TN__SYMBOL_OWN)
        return 0;
    if (!(flags & TN__SYMBOL_GIVEN)) {
        if (entry && entry->kind == TN__ENTRY_OBJECT)
            entry->object->plan->tls_is_fixed = true;
        return 0;
    }
    if (!tn__tls_is_dynamic(plan->addresses[index]))
        return 0;
    tn__session_lock(site->link->session);
    if (entry->kind == TN__ENTRY_LINKED)
        snprintf(name, sizeof name, "%s", entry->object->name);
    tn__session_pause(site->link->session);
    return tn__site_fail(site, TN_ERANGE,
                         "%s against '%s', whose memory %s gets when a thread asks for it; compile this with -fPIC "
                         "-ftls-model=global-dynamic, or define a larger reserve in the program with TN_TLS_RESERVE",
                         site->row->name, tn__site_symbol(site), name);
}

static int scan(const struct tn__site *site, uint8_t flags)
{
    return asks_for_place(site, flags) ? 0 : need_fixed_place(site, flags);
}

/* The place of _TLS_MODULE_BASE_ is 0. What is asked for then is the object's first place. */
static void fill_slots(const struct tn__object *object)
{
    const struct tn__plan *plan = object->plan;
    const uint32_t *bases = plan->slots[TN__SLOT_TLS_BASE], *descriptors = plan->slots[TN__SLOT_TLS_DESC];
    for (uint32_t i = 0; tn__tls_is_dynamic(plan->tls_offset) && i < object->data->symbol_count; i++) {
        if (bases && bases[i])
            tn__put64(plan->got_write + (size_t)(bases[i] - 1) * 8, TN__TLS_MODULE + plan->tls_offset);
        if (descriptors && descriptors[i] && !plan->addresses[i])
            tn__put64(plan->got_write + (size_t)descriptors[i] * 8, plan->tls_offset);
    }
}

/* An absolute symbol may have such an address, too. */
static bool is_dynamic_offset(const struct tn__site *site, uint64_t S)
{
    uint8_t flags = site->row->flags;
    return flags & TN__R_TLS && !(flags & TN__R_PROGRAM) && tn__tls_is_dynamic(S);
}

/* An offset in thread-local data is that from the object's first place. Debug information may be of another object's
 * variable, and has no place to add it to. */
static int apply(const struct tn__site *site, uint64_t value, uint64_t S, uint64_t P)
{
    const struct tn__steps *steps = site->object->data->format->steps;
    uint64_t own = site->object->plan->tls_offset;
    uint64_t offset = value - (tn__tls_is_dynamic(own) ? own : TN__TLS_DYNAMIC);
    uint8_t *at = site->section->write + site->reloc->offset;
    if (!is_dynamic_offset(site, S) || !tn__value_fits(offset, site->row))
        return tn__fail_range(site, value, S, P);
    if (steps)
        steps->put(site, at, offset);
    else
        tn__put_bytes(at, site->row->size, offset);
    return 0;
}

void tn__session_offer_dynamic(struct tn_session *session)
{
    static const struct tn__dynamic_steps steps = {scan, fill_slots, apply};
    tn__tls_offer_dynamic();
    session->dynamic = &steps;
}
