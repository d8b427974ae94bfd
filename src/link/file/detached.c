/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <errno.h>

#include "link/file/detached.h"

/* ---- memory that is not mapped at its addresses ---- */

static int map(void *context, enum tn_zone zone, uint64_t address, size_t size, void **bytes, struct tn_error *err)
{
    (void)context, (void)zone, (void)address;
    uint64_t here;
    int error = tn__os_reserve(0, size, false, &here);
    if (!error && (error = tn__os_commit(here, size, TN__PROT_RW)))
        tn__os_release(here, size);
    if (error)
        return tn__fail(err, error == ENOMEM ? TN_ENOMEM : TN_EPERM, "%s", strerror(error));
    *bytes = (void *)(uintptr_t)here;
    return 0;
}

static int publish(void *context, enum tn_zone zone, uint64_t address, size_t size, const void *bytes,
                   struct tn_error *err)
{
    (void)context, (void)zone, (void)address, (void)size, (void)bytes, (void)err;
    return 0;
}

static void unmap(void *context, enum tn_zone zone, uint64_t address, size_t size, void *bytes)
{
    (void)context, (void)zone, (void)address;
    tn__os_release((uintptr_t)bytes, size);
}

/* ---- places of single sections ---- */

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

static int pin_section(struct tn__link *link, const struct tn__object *object, struct tn__input_section *section,
                       uint64_t address)
{
    section->pinned = true;
    section->address = address;
    section->write = tn__arena_array(&link->arena, section->size, 1);
    return section->write ? 0 : tn__no_memory(link->err, object->name);
}

static int pin_object(struct tn__link *link, struct tn__object *object)
{
    const struct tn__detached *where = link->session->detached;
    for (uint32_t i = 0; i < object->data->section_count; i++) {
        struct tn__input_section *section = &object->data->sections[i];
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
    return object->plan->got_write ? 0 : tn__no_memory(link->err, object->name);
}

static int pin_all(struct tn__link *link)
{
    int code = 0;
    for (size_t i = 0; !code && link->session->detached->pin_count && i < link->count; i++)
        code = pin_object(link, link->objects[i]);
    return code;
}

/* ---- the session ---- */

int tn__session_create_detached(const struct tn_session_options *given, struct tn__detached *where,
                                struct tn_session **out, struct tn_error *err)
{
    const struct tn_memory memory = {
        .size = sizeof memory,
        .flags = TN_MEMORY_ELSEWHERE | TN_MEMORY_PACKED,
        .window_address = where->address,
        .window_size = where->size,
        .page_size = where->page_size,
        .map = map,
        .publish = publish,
        .unmap = unmap,
    };
    struct tn_session_options options = given ? *given : (struct tn_session_options){.size = sizeof options};
    options.memory = &memory;
    options.window_size = options.window_near = options.strategy = 0;
    if (!where->arrange)
        where->arrange = pin_all;
    int code = tn_session_create(&options, out, err);
    if (!code)
        (*out)->detached = where;
    return code;
}
