/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What links do for COFF objects alone. */

#include "link/passes/steps.h"

/* ---- sections with a $ in their names ---- */

/* Sections of COFF that are called NAME$SUFFIX lie together whether or not something refers to their bounds, in the
 * order of the suffixes: programs put labels into the first and the last. */

/* Sections with a $ in their names, which come behind one without it. */
static int gather_groups(struct tn__link *link)
{
    int code = link->named ? 0 : tn__link_index_sections(link);
    for (size_t i = 0; !code && i < link->named_count; i++) {
        const struct tn__input_section *section = link->named[i].section;
        bool open = section->grouped && !section->gathered && tn__section_may_be_gathered(section);
        const char *dollar = open ? strchr(section->name, '$') : NULL;
        if (dollar)
            code = tn__link_gather_wanted(
                link, &(struct tn__gather_pattern){section->name, (size_t)(dollar - section->name), TN__GATHER_GROUP});
    }
    return code;
}

/* ---- stand-ins ---- */

/* Undefined symbols that are something else for their own object if nothing defines them (enum tn__stand_in). */

static int bind_stand_ins(struct tn__link *link, struct tn__object *object)
{
    uint8_t *flags = object->plan->symbol_flags;
    int code = 0;
    for (uint32_t i = 1; !code && i < object->data->symbol_count; i++) {
        const struct tn__symbol *symbol = &object->data->symbols[i];
        if (!symbol->stand_in || !symbol->entry ||
            (symbol->entry->kind != TN__ENTRY_UNDEFINED && symbol->entry->kind != TN__ENTRY_LAZY))
            continue;
        if (symbol->stand_in == TN__STAND_IN_SLOT) {
            if (flags[symbol->section] & TN__SYMBOL_UNRESOLVED)
                continue; /* reported where it is needed */
            code = tn__object_need_slot(link, object, TN__SLOT_ADDRESS, symbol->section);
        }
        flags[i] = TN__SYMBOL_OWN;
    }
    return code;
}

static uint64_t stand_in_address(const struct tn__object *object, const struct tn__symbol *symbol)
{
    if (symbol->stand_in == TN__STAND_IN_SLOT)
        return tn__got_slot(object, TN__SLOT_ADDRESS, symbol->section);
    return object->window->start;
}

/* ---- other names of symbols ---- */

/* Symbols of a file that are other names of its symbols (TN__PLACE_ALIAS). */

static struct tn__entry *target_of(const struct tn__object *object, const struct tn__symbol *alias)
{
    return object->data->symbols[alias->value].entry;
}

static int check_alias(const struct tn__object *object, const struct tn__symbol *alias, struct tn_error *err)
{
    struct tn__entry *target = target_of(object, alias);
    if (!target || !tn__entry_leads_to(target, alias->entry, NULL))
        return 0;
    return tn__fail(err, TN_EFORMAT, "%s: '%s' would be an alias of itself, through '%s'", object->name,
                    alias->entry->name, target->name);
}

static void take_alias(const struct tn__object *object, const struct tn__symbol *alias)
{
    alias->entry->kind = TN__ENTRY_ALIAS;
    tn__entry_lead(alias->entry, object->owner->library, target_of(object, alias));
}

static int enter_aliases(struct tn__object *object, const struct tn__promise *keeps, struct tn__journal *journal,
                         struct tn_error *err) TN__LOCKED
{
    int code = 0;
    for (uint32_t i = object->data->first_global; !code && i < object->data->symbol_count; i++)
        if (object->data->symbols[i].binding != TN__BIND_LOCAL && object->data->symbols[i].place == TN__PLACE_ALIAS)
            code = tn__object_define(object, i, keeps, journal, err);
    return code;
}

/* ---- the steps ---- */

const struct tn__steps tn__steps_coff = {TN__STEPS_FIELDS,
                                         .scan_sound = tn__scan_sound,
                                         .bind_stand_ins = bind_stand_ins,
                                         .stand_in_address = stand_in_address,
                                         .check_alias = check_alias,
                                         .take_alias = take_alias,
                                         .enter_aliases = enter_aliases,
                                         .compare_copies = tn__compare_copies,
                                         .drop_lost = tn__drop_lost,
                                         .gather_groups = gather_groups};
