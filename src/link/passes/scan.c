/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The first scan over an object's relocations checks each of them and counts GOT slots and stubs. */

#include <inttypes.h>
#include <stdio.h>

#include "base/shown_name.h"
#include "link/passes/dynamic.h"
#include "link/passes/steps.h"

/* ---- messages ---- */

#define PLACE "%s(%s+0x%" PRIx64 ")"

__attribute__((cold)) int tn__site_fail(const struct tn__site *site, int code, const char *format, ...)
{
    char what[sizeof site->link->err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    tn__fail(site->link->err, code, PLACE, site->object->data->name, site->section->name, site->reloc->offset);
    tn__append(site->link->err, ": %s", what);
    return code;
}

const char *tn__site_symbol(const struct tn__site *site)
{
    const struct tn__symbol *symbol = &site->object->data->symbols[site->reloc->symbol];
    if (symbol->type == TN__TYPE_SECTION && symbol->place == TN__PLACE_SECTION)
        return site->object->data->sections[symbol->section].name;
    return *symbol->name ? symbol->name : "(no name)";
}

/* The function that the relocation is in, or NULL. Looking for it takes as long as the object has symbols, so only the
 * first undefined symbols of a link get it. */
static const struct tn__symbol *function_of(const struct tn__site *site)
{
    enum { MOST = 64 };
    const struct tn__object_data *data = site->object->data;
    uint64_t offset = site->reloc->offset;
    for (uint32_t i = 1; i < data->symbol_count && site->link->undefined < MOST; i++) {
        const struct tn__symbol *symbol = &data->symbols[i];
        if (symbol->type == TN__TYPE_FUNCTION && symbol->place == TN__PLACE_SECTION &&
            &data->sections[symbol->section] == site->section && offset >= symbol->value &&
            offset - symbol->value < symbol->size)
            return symbol;
    }
    return NULL;
}

/* Why a linker does not define what others do, or what the host lacks; NULL: it could be any mistake. */
static const char *why_undefined(const char *name)
{
    static const char a_bound[] = "a bound of a program's file; loaded objects are not one file and have none";
    static const struct {
        const char *name; /* with * at its end, all that begin like this */
        const char *why;
    } rows[] = {
        {"_end", a_bound},
        {"end", a_bound},
        {"_etext", a_bound},
        {"etext", a_bound},
        {"_edata", a_bound},
        {"edata", a_bound},
        {"__bss_start", a_bound},
        {"__ehdr_start", a_bound},
        {"_DYNAMIC", a_bound},
        {"__data_start", a_bound},
        {"__executable_start", a_bound},
        {"__asan_*", "of AddressSanitizer's runtime; the host was not built with -fsanitize=address"},
        {"__msan_*", "of MemorySanitizer's runtime; the host was not built with -fsanitize=memory"},
        {"__tsan_*", "of ThreadSanitizer's runtime; the host was not built with -fsanitize=thread"},
    };
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        size_t length = strcspn(rows[i].name, "*");
        if (!strncmp(rows[i].name, name, length + !rows[i].name[length]))
            return rows[i].why;
    }
    return NULL;
}

/* Needed by the relocation at `site`; NULL: by the object itself. */
__attribute__((cold)) static void report_undefined(struct tn__link *link, struct tn__object *object, uint32_t index,
                                                   const struct tn__site *site)
{
    object->plan->symbol_flags[index] &= (uint8_t)~TN__SYMBOL_UNRESOLVED; /* once per object and symbol */
    const struct tn__symbol *symbol = &object->data->symbols[index];
    if (symbol->stand_in == TN__STAND_IN_SLOT) /* what the slot would hold */
        symbol = &object->data->symbols[symbol->section];
    const char *name = symbol->entry ? symbol->entry->name : symbol->name, *why = why_undefined(name);
    const struct tn__symbol *in = site ? function_of(site) : NULL;
    char by[sizeof link->err->text];
    if (site)
        snprintf(by, sizeof by, PLACE, object->data->name, site->section->name, site->reloc->offset);
    else
        snprintf(by, sizeof by, "%s", object->name);
    size_t used = strlen(by);
    if (in)
        snprintf(by + used, sizeof by - used, " in %.*s", (int)tn__shown_length(in->name), in->name);
    used = strlen(by);
    if (why)
        snprintf(by + used, sizeof by - used, " (%s)", why);
    tn__quote(by, strlen(by));
    tn__session_lock(link->session); /* clients are called by one thread at a time */
    if (link->session->on_undefined)
        link->session->on_undefined(link->session->context, name, by);
    tn__session_pause(link->session);
    if (!link->undefined++)
        tn__fail(link->err, TN_EUNDEF, "undefined symbols:");
    tn__append(link->err, "\n  '%.*s' needed by %s%s", (int)tn__shown_length(name), name, by,
               symbol->hidden ? " (hidden)" : "");
}

/* An error for a symbol that the relocation cannot use, unless that is harmless here. */
static int scan_special(const struct tn__site *site, uint8_t flags)
{
    if (flags & TN__SYMBOL_UNRESOLVED) {
        report_undefined(site->link, site->object, site->reloc->symbol, site);
        return 0;
    }
    if (flags & TN__SYMBOL_DISCARDED)
        return site->section->role == TN__ROLE_UNWIND
                   ? 0
                   : tn__site_fail(site, TN_EFORMAT, "%s refers to '%s', which lies in a section that is not loaded",
                                   site->row->name, tn__site_symbol(site));
    return tn__site_fail(site, TN_EFORMAT, "%s refers to '%s', which is %s thread-local variable", site->row->name,
                         tn__site_symbol(site), flags & TN__SYMBOL_TLS ? "a" : "no");
}

/* Makes a table of numbers by symbol, if it is not there yet. Most objects need none. */
static int need_table(struct tn__link *link, const struct tn__object *object, uint32_t **table)
{
    if (!*table)
        *table = tn__arena_array(&link->arena, object->data->symbol_count, sizeof **table);
    return *table ? 0 : tn__no_memory(link->err, object->name);
}

int tn__object_need_slot(struct tn__link *link, struct tn__object *object, enum tn__slot kind, uint32_t symbol)
{
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
    return tn__object_need_slot(link, object, TN__SLOT_ADDRESS, symbol);
}

static int check_site(const struct tn__site *site)
{
    const struct tn__row *row = site->row;
    if (site->reloc->symbol >= site->object->data->symbol_count)
        return tn__site_fail(site, TN_EFORMAT, "relocation against symbol %" PRIu32 ", which does not exist",
                             site->reloc->symbol);
    if (row->value == TN__V_UNSUPPORTED)
        return tn__site_fail(site, TN_ENOTSUP, "relocation %s against '%s' is not supported", row->name,
                             tn__site_symbol(site));
    if (row->value < TN__V_NONE)
        return tn__site_fail(site, TN_EFORMAT, "relocation type %" PRIu32 " does not exist on %s", site->reloc->type,
                             site->object->data->arch->name);
    if (row->value != TN__V_NONE && !tn__inside(site->reloc->offset, row->size, site->section->size))
        return tn__site_fail(site, TN_EFORMAT, "%s lies outside the section's %" PRIu64 " bytes", row->name,
                             site->section->size);
    return 0;
}

/* Rows that need a slot, a stub or a place, special symbols, errors. Few, so that it is compiled to be small. */
__attribute__((noinline, cold)) int tn__scan_unusual(const struct tn__site *site)
{
    struct tn__object *object = site->object;
    const struct tn__row *row = site->row;
    uint32_t symbol = site->reloc->symbol;
    int code = check_site(site);
    if (code)
        return code;
    if (row->value == TN__V_NONE) {
        object->plan->may_shrink |= row->relax != 0;
        return 0;
    }
    uint8_t flags = object->plan->symbol_flags[symbol];
    if (row->flags & TN__R_LOW)
        object->plan->low = true;
    bool thread_local = flags & TN__SYMBOL_TLS, wants_thread_local = row->flags & TN__R_TLS;
    if (flags & (TN__SYMBOL_UNRESOLVED | TN__SYMBOL_DISCARDED) || thread_local != wants_thread_local) {
        code = scan_special(site, flags);
        if (code)
            return code;
    }
    if (wants_thread_local && site->link->session->check_threads)
        site->link->session->check_threads->note(site, flags);
    bool outside = flags & TN__SYMBOL_ELSEWHERE && flags & (TN__SYMBOL_GIVEN | TN__SYMBOL_BOUND);
    if (row->value == TN__V_Z_A && outside)
        return tn__site_fail(site, TN_ENOTSUP, "%s against '%s', whose size is not known any more", row->name,
                             tn__site_symbol(site));
    if (wants_thread_local && site->link->dynamic && (code = site->link->dynamic->scan(site, flags)))
        return code;
    const struct tn__steps *steps = object->data->format->steps;
    code = steps ? steps->scan(site, flags) : 0;
    if (code)
        return code;
    bool out_of_reach = flags & TN__SYMBOL_FAR && row->flags & TN__R_STUB;
    if (out_of_reach || (flags & TN__SYMBOL_ELSEWHERE && TN__IS_SHORT_BRANCH(row->flags, row->bits)))
        return need_stub(site->link, object, symbol);
    return row->slot ? tn__object_need_slot(site->link, object, row->slot, symbol) : 0;
}

TN__INLINE int scan_one(const struct tn__loop *loop, const struct tn__reloc *reloc, const struct tn__row *row)
{
    if (__builtin_expect(row->plain && reloc->symbol < loop->symbol_count &&
                             tn__inside(reloc->offset, row->size, loop->size) &&
                             !(loop->symbol_flags[reloc->symbol] & TN__SYMBOL_UNUSUAL),
                         1))
        return 0;
    return tn__scan_unusual(tn__site_of(loop, reloc, row));
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

int tn__object_scan(struct tn__link *link, struct tn__object *object)
{
    tn__object_bind_locals(link, object);
    for (uint32_t i = object->data->first_need; i && i < object->data->symbol_count; i++)
        if (object->plan->symbol_flags[i] & TN__SYMBOL_UNRESOLVED)
            report_undefined(link, object, i, NULL);
    for (uint32_t i = 0; object->data->arch->note && i < object->data->section_count; i++)
        object->data->sections[i].notes = 0;
    int code = 0;
    for (uint32_t i = 1; object->data->has_ifuncs && !code && i < object->data->symbol_count; i++)
        if (is_own_ifunc(object, i))
            code = need_ifunc(link, object, i);
    if (!code && object->data->relocs_sound)
        return object->data->format->steps->scan_sound(link, object);
    return code ? code : tn__for_each_reloc(link, object, NULL, scan_one, false);
}

TN__INLINE int scan_branch(const struct tn__loop *loop, const struct tn__reloc *reloc, const struct tn__row *row)
{
    if (row->flags & TN__R_STUB && reloc->symbol < loop->symbol_count &&
        loop->symbol_flags[reloc->symbol] & TN__SYMBOL_ELSEWHERE)
        return need_stub(loop->link, loop->object, reloc->symbol);
    return 0;
}

int tn__object_scan_branches(struct tn__link *link, struct tn__object *object)
{
    return tn__for_each_reloc(link, object, NULL, scan_branch, false);
}
