/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What links do for objects of some formats alone. Programs that link ELF for x86-64 and nothing else contain none of
 * it. */

#ifndef TENON_SHRINK_H
#define TENON_SHRINK_H

#include "link/passes/reloc_loop.h"

#pragma GCC visibility push(hidden)

/* A format names these (struct tn_format), so that they are no part of programs that do not name the format. */
struct tn__steps {
    /* Values and fields that ELF for x86-64 does not have (apply_fields.c, scan_fields.c); never NULL. Checks a
     * relocation that is not plain; applies all of an object; stores a value in the field at `at`. */
    int (*scan)(const struct tn__site *site, uint8_t flags);
    int (*apply)(struct tn__link *link, struct tn__object *object, tn__visit_block *begin);
    void (*put)(const struct tn__site *site, uint8_t *at, uint64_t value);

    /* NULL: not needed. */
    /* Scans an object whose relocations are sound (scan_fields.c). */
    int (*scan_sound)(struct tn__link *link, struct tn__object *object);
    /* Code that becomes shorter when it is linked, of architectures that have such (struct tn__shortener; shrink.c). */
    int (*shrink)(struct tn__link *link, int (*place)(struct tn__link *link));
    void (*unshrink)(struct tn__object *object);
    /* Sets link->variant and link->variant_of. TN_ENOTSUP: objects with code cannot call each other (agree.c). */
    int (*agree)(struct tn__link *link);
    /* Applies a relocation that is one of a pair (TN__V_AT_S and those behind it), whose field begins at `at`
     * (pairs.c). */
    int (*apply_pair)(const struct tn__site *site, uint8_t *at, uint64_t S);
    /* Symbols with a stand-in (format/coff/steps.c). */
    int (*bind_stand_ins)(struct tn__link *link, struct tn__object *object);
    uint64_t (*stand_in_address)(const struct tn__object *object, const struct tn__symbol *symbol);
    /* Other names of symbols, whose entries are known. TN_EFORMAT if one would lead to itself; the entry leads to the
     * symbol from now on; enters all of them, when the names that they may stand for are (format/coff/steps.c). */
    int (*check_alias)(const struct tn__object *object, const struct tn__symbol *alias, struct tn_error *err);
    void (*take_alias)(const struct tn__object *object, const struct tn__symbol *alias);
    int (*enter_aliases)(struct tn__object *object, const struct tn__promise *keeps, struct tn__journal *journal,
                         struct tn_error *err);
    /* `compare_copies` compares a copy of a group with that of another object, which is kept; *larger: this one has to
     * be kept instead. TN_EDUP. If any copy was larger, `drop_lost` then discards what other objects had of these
     * groups: objects that wait, and those in the list `members`. TN_ENOMEM (copies.c). */
    int (*compare_copies)(const struct tn__object *object, const struct tn__group *group, const struct tn__entry *entry,
                          const struct tn__journal *journal, bool *larger, struct tn_error *err);
    int (*drop_lost)(struct tn_library *library, const struct tn__list *members, struct tn__journal *journal,
                     struct tn_error *err);
    /* If a name stands for the beginning or the end of sections or segments, sets *wanted, whose name is NULL
     * otherwise. TN_ENOMEM (format/macho/steps.c). Gathers sections that have a $ in their names
     * (format/coff/steps.c). */
    int (*parse_bound)(struct tn__link *link, const char *name, struct tn__gather_pattern *wanted, bool *is_end);
    int (*gather_groups)(struct tn__link *link);
};

/* True if the object is linked, or is being linked by another link than the one that notes changes in this journal. */
static inline bool tn__object_is_taken(const struct tn__object *object, const struct tn__journal *journal)
{
    return !object->data || (object->link && &object->link->journal != journal);
}

#define TN__STEPS_FIELDS .scan = tn__scan_fields, .apply = tn__apply_fields, .put = tn__put_field

/* Only values and fields; also pairs; also shortening. Those of Mach-O and COFF. */
extern const struct tn__steps tn__steps_fields, tn__steps_pairs, tn__steps_shrink, tn__steps_macho, tn__steps_coff;

int tn__scan_fields(const struct tn__site *site, uint8_t flags);
/* scan.c: whatever is not as nearly all relocations are. */
int tn__scan_unusual(const struct tn__site *site);
int tn__scan_sound(struct tn__link *link, struct tn__object *object);
int tn__apply_fields(struct tn__link *link, struct tn__object *object, tn__visit_block *begin);
void tn__put_field(const struct tn__site *site, uint8_t *at, uint64_t value);
int tn__link_agree(struct tn__link *link);
int tn__apply_pair(const struct tn__site *site, uint8_t *at, uint64_t S);
/* A copy of a section's relocations in the order of their offsets, in the link's arena. NULL when memory is out
 * (pairs.c). */
struct tn__reloc *tn__relocs_in_order(struct tn__link *link, const struct tn__input_section *section);
int tn__compare_copies(const struct tn__object *object, const struct tn__group *group, const struct tn__entry *entry,
                       const struct tn__journal *journal, bool *larger, struct tn_error *err);
int tn__drop_lost(struct tn_library *library, const struct tn__list *members, struct tn__journal *journal,
                  struct tn_error *err) TN__LOCKED;

/* When everything in the link has an address: shortens code sections. `place` gives everything its address again, after
 * the sizes of sections have changed; NULL: as the phases of link.c do. Afterwards sections have other bytes and
 * relocations, in the link's arena, and symbols other values and sizes; the link's later phases see no difference from
 * objects that were read so. TN_EFORMAT, TN_ENOMEM; errors of `place`. */
static inline int tn__link_shrink(struct tn__link *link, int (*place)(struct tn__link *link))
{
    const struct tn__steps *steps = link->session->formats[0]->steps;
    return steps && steps->shrink ? steps->shrink(link, place) : 0;
}

/* Makes an object what it was before. */
static inline void tn__object_unshrink(struct tn__object *object)
{
    if (object->plan && object->plan->shrunk)
        object->data->format->steps->unshrink(object);
}

#pragma GCC visibility pop
#endif
