/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* COMDAT groups of which another copy is kept than the one that has come first: because not just any may be
 * (enum tn__selection), or because an earlier input comes later. */

#include "link/passes/steps.h"

/* Compilers disagree on some: cl.exe's are any or the largest; where gcc's must have one size, clang's are any. */
static bool agree(uint8_t one, uint8_t other)
{
    return one == other || (one == TN__SELECT_ANY && other <= TN__SELECT_SAME_SIZE) ||
           (other == TN__SELECT_ANY && one <= TN__SELECT_SAME_SIZE);
}

/* What has to be true of copies of the highest selection that one of them has. */
static const char *const conditions[] = {
    [TN__SELECT_SAME_SIZE] = "its copies have to have one size",
    [TN__SELECT_EXACT_MATCH] = "its copies have to be identical",
    [TN__SELECT_SETTING] = "all objects have to say the same",
};

/* A copy of a group that another object's copy is kept of. *larger: this one has to be kept instead. */
int tn__compare_copies(const struct tn__object *object, const struct tn__group *group, const struct tn__entry *entry,
                       const struct tn__journal *journal, bool *larger, struct tn_error *err)
{
    uint8_t selection = group->selection > entry->selection ? group->selection : entry->selection;
    const struct tn__object *other = entry->group_owner;
    if (!agree(group->selection, entry->selection))
        return tn__fail(err, TN_EDUP, "'%s' is selected in another way in %s than in %s", entry->name, object->name,
                        other->name);
    if (conditions[selection] && group->measure != entry->measure)
        return tn__fail(err, TN_EDUP, "'%s' differs in %s and in %s, but %s", entry->name, other->name, object->name,
                        conditions[selection]);
    *larger = selection == TN__SELECT_LARGEST && group->measure > entry->measure;
    if (*larger && tn__object_is_taken(other, journal))
        return tn__fail(err, TN_EDUP, "'%s' in %s is larger than in %s, which is linked already", entry->name,
                        object->name, other->name);
    return 0;
}

/* Discards what the object had of groups of which a better copy has come, and its definitions there. */
static int drop_lost(struct tn_library *library, struct tn__object *object, struct tn__journal *journal,
                     struct tn_error *err) TN__LOCKED
{
    object->has_lost = false;
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
                        struct tn_error *err) TN__LOCKED
{
    int code = 0;
    for (struct tn__list *node = objects->next; !code && node != objects; node = node->next) {
        struct tn__object *object = tn__container_of(node, struct tn__object, queued);
        if (object->has_lost && object->owner->library == library)
            code = drop_lost(library, object, journal, err);
    }
    return code;
}

/* They wait, or the same link has loaded them. If it is undone, falling back brings back what they had. */
int tn__drop_lost(struct tn_library *library, const struct tn__list *members, struct tn__journal *journal,
                  struct tn_error *err)
{
    library->fall_back_due = true;
    int code = drop_lost_of(library, &library->queue, journal, err);
    return code || members == &library->queue ? code : drop_lost_of(library, members, journal, err);
}

uint64_t tn__library_number_input(struct tn_library *library)
{
    library->drop_lost = tn__drop_lost;
    return ++library->inputs;
}
