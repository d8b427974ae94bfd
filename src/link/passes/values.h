/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The values of relocations: for apply.c and apply_fields.c, which compute one for nearly each of them, and for
 * pairs.c. */

#ifndef TENON_VALUES_H
#define TENON_VALUES_H

#include "link/passes/reloc_loop.h"

#pragma GCC visibility push(hidden)

/* True if the row's field has space for a value. */
static inline bool tn__value_fits(uint64_t value, const struct tn__row *row)
{
    if (!(row->flags & (TN__R_SIGNED | TN__R_UNSIGNED)))
        return true;
    if (__builtin_expect(row->flags & TN__R_ROUNDED, 0))
        value += 0x800;
    unsigned above = -row->bits & 63U;
    bool as_signed = (row->flags & TN__R_SIGNED) && (uint64_t)((int64_t)(value << above) >> above) == value;
    return as_signed || ((row->flags & TN__R_UNSIGNED) && value >> row->bits == 0);
}

/* What the field, of 1, 2, 4 or 8 bytes, holds so far. */
static inline uint64_t tn__field_value(const uint8_t *at, unsigned size)
{
    if (size == 4)
        return tn__get32(at);
    if (size == 8)
        return tn__get64(at);
    return size == 1 ? *at : tn__get16(at);
}

static inline uint64_t tn__page_of(uint64_t address)
{
    return address & ~(uint64_t)0xfff;
}

/* The size of the definition that a symbol is bound to, which the scan has found in this link (apply.c). */
uint64_t tn__size_of(const struct tn__symbol *symbol);

/* What the row says, of values up to TN__V_LAST_COMMON. S is the symbol's address, P that of the field. */
static inline uint64_t tn__common_value(const struct tn__object *object, const struct tn__row *row,
                                        const struct tn__reloc *reloc, uint64_t S, uint64_t P)
{
    uint64_t A = (uint64_t)reloc->addend;
    switch (row->value) {
    case TN__V_S_A:
        return S + A;
    case TN__V_S_A_P:
        return S + A - P;
    case TN__V_S_A_GOT:
        return S + A - object->plan->got_address;
    case TN__V_G_A_P:
        return tn__got_slot(object, row->slot, reloc->symbol) + A - P;
    case TN__V_G_A_GOT:
        return tn__got_slot(object, row->slot, reloc->symbol) + A - object->plan->got_address;
    case TN__V_GOT_A_P:
        return object->plan->got_address + A - P;
    case TN__V_Z_A:
        return tn__size_of(&object->data->symbols[reloc->symbol]) + A;
    default:
        return 0;
    }
}

/* Of any value; the field begins at `at`. */
static inline uint64_t tn__value_of(const struct tn__object *object, const struct tn__row *row,
                                    const struct tn__reloc *reloc, const uint8_t *at, uint64_t S, uint64_t P)
{
    uint32_t symbol = reloc->symbol;
    uint64_t A = (uint64_t)reloc->addend;
    if (row->value == TN__V_S_A) /* the most frequent ones: not by a table of jumps */
        return S + A;
    if (row->value == TN__V_S_A_P)
        return S + A - P;
    if (row->value == TN__V_F_S_A)
        return tn__field_value(at, row->size) + (S + A);
    if (row->value == TN__V_F_MINUS)
        return tn__field_value(at, row->size) - (S + A);
    switch (row->value) {
    case TN__V_MINUEND:
        return S + A;
    case TN__V_BRANCH:
        return S || object->data->symbols[symbol].place != TN__PLACE_UNDEFINED ? S + A - P : 4 + A;
    case TN__V_G_A:
        return tn__got_slot(object, row->slot, symbol) + A;
    case TN__V_PAGE_S_A_P:
        return tn__page_of(S + A) - tn__page_of(P);
    case TN__V_PAGE_G_A_P:
        return tn__page_of(tn__got_slot(object, row->slot, symbol) + A) - tn__page_of(P);
    case TN__V_G_A_PAGE_GOT:
        return tn__got_slot(object, row->slot, symbol) + A - tn__page_of(object->plan->got_address);
    case TN__V_S_A_BASE:
        return S + A - object->plan->addresses[object->data->base];
    case TN__V_S_A_SECTION:
        return S + A - object->data->sections[object->data->symbols[symbol].section].address;
    case TN__V_SECTION_A:
        return object->data->symbols[symbol].section + A;
    default:
        return tn__common_value(object, row, reloc, S, P);
    }
}

/* Of rows that are linear. S is not 0: see TN__V_BRANCH. */
static inline uint64_t tn__linear_value(const struct tn__row *row, uint64_t A, uint64_t S, uint64_t P)
{
    uint64_t value = S + A;
    if (!row->relative)
        return value;
    return row->paged ? tn__page_of(value) - tn__page_of(P) : value - P;
}

/* True if the value fits every linear row with this field. */
static inline bool tn__within_reach(const struct tn__encoder *encoder, uint64_t value)
{
    return (value + encoder->plus + encoder->reach) >> 1 < encoder->reach;
}

/* No pointer arithmetic: what changes nothing (TN__V_NONE) may stand outside its section. */
TN__INLINE uint8_t *tn__place_of(const struct tn__loop *loop, const struct tn__reloc *reloc)
{
    return (uint8_t *)((uintptr_t)loop->write + reloc->offset);
}

/* The fast path: on x86-64, nearly all are displacements within range. False: this one is not, or S is 0, as that of
 * every discarded symbol. */
TN__INLINE bool tn__apply_displacement(const struct tn__reloc *reloc, const struct tn__row *row, uint8_t *at,
                                       uint64_t S, uint64_t P)
{
    uint64_t value = S + (uint64_t)reloc->addend - P;
    if (__builtin_expect(row->displacement && value == (uint64_t)(int64_t)(int32_t)value && S, 1)) {
        tn__put32(at, (uint32_t)value);
        return true;
    }
    return false;
}

#pragma GCC visibility pop
#endif
