/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Symbols of a file that are other names of its symbols (TN__PLACE_ALIAS). */

#include "link/passes/steps.h"

static struct tn__entry *target_of(const struct tn__object *object, const struct tn__symbol *alias)
{
    return object->data->symbols[alias->value].entry;
}

int tn__check_alias(const struct tn__object *object, const struct tn__symbol *alias, struct tn_error *err)
{
    struct tn__entry *target = target_of(object, alias);
    if (!target || !tn__entry_leads_to(target, alias->entry, NULL))
        return 0;
    return tn__fail(err, TN_EFORMAT, "%s: '%s' would be an alias of itself, through '%s'", object->name,
                    alias->entry->name, target->name);
}

void tn__take_alias(const struct tn__object *object, const struct tn__symbol *alias)
{
    alias->entry->kind = TN__ENTRY_ALIAS;
    tn__entry_lead(alias->entry, object->owner->library, target_of(object, alias));
}

int tn__enter_aliases(struct tn__object *object, const struct tn__promise *keeps, struct tn__journal *journal,
                      struct tn_error *err)
{
    int code = 0;
    for (uint32_t i = object->data->first_global; !code && i < object->data->symbol_count; i++)
        if (object->data->symbols[i].binding != TN__BIND_LOCAL && object->data->symbols[i].place == TN__PLACE_ALIAS)
            code = tn__object_define(object, i, keeps, journal, err);
    return code;
}
