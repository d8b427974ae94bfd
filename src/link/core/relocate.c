/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The two scans over an object's relocations: the first checks every record and counts GOT slots and stubs, the second,
 * when everything has its address, computes and stores the values. Both are written once for all architectures. */

#include <inttypes.h>

#include "base/shown_name.h"
#include "link/core/link.h"
#include "link/tls/tls.h"

/* One relocation, for the rare cases: messages, slots, stubs. */
struct site {
    struct tn__link *link;
    struct tn__object *object;
    const struct tn__section *section;
    const struct tn__reloc *reloc;
    const struct tn__row *row;
};

/* What a loop over relocations reads for each of them. Its address is never taken, so it stays in registers although
 * the loop stores bytes through pointers that may alias anything. */
struct loop {
    struct tn__link *link;
    struct tn__object *object;
    const struct tn__section *section;
    const uint8_t *symbol_flags;
    const uint64_t *addresses;
    uint64_t size, address; /* of the section */
    uint8_t *write;
    uint32_t symbol_count;
};

#define INLINE __attribute__((always_inline)) static inline

INLINE struct site site_of(const struct loop *loop, const struct tn__reloc *reloc, const struct tn__row *row)
{
    return (struct site){loop->link, loop->object, loop->section, reloc, row};
}

typedef int visit_reloc(const struct loop *loop, const struct tn__reloc *reloc, const struct tn__row *row);

/* Called for each block of relocations before they are visited. NULL: nothing to do. */
typedef int visit_block(const struct loop *loop, const struct tn__reloc *relocs, size_t count);

/* Calls `visit` for every relocation of one section until one fails. */
INLINE int visit_section(struct loop loop, const struct tn__section *section, visit_block *begin, visit_reloc *visit)
{
    static const struct tn__row unknown = {.value = TN__V_UNKNOWN};
    const struct tn__arch *arch = loop.object->data->arch;
    const struct tn__format *format = loop.object->data->format;
    struct tn__reloc block[TN__RELOC_BLOCK];
    loop.section = section;
    loop.size = section->size, loop.address = section->address, loop.write = section->write;
    for (uint64_t first = 0; first < section->reloc_count; first += TN__RELOC_BLOCK) {
        size_t count = (size_t)tn__min64(section->reloc_count - first, TN__RELOC_BLOCK);
        format->decode(section, first, block, count);
        const struct loop copy = loop; /* whose address may be taken */
        int code = begin ? begin(&copy, block, count) : 0;
        if (code)
            return code;
        for (size_t i = 0; i < count; i++) {
            uint32_t type = block[i].type;
            code = visit(&loop, &block[i], type < arch->row_count ? &arch->rows[type] : &unknown);
            if (code)
                return code;
        }
    }
    return 0;
}

/* The same for all loaded sections. Inlined, so that each caller gets a loop specialised for its `visit`. */
INLINE int for_each_reloc(struct tn__link *link, struct tn__object *object, visit_block *begin, visit_reloc *visit)
{
    const struct tn__object_data *data = object->data;
    const struct loop loop = {.link = link,
                              .object = object,
                              .symbol_flags = object->plan->symbol_flags,
                              .addresses = object->plan->addresses,
                              .symbol_count = data->symbol_count};
    int code = 0;
    for (uint32_t i = 0; !code && i < data->section_count; i++)
        if (data->sections[i].reloc_count && tn__section_is_loaded(&data->sections[i]))
            code = visit_section(loop, &data->sections[i], begin, visit);
    return code;
}

/* ---- messages ---- */

/* "file.o(.text+0x10)" */
static struct tn_error place_of(const struct site *site)
{
    struct tn_error place;
    tn__fail(&place, 0, "%s(%s+0x%" PRIx64 ")", site->object->data->name, site->section->name, site->reloc->offset);
    return place;
}

static const char *symbol_name(const struct site *site)
{
    const struct tn__symbol *symbol = &site->object->data->symbols[site->reloc->symbol];
    if (symbol->type == TN__TYPE_SECTION && symbol->place == TN__PLACE_SECTION)
        return site->object->data->sections[symbol->section].name;
    return *symbol->name ? symbol->name : "(no name)";
}

/* ---- scan ---- */

/* " in main", or nothing: the function that the relocation is in. Looking for it takes as long as the object has
 * symbols, so only the first undefined symbols of a link get it. */
static struct tn_error function_of(const struct site *site)
{
    enum { MOST = 64 };
    const struct tn__object_data *data = site->object->data;
    uint64_t offset = site->reloc->offset;
    struct tn_error text = {.code = 0};
    for (uint32_t i = 1; i < data->symbol_count && site->link->undefined < MOST; i++) {
        const struct tn__symbol *symbol = &data->symbols[i];
        if (symbol->type == TN__TYPE_FUNCTION && symbol->place == TN__PLACE_SECTION &&
            &data->sections[symbol->section] == site->section && offset >= symbol->value &&
            offset - symbol->value < symbol->size) {
            tn__fail(&text, 0, " in %.*s", (int)tn__shown_length(symbol->name), symbol->name);
            break;
        }
    }
    return text;
}

/* Why a linker does not define what others do; NULL: it could. */
static const char *why_undefined(const char *name)
{
    static const char *const bounds[] = {"_end",
                                         "end",
                                         "_etext",
                                         "etext",
                                         "_edata",
                                         "edata",
                                         "__bss_start",
                                         "__ehdr_start",
                                         "_DYNAMIC",
                                         "__data_start",
                                         "__executable_start"};
    for (size_t i = 0; i < TN_COUNT(bounds); i++)
        if (!strcmp(bounds[i], name))
            return "a bound of a program's file; loaded objects are not one file and have none";
    return NULL;
}

void tn__link_report_undefined(struct tn__link *link, struct tn__object *object, uint32_t index, const char *place)
{
    const struct tn__symbol *symbol = &object->data->symbols[index];
    object->plan->symbol_flags[index] &= (uint8_t)~TN__SYMBOL_UNRESOLVED; /* once per object and symbol */
    const char *name = symbol->entry ? symbol->entry->name : symbol->name, *why = why_undefined(name);
    struct tn_error by;
    tn__fail(&by, 0, why ? "%s (%s)" : "%s", place, why);
    tn__session_lock(link->session); /* clients are called by one thread at a time */
    if (link->session->on_undefined)
        link->session->on_undefined(link->session->context, name, by.text);
    tn__session_pause(link->session);
    if (!link->undefined++)
        tn__fail(link->err, TN_EUNDEF, "undefined symbols:");
    tn__append(link->err, "\n  '%.*s' needed by %s%s", (int)tn__shown_length(name), name, by.text,
               symbol->hidden ? " (hidden)" : "");
}

static int report_undefined(const struct site *site)
{
    struct tn_error place = place_of(site);
    tn__append(&place, "%s", function_of(site).text);
    tn__link_report_undefined(site->link, site->object, site->reloc->symbol, place.text);
    return 0;
}

/* An error for a symbol that the relocation cannot use, unless that is harmless here. */
static int scan_special(const struct site *site, uint8_t flags)
{
    if (flags & TN__SYMBOL_UNRESOLVED)
        return report_undefined(site);
    if (flags & TN__SYMBOL_DISCARDED)
        return site->section->role == TN__ROLE_UNWIND
                   ? 0
                   : tn__fail(site->link->err, TN_EFORMAT,
                              "%s: %s refers to '%s', which lies in a section that is not loaded", place_of(site).text,
                              site->row->name, symbol_name(site));
    return tn__fail(site->link->err, TN_EFORMAT, "%s: %s refers to '%s', which is %s thread-local variable",
                    place_of(site).text, site->row->name, symbol_name(site), flags & TN__SYMBOL_TLS ? "a" : "no");
}

/* Makes a table of numbers by symbol, if it is not there yet. Most objects need none. */
static int need_table(struct tn__link *link, const struct tn__object *object, uint32_t **table)
{
    if (!*table)
        *table = tn__arena_array(&link->arena, object->data->symbol_count, sizeof **table);
    return *table ? 0 : tn__fail(link->err, TN_ENOMEM, "%s: out of memory", object->name);
}

/* Finds room in the object's GOT for what the row's slot holds, once per symbol and kind. */
static int need_slot(struct tn__link *link, struct tn__object *object, enum tn__slot kind, uint32_t symbol)
{
    if (kind == TN__SLOT_TLS_DESC && tn__session_is_elsewhere(link->session))
        return tn__fail(link->err, TN_ENOTSUP, "%s: TLS descriptors call a function of the process they are linked in",
                        object->name);
    struct tn__plan *plan = object->plan;
    int code = need_table(link, object, &plan->slots[kind]);
    if (!code && !plan->slots[kind][symbol]) {
        plan->slots[kind][symbol] = plan->got_words + 1;
        plan->got_words += tn__slot_words(kind);
    }
    return code;
}

static int need_stub(struct tn__link *link, struct tn__object *object, uint32_t symbol)
{
    struct tn__plan *plan = object->plan;
    int code = need_table(link, object, &plan->stub_index);
    if (code)
        return code;
    if (!plan->stub_index[symbol])
        plan->stub_index[symbol] = ++plan->stub_count;
    return need_slot(link, object, TN__SLOT_ADDRESS, symbol);
}

static int fail_type(const struct site *site)
{
    if (site->row->value == TN__V_UNSUPPORTED)
        return tn__fail(site->link->err, TN_ENOTSUP, "%s: relocation %s against '%s' is not supported",
                        place_of(site).text, site->row->name, symbol_name(site));
    return tn__fail(site->link->err, TN_EFORMAT, "%s: relocation type %" PRIu32 " does not exist on %s",
                    place_of(site).text, site->reloc->type, site->object->data->arch->name);
}

static int fail_offset(const struct site *site)
{
    return tn__fail(site->link->err, TN_EFORMAT, "%s: %s lies outside the section's %" PRIu64 " bytes",
                    place_of(site).text, site->row->name, site->section->size);
}

static int fail_size(const struct site *site)
{
    return tn__fail(site->link->err, TN_ENOTSUP, "%s: %s against '%s', whose size only its own object knows",
                    place_of(site).text, site->row->name, symbol_name(site));
}

static int fail_symbol(const struct site *site)
{
    return tn__fail(site->link->err, TN_EFORMAT, "%s: relocation against symbol %" PRIu32 ", which does not exist",
                    place_of(site).text, site->reloc->symbol);
}

/* The uncommon cases: rows that need a slot, a stub or a place, special symbols, errors. */
__attribute__((noinline)) static int scan_unusual(const struct site *site)
{
    struct tn__object *object = site->object;
    const struct tn__row *row = site->row;
    uint32_t symbol = site->reloc->symbol;
    if (symbol >= object->data->symbol_count)
        return fail_symbol(site);
    if (row->value <= TN__V_NONE)
        return row->value == TN__V_NONE ? 0 : fail_type(site);
    if (!tn__inside(site->reloc->offset, row->size, site->section->size))
        return fail_offset(site);
    uint8_t flags = object->plan->symbol_flags[symbol];
    if (row->flags & TN__R_LOW)
        object->plan->low = true;
    bool thread_local = flags & TN__SYMBOL_TLS, wants_thread_local = row->flags & TN__R_TLS;
    if (flags & (TN__SYMBOL_UNRESOLVED | TN__SYMBOL_DISCARDED) || thread_local != wants_thread_local) {
        int code = scan_special(site, flags);
        if (code)
            return code;
    }
    if (row->value == TN__V_Z_A && flags & TN__SYMBOL_ELSEWHERE)
        return fail_size(site);
    if (flags & TN__SYMBOL_FAR && row->flags & TN__R_STUB)
        return need_stub(site->link, object, symbol);
    return row->slot ? need_slot(site->link, object, row->slot, symbol) : 0;
}

INLINE int scan_one(const struct loop *loop, const struct tn__reloc *reloc, const struct tn__row *row)
{
    if (__builtin_expect(row->plain && reloc->symbol < loop->symbol_count &&
                             tn__inside(reloc->offset, row->size, loop->size) &&
                             !(loop->symbol_flags[reloc->symbol] & TN__SYMBOL_UNUSUAL),
                         1))
        return 0;
    const struct site site = site_of(loop, reloc, row);
    return scan_unusual(&site);
}

/* True for an indirect function whose definition in this object won. */
static bool is_own_ifunc(const struct tn__object *object, uint32_t index)
{
    const struct tn__symbol *symbol = &object->data->symbols[index];
    return symbol->type == TN__TYPE_IFUNC && symbol->place == TN__PLACE_SECTION &&
           tn__section_is_loaded(&object->data->sections[symbol->section]) &&
           object->plan->symbol_flags[index] & TN__SYMBOL_OWN;
}

/* An indirect function is reached through a stub and a pointer that is filled once its resolver can run. */
static int need_ifunc(struct tn__link *link, struct tn__object *object, uint32_t symbol)
{
    struct tn__plan *plan = object->plan;
    int code = need_table(link, object, &plan->ifunc_index);
    if (!code)
        code = need_table(link, object, &plan->stub_index);
    if (code)
        return code;
    plan->ifunc_index[symbol] = ++plan->ifunc_count;
    plan->stub_index[symbol] = ++plan->stub_count;
    return 0;
}

static void check_needs(struct tn__link *link, struct tn__object *object)
{
    uint32_t first = object->data->first_need;
    for (uint32_t i = first; first && i < object->data->symbol_count; i++)
        if (object->plan->symbol_flags[i] & TN__SYMBOL_UNRESOLVED)
            tn__link_report_undefined(link, object, i, object->name);
}

int tn__object_scan(struct tn__link *link, struct tn__object *object)
{
    tn__object_bind_locals(link, object);
    check_needs(link, object);
    int code = 0;
    for (uint32_t i = 1; object->plan->has_ifuncs && !code && i < object->data->symbol_count; i++)
        if (is_own_ifunc(object, i))
            code = need_ifunc(link, object, i);
    return code ? code : for_each_reloc(link, object, NULL, scan_one);
}

INLINE int scan_branch(const struct loop *loop, const struct tn__reloc *reloc, const struct tn__row *row)
{
    if (row->flags & TN__R_STUB && reloc->symbol < loop->symbol_count &&
        loop->symbol_flags[reloc->symbol] & TN__SYMBOL_ELSEWHERE)
        return need_stub(loop->link, loop->object, reloc->symbol);
    return 0;
}

int tn__object_scan_branches(struct tn__link *link, struct tn__object *object)
{
    return for_each_reloc(link, object, NULL, scan_branch);
}

/* ---- apply ---- */

static bool fits(uint64_t value, const struct tn__row *row)
{
    bool as_signed = (row->flags & TN__R_SIGNED) && (value + (1ULL << (row->bits - 1))) >> row->bits == 0;
    if (as_signed)
        return true;
    bool as_unsigned = (row->flags & TN__R_UNSIGNED) && value >> row->bits == 0;
    return as_unsigned || !(row->flags & (TN__R_SIGNED | TN__R_UNSIGNED));
}

/* The relocation of this section that stands at an address; false if there is none. Readers keep the file's order,
 * which is nearly always that of offsets: it is looked for by bisection first. */
static bool find_reloc_at(const struct site *site, uint64_t address, struct tn__reloc *found)
{
    const struct tn__section *section = site->section;
    const struct tn__format *format = site->object->data->format;
    uint64_t offset = address - section->address;
    uint64_t at = TN_BISECT(0, section->reloc_count, i, (format->decode(section, i, found, 1), found->offset < offset));
    if (at == section->reloc_count)
        return false;
    format->decode(section, at, found, 1);
    return found->offset == offset;
}

static uint64_t page_of(uint64_t address)
{
    return address & ~(uint64_t)0xfff;
}

static uint64_t value_of(const struct site *site, uint64_t S, uint64_t P);

/* What the first instruction of a pair computes, for the second. 0 if there is none: a mistake of the compiler. */
static uint64_t value_at(const struct site *site, uint64_t address)
{
    const struct tn__arch *arch = site->object->data->arch;
    struct tn__reloc reloc;
    if (!find_reloc_at(site, address, &reloc) || reloc.type >= arch->row_count ||
        arch->rows[reloc.type].value == TN__V_AT_S || reloc.symbol >= site->object->data->symbol_count)
        return 0;
    const struct site first = {site->link, site->object, site->section, &reloc, &arch->rows[reloc.type]};
    return value_of(&first, site->object->plan->addresses[reloc.symbol], address);
}

static uint64_t value_of(const struct site *site, uint64_t S, uint64_t P)
{
    const struct tn__object *object = site->object;
    const struct tn__row *row = site->row;
    uint32_t symbol = site->reloc->symbol;
    uint64_t A = (uint64_t)site->reloc->addend, F = 0;
    switch (row->value) {
    case TN__V_S_A:
        return S + A;
    case TN__V_S_A_P:
        return S + A - P;
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
    case TN__V_F_S_A:
    case TN__V_F_MINUS:
        memcpy(&F, site->section->write + site->reloc->offset, row->size);
        return row->value == TN__V_F_S_A ? F + S + A : F - (S + A);
    case TN__V_AT_S:
        return value_at(site, S) + A;
    default:
        return 0;
    }
}

static void put_field(const struct site *site, uint8_t *at, uint64_t value)
{
    const struct tn__row *row = site->row;
    if (row->field == TN__F_LE32) /* nearly always: a store instead of a call */
        tn__put32(at, (uint32_t)value);
    else if (row->field == TN__F_LE64)
        tn__put64(at, value);
    else if (row->field < TN__FIELDS)
        memcpy(at, &value, row->size);
    else
        site->object->data->arch->encoders[row->field - TN__FIELDS].put(at, value);
}

static int fail_range(const struct site *site, uint64_t value, uint64_t S, uint64_t P)
{
    const struct tn__row *row = site->row;
    bool absolute = row->flags & TN__R_LOW;
    return tn__fail(site->link->err, TN_ERANGE,
                    "%s: %s against '%s' is out of range: from 0x%" PRIx64 " to 0x%" PRIx64 " gives %s0x%" PRIx64
                    ", the limit is %u bits %s; %s",
                    place_of(site).text, row->name, symbol_name(site), P, S, (int64_t)value < 0 ? "-" : "",
                    (int64_t)value < 0 ? -value : value, row->bits,
                    !(row->flags & TN__R_UNSIGNED) ? "signed"
                    : row->flags & TN__R_SIGNED    ? "signed or unsigned"
                                                   : "unsigned",
                    absolute ? "compile it with -fPIC, or keep program and window below 2 GiB"
                             : "compile it with -fPIC, or open the session with window_near at what it refers to");
}

/* The last resort when a value does not fit: a branch may go through its stub. */
static int apply_far(const struct site *site, uint8_t *at, uint64_t value, uint64_t P)
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

/* Any relocation. */
__attribute__((noinline)) static int apply(const struct site *site)
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
    bool relax = row->flags & TN__R_RELAX && !(row->flags & TN__R_TLS && object->plan->tls_apart);
    if (relax && object->data->arch->relax(reloc->type, at, reloc->offset, S, reloc->addend, P))
        return 0;
    uint64_t value = value_of(site, S, P);
    if (!fits(value, row))
        return apply_far(site, at, value, P);
    put_field(site, at, value);
    return 0;
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

__attribute__((noinline)) static int check_again(const struct loop *loop, const struct tn__reloc *relocs, size_t count)
{
    static const struct tn__row unknown = {.value = TN__V_UNKNOWN};
    const struct tn__arch *arch = loop->object->data->arch;
    for (size_t i = 0; i < count; i++) {
        const struct tn__row *row = relocs[i].type < arch->row_count ? &arch->rows[relocs[i].type] : &unknown;
        const struct site site = site_of(loop, &relocs[i], row);
        if (!was_scanned(loop->object, loop->section, &relocs[i], row))
            return tn__fail(loop->link->err, TN_EFORMAT, "%s: the file has changed while it was linked",
                            place_of(&site).text);
    }
    return 0;
}

/* The fast path: nearly all are displacements within range. */
INLINE int apply_one(const struct loop *loop, const struct tn__reloc *reloc, const struct tn__row *row)
{
    uint64_t value = loop->addresses[reloc->symbol] + (uint64_t)reloc->addend - (loop->address + reloc->offset);
    if (__builtin_expect(row->displacement && value == (uint64_t)(int64_t)(int32_t)value &&
                             !(loop->symbol_flags[reloc->symbol] & TN__SYMBOL_DISCARDED),
                         1)) {
        tn__put32(loop->write + reloc->offset, (uint32_t)value);
        return 0;
    }
    const struct site site = site_of(loop, reloc, row);
    return apply(&site);
}

static uint64_t ifunc_pointer(const struct tn__object *object, uint32_t symbol)
{
    return object->plan->data_address + object->plan->ifunc_offset +
           (uint64_t)(object->plan->ifunc_index[symbol] - 1) * 8;
}

static void fill_slot(const struct tn__object *object, enum tn__slot kind, uint32_t symbol)
{
    uint8_t *at = object->plan->got_write + (size_t)(object->plan->slots[kind][symbol] - 1) * 8;
    uint64_t S = object->plan->addresses[symbol];
    if (kind == TN__SLOT_ADDRESS)
        tn__put64(at, S);
    else
        tn__tls_fill_slot(at, kind, S);
}

static void fill_got(const struct tn__object *object)
{
    for (int kind = TN__SLOT_ADDRESS; kind < TN__SLOTS; kind++)
        for (uint32_t i = 0; object->plan->slots[kind] && i < object->data->symbol_count; i++)
            if (object->plan->slots[kind][i])
                fill_slot(object, kind, i);
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
        fill_got(object);
    if (object->plan->stub_count)
        write_stubs(object);
    if (object->plan->ifunc_count)
        store_ifunc_resolvers(object);
    visit_block *begin = object->data->may_change ? check_again : NULL;
    int code = for_each_reloc(link, object, begin, apply_one);
    /* Tables for another address space are not registered with this process's unwinder. */
    return code || tn__session_is_elsewhere(link->session) ? code : check_unwind_data(link, object);
}
