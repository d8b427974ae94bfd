/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The types that code of this process was compiled with, and those of open images with saved objects. Each is compared
 * with the others of its name when it is entered, whichever comes first. Only programs that open saved objects contain
 * this. */

#include "base/fork.h"
#include "base/types.h"

static struct {
    struct tn__mutex lock;
    struct tn__list code, saved;
} known = {TN__MUTEX(TN__LEVEL_TYPES), {&known.code, &known.code}, {&known.saved, &known.saved}};

/* Those of the objects that were linked to make this program, or library. */
extern const uint8_t __start_tenon_types[] __attribute__((weak, visibility("hidden")));
extern const uint8_t __stop_tenon_types[] __attribute__((weak, visibility("hidden")));

static void lock_known(void)
{
    static const struct tn__fork_hooks hooks = {.lock = &known.lock};
    tn__forks_watch(TN__LEVEL_TYPES, &hooks);
    tn__mutex_lock(&known.lock);
}

/* The first type of the code that is another one in the image; NULL: there is none. */
static const struct tn_type *find_other(const struct tn__code_types *code, const struct tn__saved_types *saved,
                                        char difference[TN__DIFFERENCE])
{
    for (size_t i = 0; i < code->count; i++) {
        const struct tn_type *type = &code->types[i], *other = saved->find(saved, type->name);
        if (other && tn__types_differ(type, other, difference))
            return type;
    }
    return NULL;
}

/* ---- images ---- */

static int compare_code(const struct tn__saved_types *saved, const struct tn__code_types *code, struct tn_error *err)
{
    char difference[TN__DIFFERENCE];
    const struct tn_type *other = find_other(code, saved, difference);
    return other ? tn__fail(err, TN_ENOTSUP, "%s: the code of %s has another type '%s' than its objects: %s",
                            saved->name, code->name, other->name, difference)
                 : 0;
}

static int compare_program(const struct tn__saved_types *saved, struct tn_error *err)
{
    size_t size = (size_t)(__stop_tenon_types - __start_tenon_types);
    struct tn__code_types *program;
    if (!size)
        return 0;
    int code = tn__types_read("this program", __start_tenon_types, size, &program, err);
    if (!code)
        code = compare_code(saved, program, err);
    tn__free(NULL, program);
    return code;
}

int tn__saved_types_enter(struct tn__saved_types *types, struct tn_error *err)
{
    int code = compare_program(types, err);
    lock_known();
    for (TN_EACH(struct tn__code_types, other, &known.code, known))
        if (!code)
            code = compare_code(types, other, err);
    if (!code)
        tn__list_append(&known.saved, &types->known);
    tn__mutex_unlock(&known.lock);
    return code;
}

void tn__saved_types_leave(struct tn__saved_types *types)
{
    lock_known();
    tn__list_remove(&types->known);
    tn__mutex_unlock(&known.lock);
}

/* ---- code ---- */

static int compare_saved(const struct tn__code_types *code, const struct tn__saved_types *saved, struct tn_error *err)
{
    char difference[TN__DIFFERENCE];
    const struct tn_type *other = find_other(code, saved, difference);
    return other ? tn__fail(err, TN_ENOTSUP, "%s: its code has another type '%s' than the objects of '%s': %s",
                            code->name, other->name, saved->name, difference)
                 : 0;
}

int tn__code_types_enter(const char *name, const void *bytes, size_t size, struct tn__code_types **types,
                         struct tn_error *err)
{
    int code = tn__types_read(name, bytes, size, types, err);
    if (code)
        return code;
    lock_known();
    for (TN_EACH(struct tn__saved_types, saved, &known.saved, known))
        if (!code)
            code = compare_saved(*types, saved, err);
    if (!code)
        tn__list_append(&known.code, &(*types)->known);
    tn__mutex_unlock(&known.lock);
    if (code) {
        tn__free(NULL, *types);
        *types = NULL;
    }
    return code;
}

void tn__code_types_leave(struct tn__code_types *types)
{
    if (!types)
        return;
    lock_known();
    tn__list_remove(&types->known);
    tn__mutex_unlock(&known.lock);
    tn__free(NULL, types);
}
