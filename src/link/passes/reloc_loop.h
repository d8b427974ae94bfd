/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The loop over an object's relocations, which scan.c and apply.c share. It is inlined into each of them with what they
 * do per relocation, because it runs for every relocation of every link. */

#ifndef TENON_RELOC_LOOP_H
#define TENON_RELOC_LOOP_H

#include "link/passes/link.h"

#pragma GCC visibility push(hidden)

/* One relocation, for the rare cases: messages, slots, stubs. */
struct tn__site {
    struct tn__link *link;
    struct tn__object *object;
    const struct tn__input_section *section;
    const struct tn__reloc *reloc;
    const struct tn__row *row;
    const struct tn__reloc *block, *end; /* `reloc` is one of those from here to there, in the section's order */
    uint64_t final, final_size;          /* the place in the section, and the bytes, of what was rewritten last */
};

/* What a loop over relocations reads for each of them. Its address is never taken, so it stays in registers although
 * the loop stores bytes through pointers that may alias anything. */
struct tn__loop {
    struct tn__link *link;
    struct tn__object *object;
    const struct tn__input_section *section;
    const uint8_t *symbol_flags;
    const uint64_t *addresses;
    uint64_t size, address; /* of the section */
    uint8_t *write;
    uint32_t symbol_count;
    const struct tn__encoder *encoders; /* of the object's architecture */
    struct tn__site *site;              /* of this section; see tn__site_of */
};

#define TN__INLINE __attribute__((always_inline)) static inline

/* Valid until the next one is visited. */
TN__INLINE struct tn__site *tn__site_of(const struct tn__loop *loop, const struct tn__reloc *reloc,
                                        const struct tn__row *row)
{
    loop->site->reloc = reloc;
    loop->site->row = row;
    return loop->site;
}

/* The form of the relocation that follows; 0: there is none (see tn__form_behind). */
static inline uint32_t tn__site_next_form(const struct tn__site *site)
{
    const struct tn__reloc *next = site->reloc + 1;
    return next < site->end ? tn__form_behind(site->object->data->format, site->reloc, next) : 0;
}

typedef int tn__visit_reloc(const struct tn__loop *loop, const struct tn__reloc *reloc, const struct tn__row *row);

/* Called for each block of relocations before they are visited. NULL: nothing to do. */
typedef int tn__visit_block(const struct tn__loop *loop, const struct tn__reloc *relocs, size_t count);

/* Calls `visit` for every relocation of one section until one fails. `scanned`: an earlier scan has found a row for
 * each type. */
TN__INLINE int tn__visit_section(struct tn__loop loop, const struct tn__input_section *section, tn__visit_block *begin,
                                 tn__visit_reloc *visit, const bool scanned)
{
    static const struct tn__row unknown = {.value = TN__V_UNKNOWN};
    const struct tn_format *format = loop.object->data->format;
    struct tn__reloc block[TN__RELOC_BLOCK + 1]; /* with the one that follows */
    struct tn__site site = {.link = loop.link, .object = loop.object, .section = section};
    loop.section = section;
    loop.site = &site;
    loop.size = section->size, loop.address = section->address, loop.write = section->write;
    for (uint64_t first = 0; first < section->reloc_count; first += TN__RELOC_BLOCK) {
        size_t copied = (size_t)tn__min64(section->reloc_count - first, TN__RELOC_BLOCK + 1);
        size_t count = copied > TN__RELOC_BLOCK ? TN__RELOC_BLOCK : copied;
        const struct tn__reloc *relocs = block;
        if (section->relocs_made)
            relocs = (const struct tn__reloc *)section->relocs + first;
        else
            tn__relocs_copy(section, first, block, copied);
        const struct tn__reloc *end = relocs + count;
        site.block = relocs, site.end = relocs + copied;
        int code = 0;
        if (begin) {
            const struct tn__loop copy = loop; /* whose address may be taken */
            code = begin(&copy, relocs, count);
        }
        if (code)
            return code;
        for (; relocs < end; relocs++) {
            uint32_t type = relocs->type;
            code = visit(&loop, relocs, scanned || type < format->row_count ? &format->rows[type] : &unknown);
            if (code)
                return code;
        }
    }
    return 0;
}

/* The same for all loaded sections. Inlined, so that each caller gets a loop specialised for its `visit`. */
TN__INLINE int tn__for_each_reloc(struct tn__link *link, struct tn__object *object, tn__visit_block *begin,
                                  tn__visit_reloc *visit, const bool scanned)
{
    const struct tn__object_data *data = object->data;
    const struct tn__loop loop = {.link = link,
                                  .object = object,
                                  .symbol_flags = object->plan->symbol_flags,
                                  .addresses = object->plan->addresses,
                                  .symbol_count = data->symbol_count,
                                  .encoders = data->arch->encoders};
    int code = 0;
    for (uint32_t i = 0; !code && i < data->section_count; i++)
        if (data->sections[i].reloc_count && tn__section_is_loaded(&data->sections[i]))
            code = tn__visit_section(loop, &data->sections[i], begin, visit, scanned);
    return code;
}

/* ---- apply.c, for what only some formats have (steps.h) ---- */

/* tn__apply_unusual stores what is no plain value. TN__TO_STORE: the caller has to store the value. */
enum { TN__TO_STORE = 1 };
int tn__apply_unusual(struct tn__site *site, uint8_t *at, uint64_t S, uint64_t P);
/* When a value does not fit. */
int tn__apply_far(struct tn__site *site, uint8_t *at, uint64_t value, uint64_t S, uint64_t P);
/* TN_ERANGE. */
int tn__fail_range(const struct tn__site *site, uint64_t value, uint64_t S, uint64_t P);
/* The second scan trusts what the first one has checked. The bytes of a mapped file may have changed since: true if
 * they still say what is harmless. */
bool tn__was_scanned(const struct tn__object *object, const struct tn__input_section *section,
                     const struct tn__reloc *reloc, const struct tn__row *row);

/* scan.c, for messages, which begin with "file.o(.text+0x10): "; and the name of the symbol or of its section. */
int tn__site_fail(const struct tn__site *site, int code, const char *format, ...) TN_PRINTF(3, 4);
const char *tn__site_symbol(const struct tn__site *site);

#pragma GCC visibility pop
#endif
