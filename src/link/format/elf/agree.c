/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code that cannot be called by other code, because both pass arguments in different places: the objects of a link, the
 * code that the session has linked before, and the process, if it is to run there, have to agree. Objects without code,
 * and those of the client, may say what they like. */

#include "link/passes/steps.h"

static const char *name_of(const struct tn__convention *convention, uint32_t variant)
{
    return convention->names[(variant & convention->bits) >> __builtin_ctz(convention->bits)];
}

bool tn__object_has_code(const struct tn__object_data *data)
{
    for (uint32_t i = 1; data->bytes && i < data->section_count; i++) {
        const struct tn__input_section *section = &data->sections[i];
        if (section->kind == TN__SECTION_CODE && section->size && tn__section_is_loaded(section))
            return true;
    }
    return false;
}

static int compare(const struct tn__link *link, const struct tn__object *object)
{
    const struct tn__convention *convention = object->data->arch->conventions;
    for (; convention->bits; convention++)
        if ((object->data->variant ^ link->variant) & convention->bits)
            return tn__fail(link->err, TN_ENOTSUP, "the %s of %s is '%s', that of %s '%s': they cannot call each other",
                            convention->what, object->name, name_of(convention, object->data->variant),
                            link->variant_of, name_of(convention, link->variant));
    return 0;
}

int tn__link_agree(struct tn__link *link)
{
    struct tn_session *session = link->session;
    link->variant = session->variant;
    link->variant_of = session->variant_of;
    if (!link->variant_of && !tn__session_is_elsewhere(session)) {
        link->variant = tn__variant_host;
        link->variant_of = "this process";
    }
    for (size_t i = 0; i < link->count; i++) {
        const struct tn__object *object = link->objects[i];
        if (!object->data->arch->conventions || !tn__object_has_code(object->data))
            continue;
        if (!link->variant_of) {
            link->variant = object->data->variant;
            link->variant_of = object->name;
        }
        int code = compare(link, object);
        if (code)
            return code;
    }
    if (session->variant_of || !link->variant_of) /* else later links are told, when this object may be gone */
        return 0;
    link->variant_of = tn__arena_text(&session->arena, link->variant_of, strlen(link->variant_of));
    return link->variant_of ? 0 : tn__no_memory(link->err, NULL);
}
