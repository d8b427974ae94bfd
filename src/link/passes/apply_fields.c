/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Applies the relocations of formats that have other values, or other fields than whole bytes, than ELF for x86-64. A
 * loop of its own, so that programs that link nothing else do not contain this one. */

#include <inttypes.h>

#include "link/passes/steps.h"
#include "link/passes/values.h"

__attribute__((noinline, cold)) static int fail_unit(const struct tn__site *site, const uint8_t *at, uint64_t value)
{
    const struct tn__encoder *encoder = &site->object->data->arch->encoders[site->row->field - TN__FIELDS];
    uint32_t unit = encoder->unit_of ? encoder->unit_of(at) : encoder->zeros + 1;
    return tn__site_fail(site, TN_ERANGE,
                         "%s against '%s' gives 0x%" PRIx64 ", and the instruction can only hold multiples of %" PRIu32
                         "; align what it refers to",
                         site->row->name, tn__site_symbol(site), value, unit);
}

/* Any value. */
TN__INLINE int store(const struct tn__loop *loop, const struct tn__reloc *reloc, const struct tn__row *row, uint8_t *at,
                     uint64_t S, uint64_t P)
{
    uint64_t value = tn__value_of(loop->object, row, reloc, at, S, P);
    if (!tn__value_fits(value, row))
        return tn__apply_far(tn__site_of(loop, reloc, row), at, value, S, P);
    if (row->field < TN__FIELDS)
        tn__put_bytes(at, row->size, value);
    else if (!tn__encode(&loop->encoders[row->field - TN__FIELDS], at, value))
        return fail_unit(tn__site_of(loop, reloc, row), at, value);
    return 0;
}

/* Together with the one before. */
TN__INLINE bool was_rewritten(const struct tn__loop *loop, const struct tn__reloc *reloc, const struct tn__row *row)
{
    return row->relax >= TN__FORM_TRAILS && reloc->offset - loop->site->final < loop->site->final_size;
}

/* The fast path of instructions. False: something is unusual. */
TN__INLINE bool apply_linear(const struct tn__loop *loop, const struct tn__reloc *reloc, const struct tn__row *row,
                             uint8_t *at, uint64_t S, uint64_t P)
{
    if (was_rewritten(loop, reloc, row))
        return true;
    const struct tn__encoder *encoder = &loop->encoders[row->field - TN__FIELDS];
    uint64_t value = tn__linear_value(row, (uint64_t)reloc->addend, S, P);
    return S && tn__within_reach(encoder, value) && tn__encode(encoder, at, value);
}

/* The second half of an address whose first half was applied just before, as nearly all are. False: any other pair. */
TN__INLINE bool complete(const struct tn__loop *loop, const struct tn__reloc *reloc, const struct tn__row *row,
                         uint8_t *at, uint64_t S)
{
    enum { MOST = 4 };
    const struct tn__reloc *half = reloc, *first = reloc - loop->site->block > MOST ? reloc - MOST : loop->site->block;
    do
        if (half-- == first)
            return false;
    while (loop->address + half->offset != S);
    const struct tn__row *begun = &loop->object->data->format->rows[half->type];
    uint64_t target = loop->addresses[half->symbol];
    uint64_t value = tn__linear_value(begun, (uint64_t)half->addend, target, S);
    return begun->linear && S && target && tn__within_reach(&loop->encoders[begun->field - TN__FIELDS], value) &&
           row->field >= TN__FIELDS &&
           tn__encode(&loop->encoders[row->field - TN__FIELDS], at, value + (uint64_t)reloc->addend);
}

TN__INLINE int apply_one(const struct tn__loop *loop, const struct tn__reloc *reloc, const struct tn__row *row)
{
    uint64_t S = loop->addresses[reloc->symbol], P = loop->address + reloc->offset;
    uint8_t *at = tn__place_of(loop, reloc);
    if (row->linear ? apply_linear(loop, reloc, row, at, S, P) : tn__apply_displacement(reloc, row, at, S, P))
        return 0;
    if (row->value == TN__V_AT_S && complete(loop, reloc, row, at, S))
        return 0;
    bool direct = row->direct && !(loop->symbol_flags[reloc->symbol] & TN__SYMBOL_DISCARDED);
    int code = direct ? TN__TO_STORE : tn__apply_unusual(tn__site_of(loop, reloc, row), at, S, P);
    if (code != TN__TO_STORE)
        return code;
    return was_rewritten(loop, reloc, row) ? 0 : store(loop, reloc, row, at, S, P);
}

void tn__put_field(const struct tn__site *site, uint8_t *at, uint64_t value)
{
    tn__field_put(site->object->data->arch, site->row, at, value);
}

int tn__apply_fields(struct tn__link *link, struct tn__object *object, tn__visit_block *begin)
{
    return tn__for_each_reloc(link, object, begin, apply_one, true);
}

const struct tn__steps tn__steps_fields = {TN__STEPS_FIELDS};
