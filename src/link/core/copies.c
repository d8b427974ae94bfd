/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* COMDAT groups of which not just any copy may be kept (enum tn__selection). */

#include "link/core/shrink.h"

/* True if the object is linked, or is being linked by another link than the one that notes changes in this journal. */
static bool is_taken(const struct tn__object *object, const struct tn__journal *journal)
{
    return !object->data || (object->link && &object->link->journal != journal);
}

/* A copy of a group that another object's copy is kept of. *larger: this one has to be kept instead. */
int tn__compare_copies(const struct tn__object *object, const struct tn__group *group, const struct tn__entry *entry,
                       const struct tn__journal *journal, bool *larger, struct tn_error *err)
{
    uint8_t selection = group->selection > entry->selection ? group->selection : entry->selection;
    const struct tn__object *other = entry->group_owner;
    /* What must match is compared by another measure; else gcc's copies must have one size, and clang's are any. */
    bool comparable = selection != TN__SELECT_EXACT_MATCH || group->selection == entry->selection;
    if (selection >= TN__SELECT_SAME_SIZE && (!comparable || group->measure != entry->measure))
        return tn__fail(err, TN_EDUP, "'%s' differs in %s and in %s, but its copies have to %s", entry->name,
                        other->name, object->name,
                        selection == TN__SELECT_SAME_SIZE ? "have one size" : "be identical");
    *larger = selection == TN__SELECT_LARGEST && group->measure > entry->measure;
    if (*larger && is_taken(other, journal))
        return tn__fail(err, TN_EDUP, "'%s' in %s is larger than in %s, which is linked already", entry->name,
                        object->name, other->name);
    return 0;
}

/* Discards what the object had of groups of which a larger copy has come, and its definitions there. */
static int drop_lost(struct tn_library *library, struct tn__object *object, struct tn__journal *journal,
                     struct tn_error *err)
{
    tn__object_reclaim_groups(library, object);
    for (uint32_t i = 1; i < object->data->symbol_count; i++) {
        struct tn__entry *entry = object->data->symbols[i].entry;
        if (!entry || !tn__object_drop_discarded(object->data, &object->data->symbols[i]) || entry->object != object ||
            entry->symbol != i)
            continue;
        if (!tn__journal_note(journal, entry))
            return tn__no_memory(err, object->name);
        tn__entry_reset(entry);
        entry->strength = TN__STRENGTH_NONE;
        entry->object = NULL;
    }
    return 0;
}

static int drop_lost_of(struct tn_library *library, const struct tn__list *objects, struct tn__journal *journal,
                        struct tn_error *err)
{
    int code = 0;
    for (struct tn__list *node = objects->next; !code && node != objects; node = node->next) {
        struct tn__object *object = tn__container_of(node, struct tn__object, queued);
        if (object->owner->library == library && !is_taken(object, journal))
            code = drop_lost(library, object, journal, err);
    }
    return code;
}

/* Of all objects that can still lose something: those that wait, and those that the same link has loaded. If it is
 * undone, falling back brings it back. */
int tn__drop_lost(struct tn_library *library, const struct tn__list *members, struct tn__journal *journal,
                  struct tn_error *err)
{
    library->fall_back_due = true;
    int code = drop_lost_of(library, &library->queue, journal, err);
    return code || members == &library->queue ? code : drop_lost_of(library, members, journal, err);
}
