/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An observer that keeps the functions of linked objects, and tn_symbolize, which looks addresses up in what it kept.
 * One block per object, all of them in one tree by address: sessions never share addresses. */

#include <inttypes.h>

#include "base/shown_name.h"
#include "base/tree.h"
#include "link/observe/observer.h"

struct function {
    uint32_t start, size; /* from the beginning of the object's code; no window is larger than 1 GiB */
    uint32_t name;        /* in `names` */
};

struct module {
    struct tn__tree node; /* its key is where the code begins */
    const void *session;
    const char *library, *object;
    uint64_t end;
    uint32_t count;
    struct function functions[]; /* by address, then their names */
};

static struct tn__tree *modules;

static char *names_of(struct module *module)
{
    return (char *)&module->functions[module->count];
}

/* ---- keeping ---- */

static struct module *new_module(const struct tn_session *session, const struct tn_linked_object *object)
{
    size_t names_size = 0, count = object->function_count;
    for (size_t i = 0; i < count; i++)
        names_size += tn__shown_length(object->functions[i].name) + 1;
    if (count > UINT32_MAX || names_size > UINT32_MAX)
        return NULL;
    const struct tn_range *code = &object->zones[TN_ZONE_CODE];
    struct module *module =
        tn__alloc(session->allocator, sizeof *module + count * sizeof *module->functions + names_size);
    if (!module)
        return NULL;
    *module = (struct module){.node.key = code->address,
                              .session = session,
                              .library = object->library,
                              .object = object->name,
                              .end = code->address + code->size,
                              .count = (uint32_t)count};
    char *names = names_of(module);
    uint32_t at = 0;
    for (size_t i = 0; i < count; i++) {
        const struct tn_function *function = &object->functions[i];
        size_t size = tn__shown_length(function->name) + 1;
        module->functions[i] =
            (struct function){(uint32_t)(function->address - code->address), (uint32_t)function->size, at};
        memcpy(names + at, function->name, size - 1);
        names[at + size - 1] = '\0';
        at += (uint32_t)size;
    }
    return module;
}

static void removed(void *context, const struct tn_linked_object *const *objects, size_t count)
{
    const struct tn_session *session = context;
    for (size_t i = 0; i < count; i++) {
        tn__observers_lock();
        struct tn__tree *node = tn__tree_find(modules, objects[i]->zones[TN_ZONE_CODE].address);
        if (node)
            tn__tree_remove(&modules, node);
        tn__observers_unlock();
        if (node)
            tn__free(session->allocator, tn__container_of(node, struct module, node));
    }
}

static int linked(void *context, const struct tn_linked_object *const *objects, size_t count, struct tn_error *err)
{
    const struct tn_session *session = context;
    for (size_t i = 0; i < count; i++) {
        if (!objects[i]->zones[TN_ZONE_CODE].size)
            continue;
        struct module *module = new_module(session, objects[i]);
        if (!module) {
            removed(context, objects, i);
            return tn__no_memory(err, objects[i]->name);
        }
        tn__observers_lock();
        tn__tree_insert(&modules, &module->node);
        tn__observers_unlock();
    }
    return 0;
}

int tn_observe_functions(struct tn_session *session, struct tn_error *err)
{
    if (!session)
        return tn__fail(err, TN_EINVAL, "no session given");
    if (tn__is_observed(session, linked))
        return 0;
    int code = tn__session_check_here(session, "tables of functions", err);
    if (code)
        return code;
    const struct tn_observer observer = {
        .size = sizeof observer, .context = session, .linked = linked, .removed = removed};
    return tn_add_observer(session, &observer, err);
}

/* ---- looking up ---- */

/* The last function that begins at or before `offset`, if it reaches that far. */
static const struct function *find_function(const struct module *module, uint32_t offset)
{
    size_t behind = TN_BISECT(0, module->count, i, module->functions[i].start <= offset);
    const struct function *function = behind ? &module->functions[behind - 1] : NULL;
    return function && offset - function->start < function->size ? function : NULL;
}

/* The body of a managed function has the name of its entry with ".m" added (doc/GC.md). A function that the module
 * itself calls that has a body in turn. */
static const char *shown_name(struct module *module, const struct function *function)
{
    const char *name = names_of(module) + function->name, *entry = name;
    size_t length = strlen(name), own = length > 2 ? length - 2 : 0;
    if (!own || strcmp(name + own, ".m") != 0)
        return name;
    for (size_t i = 0; i < module->count; i++) {
        const char *other = names_of(module) + module->functions[i].name;
        if (strncmp(other, name, own) == 0 && !other[own])
            entry = other;
        else if (strncmp(other, name, length) == 0 && strcmp(other + length, ".m") == 0)
            return name;
    }
    return entry;
}

static bool find_place(const struct tn_session *session, uint64_t address, struct tn_place *place)
{
    struct tn__tree *node = tn__tree_below(modules, address);
    struct module *module = node ? tn__container_of(node, struct module, node) : NULL;
    if (!module || address >= module->end || (session && module->session != session))
        return false;
    *place = (struct tn_place){.library = module->library, .object = module->object};
    const struct function *function = find_function(module, (uint32_t)(address - node->key));
    if (function) {
        place->function = shown_name(module, function);
        place->function_address = node->key + function->start;
        place->function_size = function->size;
        place->offset = address - place->function_address;
    }
    return true;
}

int tn_symbolize(const struct tn_session *session, const void *address, struct tn_place *place, struct tn_error *err)
{
    struct tn_place found;
    if (!place || !tn__size_is_possible(place->size))
        return tn__fail(err, TN_EINVAL, "no place for the answer, or its size is not set");
    tn__observers_lock();
    bool known = find_place(session, (uintptr_t)address, &found);
    tn__observers_unlock();
    if (!known)
        return tn__fail(err, TN_EUNDEF, "nothing that was kept lies at 0x%" PRIxPTR, (uintptr_t)address);
    tn__give_stats(place, sizeof found, &found);
    return 0;
}
