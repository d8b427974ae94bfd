/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The collector as the loader of files (src/image) sees it: see base/managed_file.h. */

#include "base/managed_file.h"
#include "base/thread.h"
#include "gc/load/names.h"
#include "gc/object/object.h"

static bool find(const char *name, uint64_t *value, bool *is_variable)
{
    *is_variable = strcmp(name, "tn__gc_block") == 0;
    if (*is_variable) {
        *value = (uintptr_t)&tn__gc_block - (uintptr_t)tn__thread_pointer();
        return true;
    }
    for (size_t i = 0; i < TN__MANAGED_NAMES; i++)
        if (strcmp(tn__managed_names[i].name, name) == 0) {
            *value = (uintptr_t)tn__managed_names[i].address;
            return true;
        }
    return false;
}

/* Ids of linked objects are small numbers, so an address is different from all of them. */
static uint64_t owner_of(const struct tn__managed_file *file)
{
    return (uintptr_t)file;
}

static int enter(const struct tn__managed_file *file, struct tn_error *err)
{
    int code = tn__maps_add(file->maps, file->maps_size, file->code, err);
    if (code)
        return code;
    code = tn__roots_add_section(owner_of(file), file->roots, file->roots_size, file->data, err);
    if (code)
        tn__maps_remove(file->maps, file->maps_size, file->code);
    return code;
}

static void leave(const struct tn__managed_file *file)
{
    tn__maps_remove(file->maps, file->maps_size, file->code);
    tn__roots_remove_owner(owner_of(file));
}

const struct tn_managed_runtime *tn_managed_runtime(void)
{
    static const struct tn_managed_runtime runtime = {find, enter, leave};
    return &runtime;
}
