/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "detached.h"

/* NULL if the section may lie anywhere. */
static const struct tn__pin *find_pin(const struct tn__detached *where, const struct tn__object *object,
                                      const char *section)
{
    const char *slash = strrchr(object->name, '/');
    for (size_t i = 0; i < where->pin_count; i++) {
        const struct tn__pin *pin = &where->pins[i];
        if (!strcmp(pin->section, section) &&
            (!strcmp(pin->file, object->name) || (slash && !strcmp(pin->file, slash + 1))))
            return pin;
    }
    return NULL;
}

static int pin_section(struct tn__link *link, const struct tn__object *object, struct tn__section *section,
                       uint64_t address)
{
    section->pinned = true;
    section->address = address;
    section->write = tn__arena_array(&link->arena, section->size, 1);
    if (!section->write)
        return tn__fail(link->err, TN_ENOMEM, "%s: out of memory", object->name);
    if (section->bytes)
        memcpy(section->write, section->bytes, section->size);
    return 0;
}

int tn__detached_pin(struct tn__link *link, struct tn__object *object)
{
    const struct tn__detached *where = link->session->detached;
    for (uint32_t i = 0; i < object->data->section_count; i++) {
        struct tn__section *section = &object->data->sections[i];
        const struct tn__pin *pin = find_pin(where, object, section->name);
        if (!pin || section->pinned || !tn__section_is_loaded(section) || tn__section_is_tls(section))
            continue;
        int code = pin_section(link, object, section, pin->address);
        if (code)
            return code;
    }
    const struct tn__pin *got = find_pin(where, object, ".got");
    if (!got)
        return 0;
    object->plan->got_address = got->address;
    object->plan->got_write = tn__arena_array(&link->arena, object->plan->got_words, 8);
    return object->plan->got_write ? 0 : tn__fail(link->err, TN_ENOMEM, "%s: out of memory", object->name);
}

void tn__detached_take_tls(struct tn__detached *where, const struct tn__plan *plan, uint64_t *offset)
{
    where->tls_size = tn__align_up(where->tls_size + plan->sizes[TN__PART_TLS], plan->alignments[TN__PART_TLS]);
    *offset = -where->tls_size;
}
