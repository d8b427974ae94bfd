/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the scan does for relocations that only formats other than ELF for x86-64 have. */

#include "link/passes/steps.h"

/* An instruction that may be rewritten later. */
static void note_form(const struct tn__site *site)
{
    const struct tn__object_data *data = site->object->data;
    const struct tn__input_section *section = site->section;
    uint64_t offset = site->reloc->offset;
    if (!data->arch->note || !section->bytes)
        return;
    const struct tn__sequence code = {.form = site->row->relax,
                                      .next = tn__site_next_form(site),
                                      .field = (uint8_t *)(uintptr_t)section->bytes + offset, /* only read */
                                      .before = offset,
                                      .after = section->size - offset};
    data->arch->note(&code, &data->sections[section - data->sections].notes);
}

int tn__scan_fields(const struct tn__site *site, uint8_t flags)
{
    const struct tn__row *row = site->row;
    if (row->relax)
        note_form(site);
    bool needs_section = row->value == TN__V_S_A_SECTION || row->value == TN__V_SECTION_A;
    const struct tn__symbol *symbol = &site->object->data->symbols[site->reloc->symbol];
    if (!needs_section || (symbol->place == TN__PLACE_SECTION && flags & TN__SYMBOL_OWN))
        return 0;
    return tn__site_fail(site, TN_ENOTSUP, "%s against '%s', which lies in no section of this object", row->name,
                         tn__site_symbol(site));
}

/* Scans a section of which the reader has checked the relocations and converted them to an array. Such arrays are often
 * small, so they are not divided into blocks. */
static int scan_section(struct tn__site *site, const uint8_t *symbol_flags)
{
    const struct tn__row *rows = site->object->data->format->rows;
    for (const struct tn__reloc *reloc = site->block, *end = site->end; reloc < end; reloc++) {
        if (__builtin_expect(rows[reloc->type].plain && !(symbol_flags[reloc->symbol] & TN__SYMBOL_UNUSUAL), 1))
            continue;
        site->reloc = reloc, site->row = &rows[reloc->type];
        int code = tn__scan_unusual(site);
        if (code)
            return code;
    }
    return 0;
}

int tn__scan_sound(struct tn__link *link, struct tn__object *object)
{
    struct tn__site site = {.link = link, .object = object};
    int code = 0;
    for (uint32_t i = 0; !code && i < object->data->section_count; i++) {
        const struct tn__input_section *section = &object->data->sections[i];
        if (!section->reloc_count || !tn__section_is_loaded(section))
            continue;
        site.section = section;
        site.block = (const struct tn__reloc *)section->relocs, site.end = site.block + section->reloc_count;
        code = scan_section(&site, object->plan->symbol_flags);
    }
    return code;
}
