/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Managed code in loaded objects: an observer of the session reads their stack maps, root ranges and types. The
 * sections are found by the object's section headers (gABI, chapter 4). The linker has checked these, but they are
 * checked again here rather than relied upon. */

#include <elf.h>

#include "base/fork.h"
#include "base/managed_file.h"
#include "base/types.h"
#include "gc/load/names.h"
#include "gc/object/object.h"
#include "link/model/session.h"

/* A section of an object that has to be removed with it. */
struct loaded {
    struct tn__list all;
    uint64_t id;
    struct tn__code_types *types; /* NULL: a section of stack maps */
    const uint8_t *section;       /* as it is in memory */
    uint64_t size;
    struct tn_range code;
};

static struct {
    struct tn__mutex lock;
    struct tn__list sections;
} loaded = {TN__MUTEX(TN__LEVEL_LOADED), {&loaded.sections, &loaded.sections}};

/* ---- an object's sections ---- */

struct section {
    const char *name;
    uint64_t address, size;
    uint32_t follows; /* the section that it accompanies (SHF_LINK_ORDER); 0: none */
};

/* The name, if it ends within the table; else NULL. */
static const char *name_of(const struct tn_linked_object *object, const Elf64_Shdr *names, uint32_t at)
{
    if (!tn__inside(names->sh_offset, names->sh_size, object->length) || at >= names->sh_size)
        return "";
    const char *name = (const char *)object->bytes + names->sh_offset + at;
    return memchr(name, 0, names->sh_size - at) ? name : "";
}

static bool header_at(const struct tn_linked_object *object, const Elf64_Ehdr *elf, uint64_t index, Elf64_Shdr *out)
{
    uint64_t offset = elf->e_shoff + index * sizeof *out;
    if (index > object->length || !tn__inside(elf->e_shoff, 0, object->length) ||
        !tn__inside(offset, sizeof *out, object->length))
        return false;
    memcpy(out, (const uint8_t *)object->bytes + offset, sizeof *out);
    return true;
}

/* Section number `index` of an ELF object, if it is one that was loaded. */
static bool section_of(const struct tn_linked_object *object, size_t index, struct section *out)
{
    Elf64_Ehdr elf;
    Elf64_Shdr first, names, header;
    uint64_t address = object->section_addresses[index];
    if (!address || address == TN_SECTION_DISCARDED || !object->bytes || object->length < sizeof elf)
        return false;
    memcpy(&elf, object->bytes, sizeof elf);
    if (memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || !header_at(object, &elf, 0, &first))
        return false;
    uint64_t table = elf.e_shstrndx == SHN_XINDEX ? first.sh_link : elf.e_shstrndx;
    if (!header_at(object, &elf, table, &names) || !header_at(object, &elf, index, &header))
        return false;
    *out = (struct section){name_of(object, &names, header.sh_name), address, header.sh_size,
                            header.sh_flags & SHF_LINK_ORDER ? header.sh_link : 0};
    return true;
}

/* Where the functions of a section of stack maps may lie: in the section that it accompanies, which need not be among
 * the object's other code if a program asks for its bounds (__start_NAME). False: that section was discarded, so the
 * maps mean nothing. */
static bool code_of(const struct tn_linked_object *object, const struct section *maps, struct tn_range *code)
{
    struct section text;
    *code = object->zones[TN_ZONE_CODE];
    if (!maps->follows || maps->follows >= object->section_count)
        return true;
    if (!section_of(object, maps->follows, &text))
        return false;
    *code = (struct tn_range){text.address, text.size};
    return true;
}

/* ---- what is in them ---- */

static void forget_object(uint64_t id)
{
    for (TN_EACH_TO_REMOVE(struct loaded, item, &loaded.sections, all)) {
        if (item->id != id)
            continue;
        if (item->types)
            tn__code_types_leave(item->types);
        else
            tn__maps_remove(item->section, item->size, item->code);
        tn__list_remove(&item->all);
        tn__free(NULL, item);
    }
    tn__roots_remove_owner(id);
}

static int enter_maps(const struct tn_linked_object *object, const struct section *section, struct tn_error *err)
{
    struct tn_range range;
    if (!code_of(object, section, &range))
        return 0;
    struct loaded *item = tn__alloc(NULL, sizeof *item);
    if (!item)
        return tn__no_memory(err, NULL);
    *item = (struct loaded){.id = object->id,
                            .section = (const uint8_t *)(uintptr_t)section->address,
                            .size = section->size,
                            .code = range};
    int code = tn__maps_add(item->section, item->size, item->code, err);
    if (code)
        tn__free(NULL, item);
    else
        tn__list_append(&loaded.sections, &item->all);
    return code;
}

static int enter_types(const struct tn_linked_object *object, const struct section *section, struct tn_error *err)
{
    if (!tn__code_types_enter)
        return 0;
    struct loaded *item = tn__alloc_zeroed(NULL, 1, sizeof *item);
    if (!item)
        return tn__no_memory(err, NULL);
    item->id = object->id;
    int code =
        tn__code_types_enter(object->name, (const void *)(uintptr_t)section->address, section->size, &item->types, err);
    if (code)
        tn__free(NULL, item);
    else
        tn__list_append(&loaded.sections, &item->all);
    return code;
}

/* Checks the whole object, before anything of it is entered. */
static int check_abi(const struct tn_linked_object *object, struct tn_error *err)
{
    struct section section;
    const uint8_t *abi = NULL;
    uint64_t size = 0;
    bool managed = false;
    for (size_t i = 1; i < object->section_count; i++) {
        if (!section_of(object, i, &section))
            continue;
        if (strcmp(section.name, "tenon_abi") == 0) {
            abi = (const uint8_t *)(uintptr_t)section.address;
            size = section.size;
        }
        managed |= strncmp(section.name, "tenon_", 6) == 0;
    }
    return managed ? tn__managed_check_abi(object->name, abi, size, err) : 0;
}

static int enter_object(const struct tn_linked_object *object, struct tn_error *err)
{
    struct section section;
    int code = check_abi(object, err);
    for (size_t i = 1; i < object->section_count && !code; i++) {
        if (!section_of(object, i, &section))
            continue;
        if (strcmp(section.name, "tenon_maps") == 0)
            code = enter_maps(object, &section, err);
        else if (strcmp(section.name, "tenon_types") == 0)
            code = enter_types(object, &section, err);
        else if (strcmp(section.name, "tenon_roots") == 0)
            code = tn__roots_add_section(object->id, (const uint8_t *)(uintptr_t)section.address, section.size,
                                         object->zones[TN_ZONE_DATA], err);
    }
    return code;
}

/* ---- the observer ---- */

static void removed(void *context, const struct tn_linked_object *const *objects, size_t count)
{
    (void)context;
    tn__mutex_lock(&loaded.lock);
    for (size_t i = 0; i < count; i++)
        forget_object(objects[i]->id);
    tn__mutex_unlock(&loaded.lock);
}

static int linked(void *context, const struct tn_linked_object *const *objects, size_t count, struct tn_error *err)
{
    int code = 0;
    size_t entered = 0;
    tn__mutex_lock(&loaded.lock);
    while (entered < count && !code)
        code = enter_object(objects[entered++], err);
    tn__mutex_unlock(&loaded.lock);
    if (code)
        removed(context, objects, entered);
    return code;
}

int tn_observe_managed_code(struct tn_session *session, struct tn_error *err)
{
    static const struct tn__fork_hooks hooks = {.lock = &loaded.lock};
    const struct tn_observer observer = {.size = sizeof observer, .linked = linked, .removed = removed};
    if (session && tn__session_is_elsewhere(session))
        return tn__fail(err, TN_ENOTSUP, "managed code in the memory of another process cannot be observed");
    tn__forks_watch(TN__LEVEL_LOADED, &hooks);
    return tn_add_observer(session, &observer, err);
}

int tn_define_managed_runtime(struct tn_library *library, struct tn_error *err)
{
    struct tn_definition definitions[TN__MANAGED_NAMES + 1];
    memcpy(definitions, tn__managed_names, sizeof tn__managed_names);
    definitions[TN__MANAGED_NAMES] = (struct tn_definition){
        "tn__gc_block", (const void *)((char *)&tn__gc_block - (char *)__builtin_thread_pointer()),
        TN_SYMBOL_THREAD_LOCAL};
    return tn_define_all(library, definitions, TN_COUNT(definitions), NULL, err);
}

int tn_enable_managed_code(struct tn_library *library, struct tn_error *err)
{
    if (!library)
        return tn__no_argument(err);
    int code = tn_observe_managed_code(library->session, err);
    return code ? code : tn_define_managed_runtime(library, err);
}
