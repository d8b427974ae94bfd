/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Undefined symbols that are something else for their own object if nothing defines them (enum tn__stand_in). */

#include "link/passes/steps.h"

int tn__bind_stand_ins(struct tn__link *link, struct tn__object *object)
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

uint64_t tn__stand_in_address(const struct tn__object *object, const struct tn__symbol *symbol)
{
    if (symbol->stand_in == TN__STAND_IN_SLOT)
        return tn__got_slot(object, TN__SLOT_ADDRESS, symbol->section);
    return object->window->start;
}
