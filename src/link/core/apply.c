/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The second scan over an object's relocations, when everything has its address: computes the values and stores them.
 * Also fills the GOT, stubs and pointers of indirect functions. */

#include <inttypes.h>

#include "link/core/reloc_loop.h"
#include "link/tls/tls.h"

static bool fits(uint64_t value, const struct tn__row *row)
{
    if (row->flags & TN__R_ROUNDED)
        value += 0x800;
    bool as_signed = (row->flags & TN__R_SIGNED) && (value + (1ULL << (row->bits - 1))) >> row->bits == 0;
    if (as_signed)
        return true;
    bool as_unsigned = (row->flags & TN__R_UNSIGNED) && value >> row->bits == 0;
    return as_unsigned || !(row->flags & (TN__R_SIGNED | TN__R_UNSIGNED));
}

static uint64_t page_of(uint64_t address)
{
    return address & ~(uint64_t)0xfff;
}

static uint64_t value_of(const struct tn__site *site, uint64_t S, uint64_t P)
{
    const struct tn__object *object = site->object;
    const struct tn__row *row = site->row;
    uint32_t symbol = site->reloc->symbol;
    uint64_t A = (uint64_t)site->reloc->addend, F = 0;
    switch (row->value) {
    case TN__V_S_A:
    case TN__V_MINUEND:
        return S + A;
    case TN__V_S_A_P:
        return S + A - P;
    case TN__V_BRANCH:
        return S || object->data->symbols[symbol].place != TN__PLACE_UNDEFINED ? S + A - P : 4 + A;
    case TN__V_S_A_GOT:
        return S + A - object->plan->got_address;
    case TN__V_G_A:
        return tn__got_slot(object, row->slot, symbol) + A;
    case TN__V_G_A_P:
        return tn__got_slot(object, row->slot, symbol) + A - P;
    case TN__V_G_A_GOT:
        return tn__got_slot(object, row->slot, symbol) + A - object->plan->got_address;
    case TN__V_GOT_A_P:
        return object->plan->got_address + A - P;
    case TN__V_Z_A:
        return object->data->symbols[symbol].size + A;
    case TN__V_PAGE_S_A_P:
        return page_of(S + A) - page_of(P);
    case TN__V_PAGE_G_A_P:
        return page_of(tn__got_slot(object, row->slot, symbol) + A) - page_of(P);
    case TN__V_G_A_PAGE_GOT:
        return tn__got_slot(object, row->slot, symbol) + A - page_of(object->plan->got_address);
    case TN__V_F_S_A:
    case TN__V_F_MINUS:
        memcpy(&F, site->section->write + site->reloc->offset, row->size);
        return row->value == TN__V_F_S_A ? F + S + A : F - (S + A);
    case TN__V_S_A_BASE:
        return S + A - object->plan->addresses[object->data->base];
    case TN__V_S_A_SECTION:
        return S + A - object->data->sections[object->data->symbols[symbol].section].address;
    case TN__V_SECTION_A:
        return object->data->symbols[symbol].section + A;
    default:
        return 0;
    }
}

static bool put_field(const struct tn__site *site, uint8_t *at, uint64_t value)
{
    const struct tn__row *row = site->row;
    if (row->field == TN__F_LE32) /* nearly always: a store instead of a call */
        tn__put32(at, (uint32_t)value);
    else if (row->field == TN__F_LE64)
        tn__put64(at, value);
    else
        return tn__field_put(site->object->data->arch, row, at, site->section->size - site->reloc->offset, value);
    return true;
}

static int fail_range(const struct tn__site *site, uint64_t value, uint64_t S, uint64_t P)
{
    const struct tn__row *row = site->row;
    bool absolute = row->flags & TN__R_LOW;
    return tn__fail(site->link->err, TN_ERANGE,
                    "%s: %s against '%s' is out of range: from 0x%" PRIx64 " to 0x%" PRIx64 " gives %s0x%" PRIx64
                    ", the limit is %u bits %s; %s",
                    tn__site_place(site).text, row->name, tn__site_symbol(site), P, S, (int64_t)value < 0 ? "-" : "",
                    (int64_t)value < 0 ? -value : value, row->bits,
                    !(row->flags & TN__R_UNSIGNED) ? "signed"
                    : row->flags & TN__R_SIGNED    ? "signed or unsigned"
                                                   : "unsigned",
                    absolute ? "compile it with -fPIC, or keep program and window below 2 GiB"
                             : "compile it with -fPIC, or open the session with window_near at what it refers to");
}

/* What values of the field are multiples of. */
static uint32_t unit_of(const struct tn__site *site, const uint8_t *at)
{
    if (site->row->field < TN__FIELDS)
        return 1;
    const struct tn__encoder *encoder = &site->object->data->arch->encoders[site->row->field - TN__FIELDS];
    return encoder->unit_of ? encoder->unit_of(at) : encoder->unit ? encoder->unit : 1;
}

static int fail_unit(const struct tn__site *site, uint64_t value, uint32_t unit)
{
    return tn__fail(site->link->err, TN_ERANGE,
                    "%s: %s against '%s' gives 0x%" PRIx64 ", and the instruction can only hold multiples of %" PRIu32
                    "; align what it refers to",
                    tn__site_place(site).text, site->row->name, tn__site_symbol(site), value, unit);
}

/* The last resort when a value does not fit: a branch may go through its stub. */
static int apply_far(const struct tn__site *site, uint8_t *at, uint64_t value, uint64_t P)
{
    const struct tn__object *object = site->object;
    const struct tn__reloc *reloc = site->reloc;
    if (site->row->flags & TN__R_STUB && object->plan->stub_index && object->plan->stub_index[reloc->symbol]) {
        uint64_t near = value_of(site, tn__stub_address(object, reloc->symbol), P);
        if (fits(near, site->row)) {
            put_field(site, at, near);
            return 0;
        }
    }
    return fail_range(site, value, object->plan->addresses[reloc->symbol], P);
}

/* The second scan trusts what the first one has checked. The bytes of a mapped file may have changed since. */
static bool was_scanned(const struct tn__object *object, const struct tn__section *section,
                        const struct tn__reloc *reloc, const struct tn__row *row)
{
    if (row->value <= TN__V_NONE)
        return row->value == TN__V_NONE;
    if (reloc->symbol >= object->data->symbol_count || !tn__inside(reloc->offset, row->size, section->size))
        return false;
    const uint32_t *slots = object->plan->slots[row->slot];
    return !row->slot || (slots && slots[reloc->symbol]);
}

/* ---- pairs of relocations ---- */

static bool is_partner(const struct tn__row *row, enum tn__value of)
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

/* The other relocation of a pair, which stands at `offset` of a section. Compilers write relocations in the order of
 * their offsets, with few at one place: it is looked for by bisection. */
static bool find_partner(const struct tn__site *site, const struct tn__section *section, uint64_t offset,
                         struct tn__reloc *found)
{
    enum { MOST = 4 };
    const struct tn_format *format = site->object->data->format;
    uint64_t at =
        TN_BISECT(0, section->reloc_count, i, (tn__relocs_copy(section, i, found, 1), found->offset < offset));
    for (uint64_t end = tn__min64(section->reloc_count, at + MOST); at < end; at++) {
        tn__relocs_copy(section, at, found, 1);
        if (found->offset != offset)
            return false;
        if (found->type < format->row_count && is_partner(&format->rows[found->type], site->row->value))
            return was_scanned(site->object, section, found, &format->rows[found->type]);
    }
    return false;
}

/* The second half of an address that no relative one can be is absolute, as its first half is then. */
static uint64_t partner_value(const struct tn__site *partner, uint64_t P)
{
    uint64_t S = partner->object->plan->addresses[partner->reloc->symbol], value = value_of(partner, S, P);
    return partner->row->value != TN__V_S_A_P || fits(value, partner->row) ? value
                                                                           : S + (uint64_t)partner->reloc->addend;
}

static int apply_pair(const struct tn__site *site, uint8_t *at, uint64_t S)
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
    struct tn__reloc other;
    if (!section || !find_partner(site, section, offset, &other))
        return tn__fail(site->link->err, TN_EFORMAT, "%s: %s against '%s' is half of a pair, and the other is missing",
                        tn__site_place(site).text, site->row->name, tn__site_symbol(site));
    if (site->row->value == TN__V_MINUEND)
        return 0;
    const struct tn__site partner = {site->link, site->object, section, &other,
                                     &object->data->format->rows[other.type]};
    uint64_t value = partner_value(&partner, section->address + offset), A = (uint64_t)reloc->addend;
    value = at_symbol ? value + A : value - (S + A);
    return put_field(site, at, value) ? 0 : fail_range(site, value, S, site->section->address + reloc->offset);
}

/* The function that a descriptor calls is one of this process. The loader of a file supplies another. */
static bool lacks_descriptor(const struct tn__site *site)
{
    return site->row->slot == TN__SLOT_TLS_DESC && tn__session_is_elsewhere(site->link->session) &&
           !site->object->plan->tls_apart;
}

static bool relax(const struct tn__site *site, uint8_t *at, uint64_t S, uint64_t P)
{
    const struct tn__reloc *reloc = site->reloc;
    const struct tn__arch *arch = site->object->data->arch;
    if (site->row->flags & TN__R_TLS && site->object->plan->tls_apart)
        return false;
    const struct tn__sequence group = {
        .form = site->row->relax,
        .next = arch->note ? tn__form_behind(site->object->data->format, reloc, reloc + 1) : 0,
        .notes = site->section->notes,
        .field = at,
        .before = reloc->offset,
        .after = site->section->size - reloc->offset,
        .S = S,
        .P = P,
        .A = reloc->addend};
    return arch->relax(&group) != 0;
}

/* Any relocation. */
__attribute__((noinline)) static int apply(const struct tn__site *site)
{
    const struct tn__object *object = site->object;
    const struct tn__reloc *reloc = site->reloc;
    const struct tn__row *row = site->row;
    if (row->value == TN__V_NONE)
        return 0;
    uint8_t *at = site->section->write + reloc->offset;
    if (object->plan->symbol_flags[reloc->symbol] & TN__SYMBOL_DISCARDED) {
        put_field(site, at, 0); /* unwinders skip a function that begins at 0 */
        return 0;
    }
    uint64_t P = site->section->address + reloc->offset, S = object->plan->addresses[reloc->symbol];
    if (row->value >= TN__V_AT_S)
        return apply_pair(site, at, S);
    if (row->relax && relax(site, at, S, P))
        return 0;
    if (lacks_descriptor(site))
        return tn__fail(site->link->err, TN_ENOTSUP,
                        "%s: %s against '%s': TLS descriptors call a function of the process they are linked in",
                        tn__site_place(site).text, row->name, tn__site_symbol(site));
    uint64_t value = value_of(site, S, P);
    if (!fits(value, row))
        return apply_far(site, at, value, P);
    uint32_t unit = unit_of(site, at);
    if (value & (unit - 1))
        return fail_unit(site, value, unit);
    put_field(site, at, value);
    return 0;
}

__attribute__((noinline)) static int check_again(const struct tn__loop *loop, const struct tn__reloc *relocs,
                                                 size_t count)
{
    static const struct tn__row unknown = {.value = TN__V_UNKNOWN};
    const struct tn_format *format = loop->object->data->format;
    for (size_t i = 0; i < count; i++) {
        const struct tn__row *row = relocs[i].type < format->row_count ? &format->rows[relocs[i].type] : &unknown;
        const struct tn__site site = tn__site_of(loop, &relocs[i], row);
        if (!was_scanned(loop->object, loop->section, &relocs[i], row))
            return tn__fail(loop->link->err, TN_EFORMAT, "%s: the file has changed while it was linked",
                            tn__site_place(&site).text);
    }
    return 0;
}

/* The fast path: nearly all are displacements within range. */
TN__INLINE int apply_one(const struct tn__loop *loop, const struct tn__reloc *reloc, const struct tn__row *row)
{
    uint64_t value = loop->addresses[reloc->symbol] + (uint64_t)reloc->addend - (loop->address + reloc->offset);
    if (__builtin_expect(row->displacement && value == (uint64_t)(int64_t)(int32_t)value &&
                             !(loop->symbol_flags[reloc->symbol] & TN__SYMBOL_DISCARDED),
                         1)) {
        tn__put32(loop->write + reloc->offset, (uint32_t)value);
        return 0;
    }
    const struct tn__site site = tn__site_of(loop, reloc, row);
    return apply(&site);
}

static uint64_t ifunc_pointer(const struct tn__object *object, uint32_t symbol)
{
    return object->plan->data_address + object->plan->ifunc_offset +
           (uint64_t)(object->plan->ifunc_index[symbol] - 1) * 8;
}

static void fill_got(const struct tn__link *link, const struct tn__object *object)
{
    uint64_t descriptor = tn__session_is_elsewhere(link->session) ? 0 : (uintptr_t)tn__tls_descriptor;
    const struct tn__plan *plan = object->plan;
    for (int kind = TN__SLOT_ADDRESS; kind < TN__SLOTS; kind++)
        for (uint32_t i = 0; plan->slots[kind] && i < object->data->symbol_count; i++) {
            if (!plan->slots[kind][i])
                continue;
            uint8_t *at = plan->got_write + (size_t)(plan->slots[kind][i] - 1) * 8;
            if (kind == TN__SLOT_ADDRESS)
                tn__put64(at, plan->addresses[i]);
            else
                tn__tls_fill_slot(at, kind, plan->addresses[i], descriptor);
        }
}

static void write_stubs(const struct tn__object *object)
{
    const struct tn__plan *plan = object->plan;
    for (uint32_t i = 0; i < object->data->symbol_count; i++) {
        if (!plan->stub_index[i])
            continue;
        uint64_t at = tn__stub_address(object, i);
        bool ifunc = plan->ifunc_index && plan->ifunc_index[i];
        object->data->arch->write_stub(plan->stub_write + (at - plan->stub_address), at,
                                       ifunc ? ifunc_pointer(object, i) : tn__got_slot(object, TN__SLOT_ADDRESS, i));
    }
}

static uint64_t ifunc_resolver(const struct tn__object *object, uint32_t symbol)
{
    const struct tn__symbol *function = &object->data->symbols[symbol];
    return object->data->sections[function->section].address + function->value;
}

/* The value until the resolvers run; in another address space, for good. */
static void store_ifunc_resolvers(const struct tn__object *object)
{
    const struct tn__plan *plan = object->plan;
    for (uint32_t i = 0; i < object->data->symbol_count; i++)
        if (plan->ifunc_index[i])
            tn__put64(plan->data_write + (ifunc_pointer(object, i) - plan->data_address), ifunc_resolver(object, i));
}

void tn__object_fill_ifuncs(const struct tn__object *object)
{
    for (uint32_t i = 0; object->plan->ifunc_count && i < object->data->symbol_count; i++)
        if (object->plan->ifunc_index[i]) {
            uint64_t target = ((uint64_t(*)(void))(uintptr_t)ifunc_resolver(object, i))();
            tn__put64((void *)(uintptr_t)ifunc_pointer(object, i), target);
        }
}

/* After relocation, because that may make the table malformed, too. */
static int check_unwind_data(struct tn__link *link, const struct tn__object *object)
{
    for (uint32_t i = 0; i < object->data->section_count; i++) {
        const struct tn__section *section = &object->data->sections[i];
        if (section->role == TN__ROLE_UNWIND && tn__section_is_loaded(section) &&
            !tn__unwind_data_is_sound(section->write, section->size))
            return tn__fail(link->err, TN_EFORMAT, "%s: section %" PRIu32 " (%s): malformed unwind data",
                            object->data->name, i, section->name);
    }
    return 0;
}

int tn__object_apply(struct tn__link *link, struct tn__object *object)
{
    if (object->plan->got_words)
        fill_got(link, object);
    if (object->plan->stub_count)
        write_stubs(object);
    if (object->plan->ifunc_count)
        store_ifunc_resolvers(object);
    tn__visit_block *begin = object->data->may_change ? check_again : NULL;
    int code = tn__for_each_reloc(link, object, begin, apply_one);
    /* Tables for another address space are not registered with this process's unwinder. */
    return code || tn__session_is_elsewhere(link->session) ? code : check_unwind_data(link, object);
}
