/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The second scan over an object's relocations, when everything has its address: computes the values and stores them.
 * Also fills the GOT, stubs and pointers of indirect functions. */

#include <inttypes.h>

#include "link/passes/dynamic.h"
#include "link/passes/steps.h"
#include "link/passes/values.h"
#include "link/tls/tls.h"

static void put_field(const struct tn__site *site, uint8_t *at, uint64_t value)
{
    const struct tn__steps *steps = site->object->data->format->steps;
    if (steps)
        steps->put(site, at, value);
    else
        tn__put_bytes(at, site->row->size, value);
}

uint64_t tn__size_of(const struct tn__symbol *symbol)
{
    const struct tn__entry *entry = symbol->entry;
    if (!entry || entry->kind != TN__ENTRY_OBJECT)
        return symbol->size;
    return tn__strength_is_common(entry->strength) ? entry->common_size
                                                   : entry->object->data->symbols[entry->symbol].size;
}

int tn__fail_range(const struct tn__site *site, uint64_t value, uint64_t S, uint64_t P)
{
    const struct tn__row *row = site->row;
    bool absolute = row->flags & TN__R_LOW;
    return tn__site_fail(site, TN_ERANGE,
                         "%s against '%s' is out of range: from 0x%" PRIx64 " to 0x%" PRIx64 " gives %s0x%" PRIx64
                         ", the limit is %u bits %s; %s",
                         row->name, tn__site_symbol(site), P, S, (int64_t)value < 0 ? "-" : "",
                         (int64_t)value < 0 ? -value : value, row->bits,
                         !(row->flags & TN__R_UNSIGNED) ? "signed"
                         : row->flags & TN__R_SIGNED    ? "signed or unsigned"
                                                        : "unsigned",
                         absolute ? "compile it with -fPIC, or keep program and window below 2 GiB"
                                  : "compile it with -fPIC, or open the session with window_near at what it refers to");
}

static int fail_descriptor(const struct tn__site *site)
{
    return tn__site_fail(site, TN_ENOTSUP,
                         "%s against '%s': TLS descriptors call a function of the process they are linked in",
                         site->row->name, tn__site_symbol(site));
}

static inline struct tn__sequence sequence_at(const struct tn__site *site, uint8_t *at, uint64_t S, uint64_t P,
                                              uint32_t next)
{
    return (struct tn__sequence){.form = site->row->relax,
                                 .next = next,
                                 .notes = site->section->notes,
                                 .field = at,
                                 .before = site->reloc->offset,
                                 .after = site->section->size - site->reloc->offset,
                                 .S = S,
                                 .P = P,
                                 .A = site->reloc->addend};
}

/* False: it stays as it is. */
static bool relax(struct tn__site *site, uint8_t *at, uint64_t S, uint64_t P)
{
    const struct tn__reloc *reloc = site->reloc;
    const struct tn__arch *arch = site->object->data->arch;
    uint32_t next = tn__site_next_form(site);
    if (!next && site->row->relax >= TN__FORM_LEADS)
        return false;
    if (site->row->flags & TN__R_TLS && site->object->plan->tls_apart)
        return false;
    if (site->row->slot == TN__SLOT_TLS_DESC && site->link->session->any_threads)
        return false;
    const struct tn__sequence code = sequence_at(site, at, S, P, next);
    site->final = reloc->offset;
    site->final_size = arch->relax(&code);
    return site->final_size != 0;
}

/* The function that a descriptor calls is one of this process. The loader of a file supplies another. */
static bool lacks_descriptor(const struct tn__site *site)
{
    return site->row->slot == TN__SLOT_TLS_DESC && tn__session_is_elsewhere(site->link->session) &&
           !site->object->plan->tls_apart;
}

bool tn__was_scanned(const struct tn__object *object, const struct tn__input_section *section,
                     const struct tn__reloc *reloc, const struct tn__row *row)
{
    if (reloc->symbol >= object->data->symbol_count)
        return false;
    if (row->value <= TN__V_NONE)
        return row->value == TN__V_NONE;
    if (!tn__inside(reloc->offset, row->size, section->size))
        return false;
    const uint32_t *slots = object->plan->slots[row->slot];
    return !row->slot || (slots && slots[reloc->symbol]);
}

__attribute__((cold)) int tn__apply_unusual(struct tn__site *site, uint8_t *at, uint64_t S, uint64_t P)
{
    const struct tn__object *object = site->object;
    const struct tn__row *row = site->row;
    if (row->value == TN__V_NONE)
        return 0;
    if (object->plan->symbol_flags[site->reloc->symbol] & TN__SYMBOL_DISCARDED) {
        put_field(site, at, 0); /* unwinders skip a function that begins at 0 */
        return 0;
    }
    if (row->value >= TN__V_AT_S)
        return object->data->format->steps->apply_pair(site, at, S);
    if (row->relax && relax(site, at, S, P))
        return 0;
    return lacks_descriptor(site) ? fail_descriptor(site) : TN__TO_STORE;
}

/* A branch may go through its stub. 0: there is none. */
static uint64_t stub_of(const struct tn__site *site)
{
    const struct tn__object *object = site->object;
    uint32_t symbol = site->reloc->symbol;
    bool has_stub = site->row->flags & TN__R_STUB && object->plan->stub_index && object->plan->stub_index[symbol];
    return has_stub ? tn__stub_address(object, symbol) : 0;
}

/* It is a distance from the field, if there is a stub. */
__attribute__((cold)) int tn__apply_far(struct tn__site *site, uint8_t *at, uint64_t value, uint64_t S, uint64_t P)
{
    uint64_t stub = stub_of(site), near = value - S + stub;
    const struct tn__sequence code = sequence_at(site, at, S, P, 0);
    if (site->row->relax >= TN__FORM_FAR && site->object->data->arch->relax(&code))
        return 0;
    if (stub && tn__value_fits(near, site->row)) {
        put_field(site, at, near);
        return 0;
    }
    return (site->link->dynamic ? site->link->dynamic->apply : tn__fail_range)(site, value, S, P);
}

/* A value in whole bytes, as all of ELF for x86-64. */
static int store(struct tn__site *site, uint8_t *at, uint64_t S, uint64_t P)
{
    uint64_t value = tn__common_value(site->object, site->row, site->reloc, S, P);
    if (!tn__value_fits(value, site->row))
        return tn__apply_far(site, at, value, S, P);
    tn__put_bytes(at, site->row->size, value);
    return 0;
}

__attribute__((noinline)) static int check_again(const struct tn__loop *loop, const struct tn__reloc *relocs,
                                                 size_t count)
{
    static const struct tn__row unknown = {.value = TN__V_UNKNOWN};
    const struct tn_format *format = loop->object->data->format;
    for (size_t i = 0; i < count; i++) {
        const struct tn__row *row = relocs[i].type < format->row_count ? &format->rows[relocs[i].type] : &unknown;
        if (!tn__was_scanned(loop->object, loop->section, &relocs[i], row))
            return tn__site_fail(tn__site_of(loop, &relocs[i], row), TN_EFORMAT,
                                 "the file has changed while it was linked");
    }
    return 0;
}

TN__INLINE int apply_one(const struct tn__loop *loop, const struct tn__reloc *reloc, const struct tn__row *row)
{
    uint64_t S = loop->addresses[reloc->symbol], P = loop->address + reloc->offset;
    uint8_t *at = tn__place_of(loop, reloc);
    if (tn__apply_displacement(reloc, row, at, S, P))
        return 0;
    struct tn__site *site = tn__site_of(loop, reloc, row);
    bool direct = row->direct && !(loop->symbol_flags[reloc->symbol] & TN__SYMBOL_DISCARDED);
    int code = direct ? TN__TO_STORE : tn__apply_unusual(site, at, S, P);
    return code == TN__TO_STORE ? store(site, at, S, P) : code;
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
                tn__tls_fill_slot(at, kind, plan->addresses[i], descriptor, object->data->arch->tls_index_bias);
        }
    if (link->dynamic)
        link->dynamic->fill_slots(object);
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

/* After relocation, because that may make the table malformed, too. Not in an image, where the reader has found the
 * table, in memory that is not relocated. */
static int check_unwind_data(struct tn__link *link, const struct tn__object *object)
{
    for (uint32_t i = 0; !object->data->image && i < object->data->section_count; i++) {
        const struct tn__input_section *section = &object->data->sections[i];
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
    const struct tn__steps *steps = object->data->format->steps;
    int code = steps ? steps->apply(link, object, begin) : tn__for_each_reloc(link, object, begin, apply_one, false);
    /* Tables for another address space are not registered with this process's unwinder. */
    return code || tn__session_is_elsewhere(link->session) ? code : check_unwind_data(link, object);
}
