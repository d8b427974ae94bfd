/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Pairs of relocations. */

#include "link/core/shrink.h"
#include "link/core/values.h"

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

/* Compilers write relocations in the order of their offsets, with few at one place: it is looked for by bisection. */
static const struct tn__reloc *find_far(const struct tn__site *site, const struct tn__section *section, uint64_t offset,
                                        struct tn__reloc *found)
{
    enum { MOST = 4 };
    uint64_t at =
        TN_BISECT(0, section->reloc_count, i, (tn__relocs_copy(section, i, found, 1), found->offset < offset));
    for (uint64_t end = tn__min64(section->reloc_count, at + MOST); at < end; at++) {
        tn__relocs_copy(section, at, found, 1);
        if (is_other(site, offset, found))
            return found;
    }
    return NULL;
}

static const struct tn__reloc *find_partner(const struct tn__site *site, const struct tn__section *section,
                                            uint64_t offset, struct tn__reloc *found)
{
    const struct tn__reloc *other = section == site->section ? find_near(site, offset) : NULL;
    other = other ? other : find_far(site, section, offset, found);
    bool sound =
        other && (!site->object->data->may_change ||
                  tn__was_scanned(site->object, section, other, &site->object->data->format->rows[other->type]));
    return sound ? other : NULL;
}

/* Of the one at P. The second half of an address that no relative one can be is absolute, as its first half is then. */
static uint64_t partner_value(const struct tn__object *object, const struct tn__section *section,
                              const struct tn__reloc *partner, uint64_t P)
{
    const struct tn__row *row = &object->data->format->rows[partner->type];
    uint64_t S = object->plan->addresses[partner->symbol], absolute = S + (uint64_t)partner->addend;
    if (row->value == TN__V_S_A_P)
        return tn__value_fits(absolute - P, row) ? absolute - P : absolute;
    return tn__value_of(object, row, partner, section->write + partner->offset, S, P);
}

/* The second half of an address whose first half stands just before it, as compilers write them. False: it may be any
 * other pair. */
static bool apply_behind(const struct tn__site *site, uint8_t *at)
{
    enum { MOST = 4 };
    const struct tn__object *object = site->object;
    const struct tn__object_data *data = object->data;
    const struct tn__reloc *reloc = site->reloc, *other = reloc;
    const struct tn__symbol *symbol = &data->symbols[reloc->symbol];
    if (symbol->place != TN__PLACE_SECTION || !(object->plan->symbol_flags[reloc->symbol] & TN__SYMBOL_OWN) ||
        &data->sections[symbol->section] != site->section || data->may_change)
        return false;
    for (int i = 0; i < MOST && other > site->block; i++)
        if ((--other)->offset == symbol->value)
            break;
    const struct tn__row *row = &data->format->rows[other->type];
    if (other->offset != symbol->value || !row->linear || site->row->field < TN__FIELDS)
        return false;
    const struct tn__encoder *encoders = data->arch->encoders;
    uint64_t S = object->plan->addresses[other->symbol], P = site->section->address + symbol->value;
    uint64_t value = tn__linear_value(row, (uint64_t)other->addend, S, P);
    return S && tn__within_reach(&encoders[row->field - TN__FIELDS], value) &&
           tn__encode(&encoders[site->row->field - TN__FIELDS], at, value + (uint64_t)reloc->addend);
}

__attribute__((noinline)) static int apply_any_pair(const struct tn__site *site, uint8_t *at, uint64_t S)
{
    const struct tn__object *object = site->object;
    const struct tn__reloc *reloc = site->reloc;
    const struct tn__symbol *symbol = &object->data->symbols[reloc->symbol];
    const struct tn__section *section = site->section;
    bool at_symbol = site->row->value == TN__V_AT_S;
    if (at_symbol) /* a label of this object, before the first instruction */
        section = symbol->place == TN__PLACE_SECTION && object->plan->symbol_flags[reloc->symbol] & TN__SYMBOL_OWN
                      ? &object->data->sections[symbol->section]
                      : NULL;
    uint64_t offset = at_symbol ? symbol->value : reloc->offset;
    struct tn__reloc found;
    const struct tn__reloc *other = section ? find_partner(site, section, offset, &found) : NULL;
    if (!other)
        return tn__fail(site->link->err, TN_EFORMAT, "%s: %s against '%s' is half of a pair, and the other is missing",
                        tn__site_place(site).text, site->row->name, tn__site_symbol(site));
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

int tn__apply_pair(const struct tn__site *site, uint8_t *at, uint64_t S)
{
    return site->row->value == TN__V_AT_S && apply_behind(site, at) ? 0 : apply_any_pair(site, at, S);
}

const struct tn__steps tn__steps_pairs = {TN__STEPS_ANY, .apply_pair = tn__apply_pair};
