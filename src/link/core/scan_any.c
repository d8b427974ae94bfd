/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the scan does for relocations that only formats other than ELF for x86-64 have. */

#include "link/core/shrink.h"

/* An instruction that may be rewritten later. */
static void note_form(const struct tn__site *site)
{
    const struct tn__object_data *data = site->object->data;
    const struct tn__section *section = site->section;
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

int tn__scan_any(const struct tn__site *site, uint8_t flags)
{
    const struct tn__row *row = site->row;
    if (row->relax)
        note_form(site);
    bool needs_section = row->value == TN__V_S_A_SECTION || row->value == TN__V_SECTION_A;
    const struct tn__symbol *symbol = &site->object->data->symbols[site->reloc->symbol];
    if (!needs_section || (symbol->place == TN__PLACE_SECTION && flags & TN__SYMBOL_OWN))
        return 0;
    return tn__fail(site->link->err, TN_ENOTSUP, "%s: %s against '%s', which lies in no section of this object",
                    tn__site_place(site).text, row->name, tn__site_symbol(site));
}

/* What the reader has checked is not checked again. */
TN__INLINE int scan_sound(const struct tn__loop *loop, const struct tn__reloc *reloc, const struct tn__row *row)
{
    if (__builtin_expect(row->plain && !(loop->symbol_flags[reloc->symbol] & TN__SYMBOL_UNUSUAL), 1))
        return 0;
    return tn__scan_unusual(tn__site_of(loop, reloc, row));
}

int tn__scan_sound(struct tn__link *link, struct tn__object *object)
{
    return tn__for_each_reloc(link, object, NULL, scan_sound);
}
