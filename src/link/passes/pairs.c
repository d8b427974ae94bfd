/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Pairs of relocations. */

#include <stdlib.h>

#include "link/passes/steps.h"
#include "link/passes/values.h"

TN__INLINE bool is_partner(const struct tn__row *row, enum tn__value of)
{
    switch (of) {
    case TN__V_MINUEND:
        return row->value == TN__V_SUBTRACT;
    case TN__V_SUBTRACT:
        return row->value == TN__V_MINUEND;
    default:
        return row->value > TN__V_NONE && row->value < TN__V_AT_S;
    }
}

/* True for the other relocation of a pair, which stands at `offset`. */
TN__INLINE bool is_other(const struct tn__site *site, uint64_t offset, const struct tn__reloc *reloc)
{
    const struct tn_format *format = site->object->data->format;
    return reloc->offset == offset && reloc->type < format->row_count &&
           is_partner(&format->rows[reloc->type], site->row->value);
}

/* It nearly always is one of the last ones, or the next one. */
static const struct tn__reloc *find_near(const struct tn__site *site, uint64_t offset)
{
    enum { MOST = 16 };
    const struct tn__reloc *reloc = site->reloc;
    if (reloc + 1 < site->end && is_other(site, offset, reloc + 1))
        return reloc + 1;
    for (int i = 0; i < MOST && reloc > site->block; i++)
        if (is_other(site, offset, --reloc))
            return reloc;
    return NULL;
}

/* Relocations of one place keep their order. */
struct numbered {
    struct tn__reloc reloc;
    uint64_t number;
};

static int by_offset(const void *a, const void *b)
{
    const struct numbered *p = a, *q = b;
    if (p->reloc.offset != q->reloc.offset)
        return p->reloc.offset < q->reloc.offset ? -1 : 1;
    return p->number < q->number ? -1 : p->number > q->number;
}

static bool sort(struct tn__link *link, struct tn__reloc *relocs, uint64_t count)
{
    struct numbered *all = tn__arena_array(&link->arena, count, sizeof *all);
    for (uint64_t i = 0; all && i < count; i++)
        all[i] = (struct numbered){relocs[i], i};
    if (all)
        qsort(all, count, sizeof *all, by_offset);
    for (uint64_t i = 0; all && i < count; i++)
        relocs[i] = all[i].reloc;
    return all;
}

struct tn__reloc *tn__relocs_in_order(struct tn__link *link, const struct tn__input_section *section)
{
    uint64_t count = section->reloc_count;
    struct tn__reloc *relocs =
        tn__arena_alloc(&link->arena, count * sizeof *relocs); /* as many bytes are there already */
    bool sorted = true;
    if (relocs && count) /* without relocations, a section has no table */
        tn__relocs_copy(section, 0, relocs, count);
    for (uint64_t i = 1; relocs && sorted && i < count; i++)
        sorted = relocs[i - 1].offset <= relocs[i].offset;
    return sorted || sort(link, relocs, count) ? relocs : NULL;
}

/* By bisection. Few stand at one place. */
static bool bisect(const struct tn__site *site, const struct tn__input_section *section, uint64_t offset,
                   struct tn__reloc *found)
{
    enum { MOST = 4 };
    uint64_t at =
        TN_BISECT(0, section->reloc_count, i, (tn__relocs_copy(section, i, found, 1), found->offset < offset));
    for (uint64_t end = tn__min64(section->reloc_count, at + MOST); at < end; at++) {
        tn__relocs_copy(section, at, found, 1);
        if (is_other(site, offset, found))
            return true;
    }
    return false;
}

/* Compilers write relocations in the order of their offsets. Those in another one are copied, once for each section,
 * when one is not found. *other is NULL if there is none. TN_ENOMEM. */
static int find_far(const struct tn__site *site, const struct tn__input_section *section, uint64_t offset,
                    struct tn__reloc *found, const struct tn__reloc **other)
{
    const struct tn__object_data *data = site->object->data;
    struct tn__plan *plan = site->object->plan;
    size_t index = (size_t)(section - data->sections);
    *other = bisect(site, section, offset, found) ? found : NULL;
    if (*other)
        return 0;
    if (!plan->in_order)
        plan->in_order = tn__arena_array(&site->link->arena, data->section_count, sizeof(struct tn__reloc *));
    if (plan->in_order && !plan->in_order[index])
        plan->in_order[index] = tn__relocs_in_order(site->link, section);
    if (!plan->in_order || !plan->in_order[index])
        return tn__no_memory(site->link->err, site->object->name);
    struct tn__input_section sorted = *section;
    sorted.relocs = (const uint8_t *)plan->in_order[index];
    *other = bisect(site, &sorted, offset, found) ? found : NULL;
    return 0;
}

/* *other is NULL if there is none. TN_ENOMEM. */
static int find_partner(const struct tn__site *site, const struct tn__input_section *section, uint64_t offset,
                        struct tn__reloc *found, const struct tn__reloc **other)
{
    *other = section == site->section ? find_near(site, offset) : NULL;
    int code = *other ? 0 : find_far(site, section, offset, found, other);
    if (!code && *other && site->object->data->may_change &&
        !tn__was_scanned(site->object, section, *other, &site->object->data->format->rows[(*other)->type]))
        *other = NULL;
    return code;
}

/* Of the one at P. The second half of an address that no relative one can be is absolute, as its first half is then. */
static uint64_t partner_value(const struct tn__object *object, const struct tn__input_section *section,
                              const struct tn__reloc *partner, uint64_t P)
{
    const struct tn__row *row = &object->data->format->rows[partner->type];
    uint64_t S = object->plan->addresses[partner->symbol], absolute = S + (uint64_t)partner->addend;
    if (row->value == TN__V_S_A_P)
        return tn__value_fits(absolute - P, row) ? absolute - P : absolute;
    return tn__value_of(object, row, partner, section->write + partner->offset, S, P);
}

int tn__apply_pair(const struct tn__site *site, uint8_t *at, uint64_t S)
{
    const struct tn__object *object = site->object;
    const struct tn__reloc *reloc = site->reloc;
    const struct tn__symbol *symbol = &object->data->symbols[reloc->symbol];
    const struct tn__input_section *section = site->section;
    bool at_symbol = site->row->value == TN__V_AT_S;
    if (at_symbol) /* a label of this object, before the first instruction */
        section = symbol->place == TN__PLACE_SECTION && object->plan->symbol_flags[reloc->symbol] & TN__SYMBOL_OWN
                      ? &object->data->sections[symbol->section]
                      : NULL;
    uint64_t offset = at_symbol ? symbol->value : reloc->offset;
    struct tn__reloc found;
    const struct tn__reloc *other = NULL;
    int code = section ? find_partner(site, section, offset, &found, &other) : 0;
    if (code)
        return code;
    if (!other)
        return tn__site_fail(site, TN_EFORMAT, "%s against '%s' is half of a pair, and the other is missing",
                             site->row->name, tn__site_symbol(site));
    if (site->row->value == TN__V_MINUEND)
        return 0;
    uint64_t value = partner_value(object, section, other, section->address + offset), A = (uint64_t)reloc->addend;
    value = at_symbol ? value + A : value - (S + A);
    if (site->row->field != TN__F_ULEB128)
        tn__field_put(object->data->arch, site->row, at, value);
    else if (!tn__field_put_uleb(at, site->section->size - reloc->offset, value))
        return tn__fail_range(site, value, S, site->section->address + reloc->offset);
    return 0;
}

const struct tn__steps tn__steps_pairs = {TN__STEPS_FIELDS, .apply_pair = tn__apply_pair};
